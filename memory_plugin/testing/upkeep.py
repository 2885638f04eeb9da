"""Contract: numbers, traces, wishes, erasure, copies, health."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.errors import StoreError, ValidationError
from memory_plugin.parts import Selection, Statistics, Store
from memory_plugin.testing.worlds import (
    ANN,
    BEN,
    BOT,
    INN,
    MILL,
    START,
    World,
    an_event,
    at,
    axis,
    contents,
    everything,
    holding,
)
from memory_plugin.types import Place, Scope

DAY = 24 * 60


class UpkeepContract(World):
    """What `UpkeepStore` promises."""

    async def test_an_acquaintance_is_what_events_say(self, store: Store) -> None:
        await store.add(
            [
                an_event("a", 0, name="Ann"),
                an_event("b", DAY, name="Anna", place=MILL),
                an_event("c", DAY + 1, name="Ann"),
                an_event("d", 9 * DAY, who=BEN),
                an_event("e", 9 * DAY, agent_id="other"),
            ]
        )

        known = await store.acquaintance(Scope(agent_id=BOT, everything=True), ANN)

        assert known is not None
        assert (known.entity_id, known.names) == (ANN, ("Ann", "Anna"))
        assert (known.first_seen, known.last_seen) == (at(0), at(DAY + 1))
        assert (known.events, known.days, known.places) == (3, 2, 2)
        assert await store.acquaintance(Scope(agent_id=BOT, everything=True), "nobody") is None
        assert await store.acquaintance(Scope(agent_id="nobody", everything=True), ANN) is None

    async def test_an_acquaintance_counts_only_what_may_be_shown(self, store: Store) -> None:
        alone = Place(platform="mud", channel="w", visibility="direct", participants=(ANN,))
        await store.add([an_event("a", 0), an_event("whispered", 1, place=alone, name="Spy")])

        in_public = await store.acquaintance(Scope(agent_id=BOT, place=INN), ANN)
        in_private = await store.acquaintance(Scope(agent_id=BOT, place=alone), ANN)

        assert in_public is not None
        assert in_private is not None
        assert (in_public.events, in_public.last_seen, in_public.places) == (1, at(0), 1)
        assert "Spy" not in in_public.names
        assert in_private.names == ("Spy",)

    async def test_statistics_count(self, store: Store) -> None:
        # The world starts on a Monday at noon.
        await store.add(
            [
                an_event("a", 0, name="Ann"),
                an_event("b", 61, name="Anna", place=MILL),
                an_event("c", DAY, who=BEN, event_type="tick"),
                an_event("d", 0, agent_id="other"),
            ]
        )

        numbers = await store.statistics(BOT)

        assert (numbers.events, numbers.authors, numbers.places) == (3, 2, 2)
        assert (numbers.first, numbers.last) == (at(0), at(DAY))
        assert dict(numbers.by_type) == {"external": 2, "tick": 1}
        assert [(h, n) for h, n in enumerate(numbers.by_hour) if n] == [(12, 2), (13, 1)]
        assert numbers.by_weekday == (2, 1, 0, 0, 0, 0, 0)
        assert dict(numbers.by_day) == {"2026-03-02": 2, "2026-03-03": 1}
        assert numbers.by_author[0] == (ANN, "Anna", 2)
        assert set(numbers.by_place) == {(INN.key, "The Inn", 2), (MILL.key, "Mill", 1)}
        assert (await store.statistics()).events == 4
        assert (await store.statistics(BOT, MILL.key)).events == 1

    async def test_statistics_of_nothing_are_zero(self, store: Store) -> None:
        nothing = Statistics(
            events=0,
            authors=0,
            places=0,
            first=None,
            last=None,
            by_type={},
            by_hour=(0,) * 24,
            by_weekday=(0,) * 7,
            by_day={},
            by_author=(),
            by_place=(),
        )

        assert await store.statistics() == nothing
        assert await store.statistics("nobody", "nowhere") == nothing

    async def test_agents_are_those_with_events(self, store: Store) -> None:
        await store.add([an_event(agent_id=agent) for agent in ("b", "a", "b")])
        await store.delete("c", ["1"])

        assert await store.agents() == ["a", "b"]

    async def test_the_last_trace_of_a_place_is_kept(self, store: Store) -> None:
        await store.save_trace(BOT, INN.key, {"ids": ["1"]})
        await store.save_trace(BOT, INN.key, {"ids": ["2"], "share": 0.5, "none": None})

        assert await store.last_trace(BOT, INN.key) == {"ids": ["2"], "share": 0.5, "none": None}
        assert await store.last_trace(BOT, MILL.key) is None
        with pytest.raises(ValidationError):
            await store.save_trace(BOT, INN.key, {"bad": float("nan")})

    async def test_a_wish_to_be_followed_is_kept_and_taken_back(self, store: Store) -> None:
        await store.set_followed(ANN, followed=True)
        await store.set_followed(ANN, followed=True)
        await store.set_followed(BEN, followed=True)
        await store.set_followed(BEN, followed=False)

        assert await store.followed([ANN, BEN, "nobody"]) == {ANN}

    @pytest.mark.parametrize(
        ("selection", "left"),
        [
            (Selection(entity_id=ANN), {"Ben 1", "Ben mill 2"}),
            (Selection(place_key=MILL.key), {"Ann 0", "Ben 1", "other 4"}),
            (Selection(agent_id="other"), {"Ann 0", "Ben 1", "Ben mill 2", "Ann mill 3"}),
            (Selection(event_id="E0"), {"Ben 1", "Ben mill 2", "Ann mill 3", "other 4"}),
            (Selection(since=at(2)), {"Ann 0", "Ben 1"}),
            (Selection(until=at(2)), {"Ben mill 2", "Ann mill 3", "other 4"}),
            (Selection(agent_id=BOT, entity_id=ANN, place_key=MILL.key, since=at(0)),
             {"Ann 0", "Ben 1", "Ben mill 2", "other 4"}),
            (Selection(entity_id="nobody"),
             {"Ann 0", "Ben 1", "Ben mill 2", "Ann mill 3", "other 4"}),
        ],
        ids=["entity", "place", "agent", "event", "since", "until", "all", "none"],
    )  # fmt: skip
    async def test_erasure_takes_what_is_selected(
        self, store: Store, selection: Selection, left: set[str]
    ) -> None:
        events = [
            an_event("Ann 0", 0, id="E0"),
            an_event("Ben 1", 1, who=BEN, id="E1"),
            an_event("Ben mill 2", 2, who=BEN, place=MILL, id="E2"),
            an_event("Ann mill 3", 3, place=MILL, id="E3"),
            an_event("other 4", 4, agent_id="other", id="E4"),
        ]
        await store.add(events)
        exported, _ = await store.export(selection)

        erased = await store.erase(selection)

        gone = {event.id for event in events if event.content not in left}
        assert set(erased.ids) == gone and erased.events == len(gone)
        assert {event.id for event in exported} == gone
        kept = await store.get([event.id for event in events])
        assert {event.content for event in kept} == left
        again = await store.add(events)
        assert {one.id for one in again if one.status == "known"} == {e.id for e in kept}
        assert all(one.status in {"known", "refused"} for one in again)

    async def test_erasure_leaves_no_trace(self, store: Store) -> None:
        await store.use_model("model", 4)
        await store.add(
            [
                an_event("bread", 0, id="E0", external_id="7"),
                an_event("wine", 1, id="E1", who=BEN),
            ]
        )
        await store.add_vectors([(job, axis(0)) for job in await store.unembedded(9)])
        await store.set_followed(ANN, followed=True)
        await store.save_trace(BOT, INN.key, {"shown": [{"id": "E0"}]})
        await store.save_trace(BOT, MILL.key, {"shown": [{"id": "E1"}]})
        await store.search(everything(), [], None)

        erased = await store.erase(Selection(entity_id=ANN))

        assert (erased.events, erased.vectors, erased.ids) == (1, 1, ("E0",))
        assert await store.last_trace(BOT, INN.key) is None
        assert await store.last_trace(BOT, MILL.key) is not None
        assert await store.followed([ANN]) == frozenset()
        assert await store.acquaintance(Scope(agent_id=BOT, everything=True), ANN) is None
        assert await contents(store, await store.search(everything(), [], None)) == {"wine"}
        assert await holding(store, "bread") == set()
        assert await store.delete(BOT, ["7"]) == []
        assert await store.check() == []

    async def test_a_selection_of_nothing_in_particular_is_refused(self, store: Store) -> None:
        await store.add([an_event()])

        with pytest.raises(ValidationError):
            await store.erase(Selection())
        with pytest.raises(ValidationError):
            await store.export(Selection())

        assert len(await store.history(BOT)) == 1

    async def test_export_goes_on_page_by_page(self, store: Store) -> None:
        events = [an_event(str(n), -n, importance=5) for n in range(5)]
        await store.add(events)
        pages, after = [], 0

        for _ in range(4):
            page, after = await store.export(Selection(entity_id=ANN), after, 2)
            pages.append(page)

        assert pages == [events[:2], events[2:4], events[4:], []]

    async def test_a_sound_store_has_nothing_to_mend(self, store: Store) -> None:
        await store.add([an_event("bread", external_id="1"), an_event("wine", external_id="2")])
        await store.edit(BOT, "1", "butter", at(1))
        await store.delete(BOT, ["2"])

        assert await store.check() == []
        assert await store.repair()
        assert await store.check() == []

        assert await holding(store, "butter") == {"butter"}
        assert await holding(store, "bread") == set()

    async def test_a_backup_does_not_write_over_a_file(self, store: Store, tmp_path: Path) -> None:
        await store.add([an_event()])
        target = tmp_path / "copy"
        await store.backup(target)

        assert target.stat().st_size
        with pytest.raises(StoreError, match="exists"):
            await store.backup(target)
        with pytest.raises(StoreError):
            await store.backup(tmp_path / "no folder" / "copy")

    async def test_status_tells_how_the_store_is(self, store: Store) -> None:
        await store.add([an_event(timestamp=START)])

        status = await store.status()

        assert status["events"] == 1
        assert status["awaiting_vectors"] == 1
