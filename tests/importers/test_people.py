"""Whose memory it is, who may have seen it, and who must not be named in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memory_plugin.codec import dumps
from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers import Options
from memory_plugin.importers.people import reaction_counts, without_others
from memory_plugin.sqlite import SqliteStore
from memory_plugin.types import PerceptionEvent, Place, Source


def an_event(**more):
    return PerceptionEvent(
        **{
            "agent_id": "other",
            "place": Place(platform="mud", channel="#2"),
            "source": Source(entity_id="mud:object:#5", entity_name="Bob"),
            "content": "bread",
            "timestamp": datetime(2024, 5, 1, tzinfo=UTC),
        }
        | more
    )


def test_events_keep_the_agent_they_name(chats):
    event = an_event()

    ((found,), _) = chats.read(chats.file("e.jsonl", dumps(event)), agent_id="bot")
    assert found == event


def test_events_go_to_another_agent_only_where_that_is_asked_for(chats):
    event = an_event()

    ((found,), _) = chats.read(chats.file("e.jsonl", dumps(event)), overrule_agent=True)
    assert found.agent_id == "bot"
    assert found.id != event.id
    assert found.external_id == event.id


async def test_two_agents_may_have_the_same_events_each_once(chats):
    path = chats.file("e.jsonl", dumps(an_event()) + "\n" + dumps(an_event(external_id="m:1")))
    own, _ = chats.read(path)
    mine = [chats.read(path, overrule_agent=True)[0] for _ in range(2)]
    store = await SqliteStore.open(chats.folder / "memory.db")
    try:
        first = await store.add([*own, *mine[0]])
        second = await store.add([*own, *mine[1]])
    finally:
        await store.close()

    assert [one.status for one in first] == ["stored"] * 4
    assert [one.status for one in second] == ["known"] * 4


async def test_events_without_any_id_are_known_the_second_time(chats):
    record = json.loads(dumps(an_event()))
    del record["id"]
    path = chats.file("e.jsonl", (json.dumps(record) + "\n") * 2)

    first, second = chats.read(path)[0], chats.read(path)[0]
    assert [one.external_id for one in first] == [one.external_id for one in second]
    assert len({one.external_id for one in first}) == 2


def test_a_forward_is_marked_and_keeps_its_first_time(chats):
    old = {"content": "old news", "timestamp": "2020-01-02T03:04:05+00:00"}
    path = chats.export(
        chats.message(1, "", forwardedMessage=old),
        chats.message(2, "see this", forwardedMessage=old),
        chats.message(3, "", forwardedMessage={"content": ""}),
    )

    events, _ = chats.read(path)
    assert [one.content for one in events] == [
        "[forwarded] old news",
        "see this\n[forwarded] old news",
        "[forwarded]",
    ]
    assert events[0].metadata["forwarded"] is True
    assert events[0].metadata["original_timestamp"] == "2020-01-02T03:04:05+00:00"
    assert events[0].source.entity_id == "discord:user:77"


def test_nobody_but_the_author_is_named_in_what_is_kept_of_an_export(chats):
    other = {"id": "4242", "name": "Eve", "nickname": "Evie", "avatarUrl": "https://x/eve.png"}
    path = chats.export(
        chats.message(
            1,
            author={"id": "77", "name": "ann", "avatarUrl": "https://x/ann.png"},
            reactions=[{"emoji": {"id": "", "name": "👍"}, "count": 3, "users": [other]}],
            mentions=[other],
            interaction={"id": "1", "name": "roll", "user": other},
            embeds=[{"title": "T", "author": {"name": "Eve", "iconUrl": "https://x/eve.png"}}],
            attachments=[{"id": "2", "url": "https://x/cat.png", "fileName": "cat.png"}],
        )
    )

    ((event,), _) = chats.read(path)
    text = dumps(event)
    assert [one for one in ("4242", "Eve", "Evie", "eve.png", "ann.png") if one in text] == []
    assert event.metadata["reactions"] == {"👍": 3}
    assert event.metadata["mentions"] == 1
    assert event.metadata["attachments"][0]["url"] == "https://x/cat.png"


def test_nobody_but_the_author_is_named_in_what_is_kept_of_a_record(chats):
    record = {
        "user": "ann",
        "text": "hi",
        "time": 1,
        "avatar_url": "https://x/ann.png",
        "mood": "glad",
        "reactions": [{"emoji": "👍", "users": ["Eve", "Eva"]}],
        "mentions": ["Eve"],
        "referenced_message": {"author": "Eve", "text": "ho"},
    }

    ((event,), _) = chats.read(chats.file("c.jsonl", json.dumps(record)))
    assert event.metadata == {"mood": "glad", "reactions": {"👍": 2}, "mentions": 1}


@pytest.mark.parametrize("odd", [None, 5, "x", ["x", None, {}, {"emoji": 5}], {"👍": ["Eve"]}])
def test_reactions_that_are_none_are_left_out(odd):
    assert reaction_counts(odd) == {}
    assert without_others({"reactions": odd}) == {}


def test_a_direct_log_is_between_those_who_speak_in_it(chats):
    path = chats.file("d.log", "[2023-05-07 14:03] ann: hi\n[2023-05-07 14:04] bob: yo\n")

    events, _ = chats.read(path, visibility="direct")
    assert {one.place.participants for one in events} == {("log:user:ann", "log:user:bob")}
    assert {one.place.visibility for one in events} == {"direct"}


def test_a_direct_log_of_nobody_is_refused(chats):
    with pytest.raises(ImportFileError, match="nobody"):
        chats.read(chats.file("d.log", "nothing\n"), "log", visibility="direct")


def test_direct_records_are_between_those_who_speak_in_their_channel(chats):
    said = [("ann", "a"), ("bob", "a"), ("cy", "b")]
    lines = [json.dumps({"user": u, "text": "x", "time": 1, "channel": c}) for u, c in said]

    events, _ = chats.read(chats.file("d.jsonl", "\n".join(lines)), visibility="direct")
    assert [one.place.participants for one in events] == [
        ("jsonl:user:ann", "jsonl:user:bob"),
        ("jsonl:user:ann", "jsonl:user:bob"),
        ("jsonl:user:cy",),
    ]


@pytest.mark.parametrize("name", ["platform", "space", "channel"])
def test_options_that_can_name_nothing_are_refused(name):
    with pytest.raises(ValidationError, match=name):
        Options(**{"agent_id": "bot", name: "a\nb"})
