"""Contract: events in, events out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_plugin.errors import ClosedError, ValidationError
from memory_plugin.parts import Added, Store
from memory_plugin.testing.worlds import (
    ANN,
    BEN,
    BOT,
    CELLAR,
    INN,
    MILL,
    Opener,
    World,
    an_event,
    at,
    holding,
)
from memory_plugin.types import Place, Source

ODD_TEXTS = [
    "",
    " ",
    "nul\0inside",
    "line\nbreak\r\n\ttab",
    "quote ' \" ` -- ; drop table event",
    "\u202eright to left\u202c \u200b",
    "🙂 東京都 café",
    "%_*[]|\\",
    "x" * 1_000_000,
]


class EventContract(World):
    """What `EventStore` promises."""

    async def test_an_event_comes_back_as_it_was_given(self, store: Store) -> None:
        event = an_event(
            "waves",
            event_type="tool_result",
            narrative_text="Ann waves.",
            importance=9,
            requires_response=True,
            addressing=BOT,
            external_id="99",
            reply_to="98",
            metadata={"roll": [1, 2.5, None, {"deep": True}], "text": "ü\0"},
        )

        (added,) = await store.add([event])

        assert added == Added(id=event.id, status="stored")
        assert await store.get([event.id]) == [event]

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    async def test_any_text_is_kept_whole(self, store: Store, text: str) -> None:
        event = an_event(text, narrative_text=text, importance=1, name=text[:500])

        await store.add([event])

        assert await store.get([event.id]) == [event]

    @pytest.mark.parametrize("odd", ["%", "_", "*", "[a]", "a|b", "a/b", "'", "🙂", "a" * 512])
    async def test_ids_are_compared_whole(self, store: Store, odd: str) -> None:
        place = replace(INN, space=odd, channel=odd)
        plain = an_event("plain", external_id="abc")
        event = an_event(
            "odd", agent_id=odd, place=place, who=odd, external_id=odd, id=odd, importance=5
        )

        await store.add([plain, event])

        assert await store.history(odd, place_key=place.key, entity_id=odd) == [event]
        assert [one.content for one in await store.history(BOT)] == ["plain"]
        assert await store.delete(odd, [odd]) == [odd]

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    )
    async def test_times_are_kept_to_the_microsecond(self, store: Store, moment: datetime) -> None:
        event = replace(an_event(), timestamp=moment, importance=5, id="one")

        await store.add([event])

        assert await store.get(["one"]) == [event]

    async def test_no_importance_is_stored_as_five(self, store: Store) -> None:
        event = an_event()

        await store.add([event])

        assert await store.get([event.id]) == [replace(event, importance=5)]

    async def test_the_same_external_id_is_the_same_event(self, store: Store) -> None:
        first, again = an_event(external_id="7"), an_event(external_id="7")

        answers = await store.add([first, again])

        assert answers == [Added(id=first.id, status="stored"), Added(id=first.id, status="known")]
        assert len(await store.history(BOT)) == 1

    async def test_the_same_id_without_external_id_is_the_same_event(self, store: Store) -> None:
        event = an_event()

        answers = await store.add([event, event])

        assert [one.status for one in answers] == ["stored", "known"]

    async def test_two_agents_may_know_the_same_external_id(self, store: Store) -> None:
        await store.add([an_event("one", external_id="7")])
        await store.add([an_event("two", external_id="7", agent_id="other")])

        assert [one.content for one in await store.history(BOT)] == ["one"]
        assert [one.content for one in await store.history("other")] == ["two"]

    async def test_an_id_of_another_agents_event_is_refused(self, store: Store) -> None:
        event = an_event("mine")
        await store.add([event])

        with pytest.raises(ValidationError, match="id"):
            await store.add([an_event("yours", id=event.id, agent_id="other", minutes=1)])

        assert [one.content for one in await store.get([event.id])] == ["mine"]

    async def test_a_newer_text_replaces_the_older(self, store: Store) -> None:
        await store.add([an_event("bread", external_id="7", metadata={"kept": 1})])
        edited = an_event("wine", external_id="7", metadata={"edited_at": at(5).isoformat()})

        (added,) = await store.add([edited])

        assert added.status == "edited"
        (kept,) = await store.history(BOT)
        assert (kept.content, kept.id) == ("wine", added.id)
        assert kept.metadata == {"kept": 1, "edited_at": at(5).isoformat()}
        assert await holding(store, "wine") == {"wine"}
        assert await holding(store, "bread") == set()

    async def test_an_older_text_changes_nothing(self, store: Store) -> None:
        original = an_event("bread", external_id="7")
        await store.add([original])
        await store.edit(BOT, "7", "wine", at(5))

        (replayed,) = await store.add([original])
        late = await store.edit(BOT, "7", "water", at(4))

        assert (replayed.status, late) == ("known", False)
        assert [one.content for one in await store.history(BOT)] == ["wine"]

    async def test_an_edit_that_leads_back_outdates_what_was_between(self, store: Store) -> None:
        await store.add([an_event("bread", external_id="7")])
        await store.add([an_event("bread", 9, external_id="7")])

        assert not await store.edit(BOT, "7", "wine", at(5))

    async def test_an_edit_replaces_text_and_prose(self, store: Store) -> None:
        event = an_event("bread", external_id="7", narrative_text="old prose", importance=8)
        await store.add([event])

        assert await store.edit(BOT, "7", "wine", at(0), "new prose")

        (kept,) = await store.get([event.id])
        assert (kept.content, kept.narrative_text, kept.importance) == ("wine", "new prose", 8)
        assert await holding(store, "old") == set()
        assert await holding(store, "new") == {"wine"}

    async def test_an_edit_of_nothing_answers_no(self, store: Store) -> None:
        assert not await store.edit(BOT, "7", "wine", at(5))

    async def test_a_bad_edit_time_is_refused_before_anything_is_stored(self, store: Store) -> None:
        bad = an_event(metadata={"edited_at": "yesterday"})

        with pytest.raises(ValidationError, match="edited_at"):
            await store.add([an_event(), bad])

        assert await store.history(BOT) == []

    async def test_a_deleted_event_is_gone_and_stays_away(self, store: Store) -> None:
        event = an_event("bread", external_id="7")
        await store.add([event, an_event("wine", external_id="8")])

        assert await store.delete(BOT, ["7", "9"]) == [event.id]

        again = await store.add(
            [event, an_event(external_id="7"), replace(event, external_id=None)]
        )
        assert again == [Added(id=None, status="refused")] * 3
        assert [one.content for one in await store.history(BOT)] == ["wine"]
        assert await holding(store, "bread") == set()

    async def test_a_delete_may_come_before_the_event(self, store: Store) -> None:
        assert await store.delete(BOT, ["7"]) == []

        (early,) = await store.add([an_event(external_id="7")])
        (other,) = await store.add([an_event(external_id="7", agent_id="other")])

        assert (early.status, other.status) == ("refused", "stored")

    async def test_importance_can_be_mended(self, store: Store) -> None:
        event = an_event(importance=3)
        await store.add([event])

        assert await store.set_importance(event.id, 10)

        assert (await store.get([event.id]))[0].importance == 10
        assert not await store.set_importance("nobody", 10)
        with pytest.raises(ValidationError):
            await store.set_importance(event.id, 11)

    async def test_events_come_in_the_order_asked(self, store: Store) -> None:
        events = [an_event(str(n), n, importance=5) for n in range(3)]
        await store.add(events)

        wanted = [events[2].id, "missing", events[0].id, events[2].id]

        assert await store.get(wanted) == [events[2], events[0], events[2]]

    async def test_many_events_at_once_are_all_stored(self, store: Store) -> None:
        events = [an_event(f"number {n}", n, importance=5) for n in range(1_300)]

        answers = await store.add(events)

        assert [one.id for one in answers] == [one.id for one in events]
        assert await store.history(BOT, limit=2_000) == events

    async def test_nothing_to_add_is_nothing(self, store: Store) -> None:
        assert await store.add([]) == []

    async def test_history_is_the_newest_oldest_first(self, store: Store) -> None:
        await store.add([an_event(str(n), n) for n in (3, 1, 2, 0)])

        assert [one.content for one in await store.history(BOT, limit=3)] == ["1", "2", "3"]
        assert await store.history(BOT, limit=0) == []

    async def test_history_is_narrowed_by_all_that_is_given(self, store: Store) -> None:
        await store.add(
            [
                an_event("here", 0),
                an_event("there", 1, place=MILL),
                an_event("Ben", 2, who=BEN),
                an_event("my own", 3, event_type="self_speech"),
                an_event("not mine", 4, agent_id="other"),
            ]
        )

        async def found(**narrower: Any) -> list[str]:
            return [one.content for one in await store.history(BOT, **narrower)]

        assert await found() == ["here", "there", "Ben", "my own"]
        assert await found(place_key=MILL.key) == ["there"]
        assert await found(entity_id=BEN) == ["Ben"]
        assert await found(place_key=MILL.key, entity_id=BEN) == []
        assert await found(event_types=("self_speech", "tick")) == ["my own"]
        assert await found(event_types=()) == []
        assert await found(since=at(2)) == ["Ben", "my own"]
        assert await found(before=at(2)) == ["here", "there"]
        assert await found(place_key="nowhere") == []

    async def test_history_before_an_event_keeps_the_order_of_arrival(self, store: Store) -> None:
        events = [an_event(str(n), 0) for n in range(4)]
        await store.add([*events, an_event("later", 1)])

        before = await store.history(BOT, before=events[2].id)

        assert [one.content for one in before] == ["0", "1"]
        assert await store.history(BOT, before="missing") == []

    async def test_a_place_keeps_what_it_was_when_something_happened(self, store: Store) -> None:
        grown = replace(CELLAR, name="Vault", participants=(ANN,))
        events = [
            an_event("a", 0, place=CELLAR, importance=5, name="Ann"),
            an_event("b", 1, place=grown, importance=5, name="Anna"),
        ]

        await store.add(events)

        assert await store.history(BOT, place_key=CELLAR.key) == events

    async def test_changes_name_the_windows_that_changed(self, store: Store) -> None:
        await store.add([an_event(external_id="1"), an_event(external_id="2", place=MILL)])
        start = await store.changes(0)
        assert start.windows in {None, frozenset({(BOT, INN.key), (BOT, MILL.key)})}

        await store.edit(BOT, "2", "wine", at(1))
        edited = await store.changes(start.revision)
        await store.delete(BOT, ["1"])
        deleted = await store.changes(edited.revision)

        assert edited.windows == frozenset({(BOT, MILL.key)})
        assert deleted.windows in {None, frozenset({(BOT, INN.key)})}
        assert (await store.changes(deleted.revision)).windows == frozenset()

    async def test_everything_is_there_after_reopening(self, open_store: Opener) -> None:
        event = an_event("bread", importance=5)
        first = await open_store()
        await first.add([event])
        await first.close()

        second = await open_store()
        try:
            assert await second.get([event.id]) == [event]
            assert await holding(second, "bread") == {"bread"}
        finally:
            await second.close()

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.close()
        await store.close()

        with pytest.raises(ClosedError):
            await store.add([an_event()])
        with pytest.raises(ClosedError):
            await store.history(BOT)

    async def test_a_place_without_space_is_not_one_with_it(self, store: Store) -> None:
        bare = Place(platform="discord", channel="inn", visibility="public")
        await store.add([an_event("bare", place=bare), an_event("spaced")])

        found = await store.history(BOT, place_key=bare.key)

        assert [one.content for one in found] == ["bare"]
        assert found[0].source == Source(entity_id=ANN, entity_name="Person1")
