"""Streams over any storage, and working windows that are never stale."""

from __future__ import annotations

import gc
import random
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Changes, Selection
from memory_plugin.sqlite import SqliteStore
from memory_plugin.streams import (
    MemoryStorage,
    PerceptionManager,
    StoreStorage,
    StreamStorage,
    Windows,
)
from memory_plugin.text import estimate_tokens
from memory_plugin.truncation import Budget, Fifo
from memory_plugin.types import Place

from .making import NOON, ROOM, own, said

HERE = ("npc", ROOM.key)


@pytest.fixture
async def store(tmp_path):
    opened = await SqliteStore.open(tmp_path / "m.db")
    yield opened
    await opened.close()


@pytest.fixture
async def neighbour(tmp_path, store):
    """Another store on the same file, as another process would have it."""
    opened = await SqliteStore.open(tmp_path / "m.db")
    yield opened
    await opened.close()


@pytest.fixture(params=["ram", "file"])
def storage(request, store):
    return MemoryStorage() if request.param == "ram" else StoreStorage(store)


def contents(events) -> list[str]:
    return [event.content for event in events]


def room(number: int) -> Place:
    return replace(ROOM, channel=f"#{number}")


# The manager -------------------------------------------------------------------------------------


async def test_both_storages_are_stream_storages(storage):
    assert isinstance(storage, StreamStorage)


async def test_recent_events_come_back_oldest_first_and_late_ones_where_they_belong(storage):
    manager = PerceptionManager(storage)

    await manager.append(said("two", minutes=2), said("three", minutes=3))
    await manager.append(said("one", minutes=1))

    assert contents(await manager.recent(*HERE)) == ["one", "two", "three"]
    assert contents(await manager.recent(*HERE, limit=2)) == ["two", "three"]
    assert await manager.recent(*HERE, limit=0) == []
    assert await manager.recent("npc", "elsewhere") == []


async def test_the_same_event_is_kept_once(storage):
    event = said("hello", external_id="m1")
    manager = PerceptionManager(storage)

    await manager.append(event, event)
    await manager.append(replace(event, id="another"))

    assert contents(await manager.recent(*HERE)) == ["hello"]


async def test_streams_of_other_agents_and_places_stay_apart(storage):
    manager = PerceptionManager(storage)

    await manager.append(
        said("here"), said("there", place=room(9)), said("other", agent_id="other")
    )

    assert contents(await manager.recent(*HERE)) == ["here"]
    assert contents(await manager.recent("other", ROOM.key)) == ["other"]


async def test_truncating_shortens_the_view_and_not_the_stream(storage):
    manager = PerceptionManager(storage, Fifo())
    await manager.append(*(said(str(n), minutes=n) for n in range(9)))

    view = await manager.truncate(*HERE, Budget(events=2))

    assert contents(view.kept) == ["7", "8"]
    assert contents(view.dropped) == [str(n) for n in range(7)]
    assert len(await manager.recent(*HERE)) == 9


async def test_the_window_holds_what_the_managers_budget_allows(storage):
    manager = PerceptionManager(
        storage, Fifo(), budget=Budget(tokens=60), count=estimate_tokens, looked_at=50
    )
    await manager.append(*(said(f"line {n:03}", minutes=n) for n in range(100)))

    window = await manager.window(*HERE)

    assert contents(window)[-1] == "line 099"
    assert 5 < len(window) < 20


async def test_any_algorithm_will_do(storage):
    class NewestOnly:
        def truncate(self, events, budget, count):
            return Fifo().truncate(events, Budget(events=1), count)

    manager = PerceptionManager(storage, NewestOnly())
    await manager.append(said("a"), said("b", minutes=1))

    assert contents(await manager.window(*HERE)) == ["b"]


async def test_events_are_scored_unless_the_host_did(storage):
    manager = PerceptionManager(storage)

    await manager.append(said("lol"), said("lol", minutes=1, importance=10))

    assert [one.importance for one in await manager.recent(*HERE)] == [1, 10]


