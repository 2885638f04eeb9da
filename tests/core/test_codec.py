"""An event as JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin import codec
from memory_plugin.errors import ValidationError
from memory_plugin.types import EVENT_TYPES, SOURCE_TYPES, PerceptionEvent, Place, Source

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ids = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cn", "Co", "Cf", "Zs"]),
    min_size=1,
    max_size=20,
)
maybe_ids = st.none() | ids
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
people = st.lists(ids, min_size=1, max_size=3).map(tuple)
places = st.one_of(
    st.builds(
        Place, platform=ids, channel=ids, space=maybe_ids, name=texts, visibility=st.just("public")
    ),
    st.builds(
        Place,
        platform=ids,
        channel=ids,
        space=maybe_ids,
        name=texts,
        visibility=st.sampled_from(["restricted", "direct"]),
        participants=people,
    ),
)
events = st.builds(
    PerceptionEvent,
    agent_id=ids,
    place=places,
    source=st.builds(
        Source, entity_id=ids, entity_name=texts, source_type=st.sampled_from(SOURCE_TYPES)
    ),
    content=texts,
    timestamp=st.datetimes(timezones=st.just(UTC)),
    event_type=st.sampled_from(EVENT_TYPES),
    narrative_text=st.none() | texts,
    importance=st.none() | st.integers(1, 10),
    requires_response=st.booleans(),
    addressing=maybe_ids,
    external_id=maybe_ids,
    reply_to=maybe_ids,
    metadata=st.dictionaries(texts, json_values, max_size=3),
)


@given(events)
@settings(max_examples=300, deadline=None)
def test_any_event_comes_back_from_json_as_it_was(event):
    assert codec.loads(codec.dumps(event)) == event


def a_record(**changes) -> dict:
    record = {
        "timestamp": "2024-05-01T12:00:00+00:00",
        "event_type": "external",
        "source": {"entity_id": "mud:object:#5", "entity_name": "Bob", "source_type": "say"},
        "content": "bread",
        "agent_id": "npc",
        "place": {"platform": "mud", "channel": "#2", "visibility": "public"},
    }
    return record | changes


def test_unknown_keys_are_kept_in_metadata():
    event = codec.event_from_json(a_record(mood="happy", metadata={"a": 1}))

    assert event.metadata == {"a": 1, "mood": "happy"}


def test_an_unknown_key_does_not_overwrite_metadata():
    with pytest.raises(ValidationError, match="mood"):
        codec.event_from_json(a_record(mood="happy", metadata={"mood": "sad"}))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"timestamp": "2024-05-01T12:00:00"}, "timestamp"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": 1714564800}, "timestamp"),
        ({"timestamp": None}, "timestamp"),
        ({"content": None}, "content"),
        ({"agent_id": None}, "agent_id"),
        ({"source": "Bob"}, "source"),
        ({"source": {"entity_id": "x"}}, "source"),
        ({"source": {"entity_id": "x", "entity_name": "y", "nick": "z"}}, "source.nick"),
        (
            {"source": {"entity_id": "x", "entity_name": "y", "source_type": "shout"}},
            "source.source_type",
        ),
        ({"place": {"platform": "mud"}}, "place"),
        (
            {"place": {"platform": "mud", "channel": "c", "participants": "bob"}},
            "place.participants",
        ),
        ({"event_type": "heard"}, "event_type"),
        ({"importance": "high"}, "importance"),
        ({"metadata": [1]}, "metadata"),
    ],
)
def test_a_wrong_record_is_refused_by_the_name_of_its_field(changes, field):
    with pytest.raises(ValidationError) as refused:
        codec.event_from_json(a_record(**changes))

    assert refused.value.field == field


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "5", "null", b"\xff\xfe", '{"a": NaN}', "[" * 100_000]
)
def test_a_line_that_is_no_event_is_refused(line):
    with pytest.raises(ValidationError):
        codec.loads(line)


def test_a_lone_surrogate_in_json_is_refused():
    with pytest.raises(ValidationError, match="surrogate"):
        codec.loads(json.dumps(a_record(content="\ud800")))


def test_a_zulu_time_is_utc():
    event = codec.event_from_json(a_record(timestamp="2024-05-01T12:00:00Z"))

    assert event.timestamp == datetime(2024, 5, 1, 12, tzinfo=UTC)
