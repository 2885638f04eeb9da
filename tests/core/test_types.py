"""What an event, a place and a scope accept, and how they say what is wrong."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory_plugin.errors import ValidationError
from memory_plugin.types import PerceptionEvent, Place, Scope, Source, new_event_id

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROOM = Place(platform="mud", space="game", channel="#2", name="Inn", visibility="public")
BOB = Source(entity_id="mud:object:#5", entity_name="Bob")


def an_event(**changes) -> PerceptionEvent:
    values = {
        "agent_id": "npc",
        "place": ROOM,
        "source": BOB,
        "content": "bread",
        "timestamp": NOON,
    }
    return PerceptionEvent(**(values | changes))


BAD_VALUES = [
    ("timestamp", datetime(2024, 5, 1), "timestamp"),  # noqa: DTZ001 - naive is the point
    ("timestamp", "2024-05-01", "timestamp"),
    ("importance", 0, "importance"),
    ("importance", 11, "importance"),
    ("importance", "high", "importance"),
    ("importance", 5.0, "importance"),
    ("importance", True, "importance"),
    ("event_type", "heard", "event_type"),
    ("content", None, "content"),
    ("content", "lone \ud800 surrogate", "content"),
    ("narrative_text", "\udfff", "narrative_text"),
    ("agent_id", "", "agent_id"),
    ("agent_id", "  ", "agent_id"),
    ("agent_id", None, "agent_id"),
    ("agent_id", "a\x00b", "agent_id"),
    ("agent_id", "a\nb", "agent_id"),
    ("agent_id", "x" * 513, "agent_id"),
    ("external_id", "", "external_id"),
    ("external_id", 7, "external_id"),
    ("reply_to", "", "reply_to"),
    ("addressing", "", "addressing"),
    ("requires_response", "yes", "requires_response"),
    ("metadata", {"x": float("nan")}, "metadata.x"),
    ("metadata", {"x": [1, {"y": float("inf")}]}, "metadata.x[1].y"),
    ("metadata", {1: 2}, "metadata"),
    ("metadata", {"x": object()}, "metadata.x"),
    ("metadata", [], "metadata"),
    ("place", "Inn", "place"),
    ("source", "Bob", "source"),
]


@pytest.mark.parametrize(("name", "value", "field"), BAD_VALUES)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(name, value, field):
    with pytest.raises(ValidationError) as refused:
        an_event(**{name: value})

    assert refused.value.field == field
    assert field in str(refused.value)


def test_metadata_nested_too_deeply_is_refused():
    value: object = 1
    for _ in range(40):
        value = [value]

    with pytest.raises(ValidationError, match="nested deeper"):
        an_event(metadata={"x": value})


@pytest.mark.parametrize("content", ["", " ", "a\x00b", "x" * 1_000_000, "日本語 🙂 \u200b"])
def test_content_of_any_kind_and_length_is_kept_as_it_is(content):
    assert an_event(content=content).content == content


@pytest.mark.parametrize("odd", ["%", "_", "*", "[a]", "a|b", "a/b", "'; drop table event; --"])
def test_signs_that_are_wildcards_elsewhere_are_ordinary_in_ids(odd):
    assert an_event(agent_id=odd, external_id=odd).external_id == odd


def test_times_are_kept_in_utc():
    local = datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))

    assert an_event(timestamp=local).timestamp == NOON
    assert an_event(timestamp=local).timestamp.utcoffset() == timedelta(0)


def test_ids_are_made_and_sort_by_the_time_of_the_event():
    earlier = new_event_id(NOON)
    later = new_event_id(NOON + timedelta(milliseconds=1))

    assert earlier < later
    assert len({an_event().id for _ in range(100)}) == 100


def test_metadata_cannot_be_changed_from_outside():
    given = {"tool": {"args": [1]}}

    event = an_event(metadata=given)
    given["tool"]["args"].append(2)

    assert event.metadata == {"tool": {"args": [1]}}


def test_an_event_can_be_replaced_and_pickled():
    event = an_event(metadata={"a": 1})

    assert replace(event, importance=7).importance == 7
    assert pickle.loads(pickle.dumps(event)) == event  # noqa: S301


def test_a_direct_place_must_name_its_participants():
    with pytest.raises(ValidationError, match="participants"):
        Place(platform="d", channel="dm", visibility="direct")


def test_a_public_place_names_no_participants():
    with pytest.raises(ValidationError, match="participants"):
        Place(platform="d", channel="c", visibility="public", participants=("x",))


def test_place_keys_do_not_collide():
    places = [
        Place(platform="a", space="b", channel="c/d"),
        Place(platform="a", space="b/c", channel="d"),
        Place(platform="a", space=None, channel="b/c/d"),
        Place(platform="a", space="b", channel="c%2Fd"),
    ]

    assert len({place.key for place in places}) == 4


def test_a_scope_without_a_place_is_refused_unless_the_owner_asks():
    with pytest.raises(ValidationError, match="place"):
        Scope(agent_id="npc")

    assert Scope(agent_id="npc", everything=True).place is None


@pytest.mark.parametrize("wrong", [{"audience": "bob"}, {"audience": ("",)}, {"entities": (None,)}])
def test_a_scope_refuses_ids_that_name_nobody(wrong):
    with pytest.raises(ValidationError):
        Scope(agent_id="npc", place=ROOM, **wrong)


def test_a_validation_error_survives_pickling():
    error = ValidationError("content", 5, "must be text")

    again = pickle.loads(pickle.dumps(error))  # noqa: S301

    assert (again.field, again.value, str(again)) == ("content", 5, str(error))