async def test_streams_in_ram_are_bounded():
    storage = MemoryStorage(events=3, places=2)
    for number in range(4):
        await storage.append(
            [said(str(n), minutes=n, place=room(number)) for n in random.sample(range(9), 9)]
        )
        await storage.load("npc", room(1).key, 1)

    assert contents(await storage.load("npc", room(3).key, 99)) == ["6", "7", "8"]
    assert contents(await storage.load("npc", room(1).key, 99)) == ["6", "7", "8"]
    assert await storage.load("npc", room(0).key, 99) == []
    assert await storage.load("npc", room(2).key, 99) == []


@pytest.mark.parametrize("wrong", [{"events": 0}, {"places": 0}])
def test_a_bound_of_nothing_is_refused(wrong):
    with pytest.raises(ValidationError):
        MemoryStorage(**wrong)
    with pytest.raises(ValidationError):
        PerceptionManager(MemoryStorage(), looked_at=0)


# The windows -------------------------------------------------------------------------------------


def mixed(number: int, minutes: float):
    """Speech, the agent's own speech, actions, results and ticks in turn."""
    kind = ("external", "self_speech", "external", "self_action", "tool_result", "tick")[number % 6]
    return said(f"{kind} {number}", minutes=minutes, event_type=kind, external_id=f"m{number}")


async def test_a_window_holds_the_newest_messages_and_actions_in_order(store):
    await store.add([mixed(n, n) for n in range(300)])
    windows = Windows(store)

    window = await windows.get(*HERE)

    kinds = [event.event_type for event in window]
    assert [event.timestamp for event in window] == sorted(e.timestamp for e in window)
    assert sum(kind in ("external", "self_speech") for kind in kinds) == 20
    assert sum(kind in ("self_action", "tool_result", "tick") for kind in kinds) == 50
    assert contents(window)[-3:] == ["self_action 297", "tool_result 298", "tick 299"]


async def test_a_window_is_the_same_after_a_restart(tmp_path, store):
    await store.add([mixed(n, n) for n in range(100)])
    before = await Windows(store).get(*HERE)
    await store.close()

    again = await SqliteStore.open(tmp_path / "m.db")
    try:
        after = await Windows(again).get(*HERE)
    finally:
        await again.close()

    assert after == before
    assert {"self_action", "tool_result"} <= {event.event_type for event in after}


async def test_what_anybody_writes_is_in_the_window_at_once(store, neighbour):
    windows = Windows(store)
    await store.add([said("one", minutes=1, external_id="a"), said("two", minutes=2)])
    assert contents(await windows.get(*HERE)) == ["one", "two"]

    await neighbour.add([said("late", minutes=1.5, external_id="b"), said("three", minutes=3)])
    assert contents(await windows.get(*HERE)) == ["one", "late", "two", "three"]

    await neighbour.edit("npc", "a", "uno", NOON + timedelta(hours=1))
    await neighbour.delete("npc", ["b"])
    assert contents(await windows.get(*HERE)) == ["uno", "two", "three"]

    await neighbour.erase(Selection(place_key=ROOM.key))
    assert await windows.get(*HERE) == []


async def test_an_unchanged_window_is_not_read_again(store):
    class Counting:
        """Counts what the store is asked for."""

        def __init__(self):
            self.reads = 0

        def __getattr__(self, name):
            self.reads += name == "history"
            return getattr(store, name)

    counting = Counting()
    windows = Windows(counting)
    await store.add([said("one"), said("elsewhere", place=room(9))])
    await windows.get(*HERE)
    first = counting.reads

    await windows.get(*HERE)
    await store.add([said("elsewhere again", minutes=1, place=room(9))])
    await windows.get(*HERE)

    assert counting.reads == first == 2
    windows.note(said("mine"))
    await windows.get(*HERE)
    assert counting.reads == 4


async def test_the_window_is_what_the_store_says_whatever_happens(store, neighbour):
    dice = random.Random(5)  # noqa: S311 - a story, not a secret
    windows = Windows(store, messages=3, actions=2, places=2)
    for number in range(400):
        writer = dice.choice((store, neighbour))
        place = room(dice.randrange(4))
        external_id = f"m{dice.randrange(60)}"
        deed = dice.random()
        if deed < 0.6:
            event = replace(
                mixed(number, dice.randrange(500)), place=place, external_id=external_id
            )
            await writer.add([event])
            windows.note(event)
        elif deed < 0.7:
            await writer.edit("npc", external_id, f"edit {number}", NOON + timedelta(days=1))
            windows.note_edit("npc", external_id)
        elif deed < 0.8:
            windows.drop(await writer.delete("npc", [external_id]))

        window = await windows.get("npc", place.key)

        assert window == await Windows(neighbour, messages=3, actions=2).get("npc", place.key)
        assert len(windows) <= 2


