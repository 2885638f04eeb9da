"""Perception streams: the newest part of one at hand, and a view of it that fits a budget.

`PerceptionManager` puts two things together that know nothing of each other: a storage, which
never decides what matters, and an algorithm, which never stores.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import merge
from typing import Protocol, runtime_checkable

from memory_plugin.errors import ValidationError
from memory_plugin.importance import score_importance
from memory_plugin.parts import EventStore
from memory_plugin.text import estimate_tokens
from memory_plugin.truncation import Budget, Count, ImportanceWeighted, Truncated, Truncation
from memory_plugin.types import EventType, PerceptionEvent

MESSAGES: tuple[EventType, ...] = ("external", "self_speech")
ACTIONS: tuple[EventType, ...] = ("self_action", "tool_result", "tick")
# An action that is older than this before the oldest message of a full window belongs to another
# conversation. It also spares the store from searching a long chat without actions for some.
ACTIONS_BEFORE = timedelta(days=1)
# What an event takes in RAM beside its text, in characters, roughly.
EVENT_WEIGHT = 500


@runtime_checkable
class StreamStorage(Protocol):
    """Where streams are kept. It keeps and hands out; what matters is not its business."""

    async def append(self, events: Sequence[PerceptionEvent]) -> None:
        """Keep events of any agents and places; one that is known already is not kept twice."""
        ...

    async def load(self, agent_id: str, place_key: str, limit: int) -> list[PerceptionEvent]:
        """The newest `limit` events of a stream, oldest first; late ones stand where they belong.

        Events of the same time stand in the order they were appended in.
        """
        ...


class MemoryStorage:
    """Streams in RAM, gone with the process: the newest `events` of each of `places` streams.

    When there are more streams, the one that was not used for longest is let go.
    """

    def __init__(self, *, events: int = 1000, places: int = 1000) -> None:
        for name, value in (("events", events), ("places", places)):
            if value < 1:
                raise ValidationError(name, value, "must be above zero")
        self._events = events
        self._places = places
        self._streams: OrderedDict[tuple[str, str], list[PerceptionEvent]] = OrderedDict()

    async def append(self, events: Sequence[PerceptionEvent]) -> None:
        """Keep events; see `StreamStorage.append`."""
        for event in events:
            key = event.agent_id, event.place.key
            stream = self._streams.setdefault(key, [])
            self._streams.move_to_end(key)
            if any(_is_same(event, known) for known in stream):
                continue
            stream.append(event)
            # Nearly always in order already, which costs the sort one look at each.
            stream.sort(key=_time_of)
            del stream[: -self._events]
            while len(self._streams) > self._places:
                self._streams.popitem(last=False)

    async def load(self, agent_id: str, place_key: str, limit: int) -> list[PerceptionEvent]:
        """The newest events of a stream; see `StreamStorage.load`."""
        stream = self._streams.get((agent_id, place_key))
        if stream is None or limit < 1:
            return []
        self._streams.move_to_end((agent_id, place_key))
        return stream[-limit:]


class StoreStorage:
    """Streams in an event store, where they outlive the process."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def append(self, events: Sequence[PerceptionEvent]) -> None:
        """Keep events; see `StreamStorage.append`."""
        await self._store.add(events)

    async def load(self, agent_id: str, place_key: str, limit: int) -> list[PerceptionEvent]:
        """The newest events of a stream; see `StreamStorage.load`."""
        return await self._store.history(agent_id, place_key=place_key, limit=limit)


class PerceptionManager:
    """Perception streams over any storage, shortened by any algorithm.

    `budget` is what a `window` may hold, `count` gives the tokens of a text. `looked_at` is how
    many of the newest events the algorithm may choose from. `score` gives an event without
    importance one before it is kept.
    """

    def __init__(
        self,
        storage: StreamStorage,
        algorithm: Truncation | None = None,
        *,
        budget: Budget | None = None,
        count: Count = estimate_tokens,
        looked_at: int = 200,
        score: Callable[[PerceptionEvent], int] = score_importance,
    ) -> None:
        if looked_at < 1:
            raise ValidationError("looked_at", looked_at, "must be above zero")
        self.storage = storage
        self.algorithm = ImportanceWeighted() if algorithm is None else algorithm
        self._budget = Budget(events=20) if budget is None else budget
        self._count = count
        self._looked_at = looked_at
        self._score = score

    async def append(self, *events: PerceptionEvent) -> None:
        """Add events to the streams they belong to."""
        scored = [
            replace(event, importance=self._score(event)) if event.importance is None else event
            for event in events
        ]
        await self.storage.append(scored)

    async def recent(self, agent_id: str, place_key: str, limit: int = 50) -> list[PerceptionEvent]:
        """The newest events of a stream, oldest first."""
        return await self.storage.load(agent_id, place_key, limit)

    async def truncate(
        self, agent_id: str, place_key: str, budget: Budget | None = None
    ) -> Truncated:
        """What of the newest events fits a budget, what does not, and why. Deletes nothing."""
        events = await self.storage.load(agent_id, place_key, self._looked_at)
        return self.algorithm.truncate(events, budget or self._budget, self._count)

    async def window(self, agent_id: str, place_key: str) -> list[PerceptionEvent]:
        """The events a reader is shown: those that fit the manager's budget, oldest first."""
        return list((await self.truncate(agent_id, place_key)).kept)


