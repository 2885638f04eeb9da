"""The way in: what plugins make of an event, its importance, the store, and then the news."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pluggy import HookImpl

from memory_plugin._dispatch import SKIPPED, Dispatch, is_async
from memory_plugin.errands import Errands
from memory_plugin.errors import ClosedError, StoreError, ValidationError
from memory_plugin.hookspecs import Drop
from memory_plugin.parts import Added, EventStore
from memory_plugin.types import PerceptionEvent, checked_importance, with_importance

log = logging.getLogger(__name__)

SOON_BATCH = 500
MOST_SOON = 200_000
RETRY_S = 1.0
Stored = Callable[[Sequence[PerceptionEvent], Sequence[Added]], None]


class Intake:
    """Takes events in: awaited and durable (`add`), or for hosts that cannot wait (`soon`)."""

    def __init__(
        self, dispatch: Dispatch, store: EventStore, errands: Errands, on_stored: Stored
    ) -> None:
        self._dispatch = dispatch
        self._store = store
        self._errands = errands
        self._on_stored = on_stored
        self._loop = asyncio.get_running_loop()
        self._soon: deque[PerceptionEvent] = deque()
        self._in_hand: list[PerceptionEvent] = []
        # Events taken by `soon` that the store refused for good.
        self.refused = 0
        self._storing: set[asyncio.Future[list[Added]]] = set()
        self._drain: asyncio.Task[None] | None = None
        self._wake_asked = False
        self._refusing = False
        scorers = dispatch.implementations("score_importance")
        self._quick = [one for one in scorers if not is_async(one)]
        self._slow = [one for one in scorers if is_async(one)]
        self._judged_by_guests = bool(dispatch.guests("perceive"))
        self._news = bool(dispatch.implementations("perceived"))

    async def add(self, events: Sequence[PerceptionEvent]) -> list[Added]:
        """Store events for good; one answer each. What a plugin dropped answers ``refused``."""
        judged: list[PerceptionEvent | None] = []
        unscored: list[PerceptionEvent] = []
        for event in events:
            if not isinstance(event, PerceptionEvent):
                raise ValidationError("event", event, "must be a PerceptionEvent")
            kept = await self._judged(event) if self._judged_by_guests else event
            if kept is not None and kept.importance is None:
                kept = await self._scored(kept)
                unscored.append(kept)
            judged.append(kept)
        wanted = [one for one in judged if one is not None]
        # Who gives up waiting does not undo the storing, so its news must be told all the same.
        storing = asyncio.ensure_future(self._stored(wanted, unscored))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        answers = await asyncio.shield(storing)
        if len(wanted) == len(events):
            return answers
        each = iter(answers)
        return [Added(id=None, status="refused") if one is None else next(each) for one in judged]

    async def _stored(
        self, events: Sequence[PerceptionEvent], unscored: Sequence[PerceptionEvent]
    ) -> list[Added]:
        answers = await self._store.add(events) if events else []
        self._on_stored(events, answers)
        self._tell(events, answers)
        if self._slow and unscored:
            kept_ids = {one.id for one in answers if one.status == "stored"}
            self._mend_later([one for one in unscored if one.id in kept_ids])
        return answers

    async def _judged(self, event: PerceptionEvent) -> PerceptionEvent | None:
        def fits(answer: Any) -> Any:
            if isinstance(answer, Drop):
                return answer
            if not isinstance(answer, PerceptionEvent):
                raise ValidationError("perceive", answer, "must be a PerceptionEvent or DROP")
            if answer.agent_id != event.agent_id:
                raise ValidationError("agent_id", answer.agent_id, "must stay as it was")
            return answer

        value: Any = event
        for impl in self._dispatch.implementations("perceive"):
            answer = await self._dispatch.ask(impl, {"event": value}, fits)
            if isinstance(answer, Drop):
                return None
            if answer is not None and answer is not SKIPPED:
                value = answer
        kept: PerceptionEvent = value
        return kept

    async def _scored(self, event: PerceptionEvent) -> PerceptionEvent:
        """The event with the importance that the first plain scorer gives it."""
        score = await self._asked(self._quick, event)
        return event if score is None else with_importance(event, score)

    async def _asked(self, scorers: Sequence[HookImpl], event: PerceptionEvent) -> int | None:
        for impl in scorers:
            answer = await self._dispatch.ask(
                impl, {"event": event}, lambda one: checked_importance("score_importance", one)
            )
            if answer is not None and answer is not SKIPPED:
                return int(answer)
        return None

    def _tell(self, events: Sequence[PerceptionEvent], answers: Sequence[Added]) -> None:
        if not self._news:
            return
        for event, answer in zip(events, answers, strict=True):
            if answer.status in ("stored", "edited") and answer.id is not None:
                told = event if event.id == answer.id else replace(event, id=answer.id)
                self._errands.add(partial(self._dispatch.each, "perceived", event=told))

    def _mend_later(self, events: Sequence[PerceptionEvent]) -> None:
        async def mend(event: PerceptionEvent) -> None:
            score = await self._asked(self._slow, replace(event, importance=None))
            if score is not None and score != event.importance:
                await self._store.set_importance(event.id, score)

        for event in events:
            self._errands.add(partial(mend, event))

    def soon(self, event: PerceptionEvent) -> None:
        """Take an event and return at once, from any thread; it is stored in order, shortly."""
        if not isinstance(event, PerceptionEvent):
            raise ValidationError("event", event, "must be a PerceptionEvent")
        if self._refusing:
            raise ClosedError("the memory is closing; the event was not taken")
        if len(self._soon) >= MOST_SOON:
            raise StoreError(
                f"{MOST_SOON} events wait to be stored; the store does not keep up or is failing"
            )
        self._soon.append(event)
        if self._wake_asked:
            return
        self._wake_asked = True
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError as fault:
            self._refusing = True
            self._soon.clear()
            raise ClosedError("the event loop of the memory is closed") from fault

    @property
    def waiting(self) -> int:
        """How many events `soon` has taken that are not stored yet."""
        return len(self._soon) + len(self._in_hand)

    def _wake(self) -> None:
        self._wake_asked = False
        if self._soon and (self._drain is None or self._drain.done()):
            self._drain = asyncio.create_task(self._store_soon(), name="memory-plugin intake")

    async def _store_soon(self) -> None:
        while self._soon:
            self._in_hand = [self._soon.popleft() for _ in range(min(SOON_BATCH, len(self._soon)))]
            try:
                await self._store_in_hand()
            except StoreError:
                # Nothing is lost: storing again what was stored already is harmless.
                log.exception("storing failed; %d events wait for the next try", self.waiting)
                self._put_back()
                await asyncio.sleep(RETRY_S)
            except BaseException:
                # Whatever it was, what is in hand must not be lost with this task.
                self._put_back()
                raise
            self._in_hand = []

    def _put_back(self) -> None:
        self._soon.extendleft(reversed(self._in_hand))
        self._in_hand = []

    async def _store_in_hand(self) -> None:
        """Store a batch; one event that the store refuses must not keep the others out."""
        try:
            await self.add(self._in_hand)
        except ValidationError:
            for event in self._in_hand:
                try:
                    await self.add([event])
                except ValidationError:
                    self.refused += 1
                    log.exception("event %s was refused and is lost", event.id)

    async def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything that `soon` has taken is durable; False if that took too long."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.waiting:
                    self._wake()
                    if self._drain is not None:
                        await asyncio.shield(self._drain)
        except TimeoutError:
            return False
        return True

    def discard(self, is_unwanted: Callable[[PerceptionEvent], bool]) -> None:
        """Drop events that wait and shall not be stored any more."""
        self._soon = deque(event for event in self._soon if not is_unwanted(event))

    async def close(self, timeout_s: float) -> int:
        """Take nothing more and store what waits; answers how many events were abandoned."""
        self._refusing = True
        if not await self.flush(timeout_s) and self._drain is not None:
            self._drain.cancel()
            await asyncio.gather(self._drain, return_exceptions=True)
        return self.waiting