async def test_erased_texts_leave_the_ram_at_once(store):
    windows = Windows(store)
    secret, other = said("secret", external_id="a"), said("other", place=room(9))
    await store.add([secret, other])
    await windows.get(*HERE)
    await windows.get("npc", room(9).key)

    windows.drop([secret.id])
    assert len(windows) == 1
    windows.drop([])
    windows.note_edit("npc", "a")
    assert len(windows) == 1


async def test_what_was_erased_while_a_window_was_read_is_not_held(store):
    secret = said("secret", external_id="a")
    await store.add([secret])

    class Slow:
        """Hands out a window, and only then lets the erasure through."""

        changes = store.changes

        async def history(self, agent_id, **more):
            events = await store.history(agent_id, **more)
            windows.drop([secret.id])
            return events

    windows = Windows(Slow())

    await windows.get(*HERE)

    assert len(windows) == 0


async def test_old_actions_do_not_stand_before_a_conversation_of_another_day(store):
    await store.add([own("sweep", 0, event_type="self_action")])
    await store.add([said(str(n), minutes=3 * 24 * 60 + n) for n in range(5)])

    assert "sweep" in contents(await Windows(store, messages=6).get(*HERE))
    assert "sweep" not in contents(await Windows(store, messages=5).get(*HERE))


class Endless:
    """A store without end: every place there could be has the same few events."""

    def __init__(self, content: str, each: int = 3) -> None:
        self.content = content
        self.each = each
        self.made: dict[str, list] = {}

    async def history(self, agent_id, *, place_key, event_types, limit, since=None):
        kind = event_types[0]
        if kind + self.content not in self.made:
            self.made[kind + self.content] = [
                said(f"{self.content}{n}", minutes=n, event_type=kind) for n in range(self.each)
            ]
        return self.made[kind + self.content]

    async def changes(self, revision):
        return Changes(revision=1, windows=frozenset())


async def test_a_hundred_thousand_places_take_no_more_ram_than_ten_thousand():
    windows = Windows(Endless("hello ", each=1), places=500)
    blocks = {}
    for number in range(1, 100_001):
        await windows.get("npc", f"mud/game/{number}")
        if number in (10_000, 100_000):
            gc.collect()
            blocks[number] = sys.getallocatedblocks()

    assert len(windows) == 500
    # A leak of one block for each place would be ninety thousand.
    assert blocks[100_000] - blocks[10_000] < 1_000


async def test_the_window_not_used_for_longest_goes_first():
    endless = Endless("a")
    windows = Windows(endless, places=2)
    for key in ("a", "b", "a", "c"):
        await windows.get("npc", key)
    endless.content = "b"

    assert contents(await windows.get("npc", "a"))[0] == "a0"
    assert contents(await windows.get("npc", "b"))[0] == "b0"


async def test_long_texts_are_held_for_fewer_places():
    windows = Windows(Endless("x" * 10_000), places=200, characters=1_000_000)
    for number in range(100):
        await windows.get("npc", f"mud/game/{number}")

    assert 5 < len(windows) < 20


async def test_a_window_too_long_to_be_held_is_answered_all_the_same():
    windows = Windows(Endless("x" * 10_000), characters=1000)

    assert len(await windows.get("npc", "a")) == 6
    assert len(windows) == 0


async def test_more_changes_than_can_be_named_outdate_every_window():
    class Busy(Endless):
        revision = 0

        async def changes(self, revision):
            return Changes(revision=self.revision, windows=None)

    store = Busy("a")
    windows = Windows(store)
    await windows.get("npc", "a")
    await windows.get("npc", "b")
    assert len(windows) == 2

    store.revision = 7
    store.content = "b"

    assert contents(await windows.get("npc", "a"))[0] == "b0"
    assert len(windows) == 1


@pytest.mark.parametrize("wrong", [{"messages": 0}, {"actions": 0}, {"places": 0}])
def test_windows_of_nothing_are_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Windows(Endless("a"), **wrong)