class Windows:
    """The newest messages and actions at each place, in RAM for as long as they stay true.

    Before each answer the store is asked what changed, by this process or another, and a window
    that changed is read anew; so an edit, a late event or an erasure is never missed, and after a
    restart nothing is different. At most `places` windows and `characters` of text are held; those
    not used for longest go first.
    """

    def __init__(
        self,
        store: EventStore,
        *,
        messages: int = 20,
        actions: int = 50,
        places: int = 1000,
        characters: int = 20_000_000,
    ) -> None:
        for name, value in (("messages", messages), ("actions", actions), ("places", places)):
            if value < 1:
                raise ValidationError(name, value, "must be above zero")
        self._store = store
        self._messages = messages
        self._actions = actions
        self._places = places
        self._characters = characters
        self._held: OrderedDict[tuple[str, str], tuple[PerceptionEvent, ...]] = OrderedDict()
        self._weight = 0
        self._revision: int | None = None
        # Counts what made held windows untrue, so that one that was being read then is not held.
        self._outdated = 0

    def __len__(self) -> int:
        """How many windows are held."""
        return len(self._held)

    async def get(self, agent_id: str, place_key: str) -> list[PerceptionEvent]:
        """The newest messages and actions at a place, oldest first."""
        await self._catch_up()
        key = agent_id, place_key
        held = self._held.get(key)
        if held is None:
            outdated = self._outdated
            held = await self._read(agent_id, place_key)
            if outdated == self._outdated:
                self._hold(key, held)
        else:
            self._held.move_to_end(key)
        return list(held)

    async def _catch_up(self) -> None:
        """Let go of the windows that anybody has changed since the last time."""
        since = self._revision
        # What was held before the first look is nothing, so there is nothing to be outdated.
        changes = await self._store.changes(since or 0)
        if changes.revision == self._revision:
            return
        if self._revision is None or changes.revision > self._revision:
            self._revision = changes.revision
        self._outdated += 1
        if changes.windows is None:
            self._held.clear()
            self._weight = 0
        else:
            for key in changes.windows:
                self._let_go(key)

    async def _read(self, agent_id: str, place_key: str) -> tuple[PerceptionEvent, ...]:
        messages = await self._store.history(
            agent_id, place_key=place_key, event_types=MESSAGES, limit=self._messages
        )
        full = len(messages) == self._messages
        actions = await self._store.history(
            agent_id,
            place_key=place_key,
            event_types=ACTIONS,
            limit=self._actions,
            since=messages[0].timestamp - ACTIONS_BEFORE if full else None,
        )
        return tuple(merge(messages, actions, key=_time_of))

    def _hold(self, key: tuple[str, str], events: tuple[PerceptionEvent, ...]) -> None:
        self._let_go(key)
        self._held[key] = events
        self._weight += _weight_of(events)
        while self._held and (len(self._held) > self._places or self._weight > self._characters):
            self._let_go(next(iter(self._held)))

    def _let_go(self, key: tuple[str, str]) -> None:
        events = self._held.pop(key, None)
        if events is not None:
            self._weight -= _weight_of(events)

    def note(self, event: PerceptionEvent) -> None:
        """This process stored or changed an event: its window is read anew when next asked for."""
        self._outdated += 1
        self._let_go((event.agent_id, event.place.key))

    def note_edit(self, agent_id: str, external_id: str) -> None:
        """This process changed the text of an event: the old one leaves the RAM at once."""
        self._drop_where(
            lambda event: event.agent_id == agent_id and event.external_id == external_id
        )

    def drop(self, ids: Iterable[str]) -> None:
        """These events were erased or deleted: their texts leave the RAM at once."""
        gone = set(ids)
        if gone:
            self._drop_where(lambda event: event.id in gone)

    def _drop_where(self, is_gone: Callable[[PerceptionEvent], bool]) -> None:
        self._outdated += 1
        for key in [key for key, events in self._held.items() if any(map(is_gone, events))]:
            self._let_go(key)


def _time_of(event: PerceptionEvent) -> datetime:
    return event.timestamp


def _is_same(one: PerceptionEvent, other: PerceptionEvent) -> bool:
    return one.id == other.id or (
        one.external_id is not None and one.external_id == other.external_id
    )


def _weight_of(events: Sequence[PerceptionEvent]) -> int:
    weight = EVENT_WEIGHT * len(events)
    for event in events:
        weight += len(event.content) + len(event.narrative_text or "")
        if event.metadata:
            weight += len(str(event.metadata))
    return weight
