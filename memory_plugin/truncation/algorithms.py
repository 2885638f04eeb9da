"""Two ways to choose: by what is worth its tokens (the default), and simply the newest."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from memory_plugin.errors import ValidationError
from memory_plugin.truncation.packing import Packing
from memory_plugin.truncation.ties import find_ties
from memory_plugin.truncation.values import (
    Budget,
    Count,
    Truncated,
    event_cost,
    gap_cost,
    shown_text,
)
from memory_plugin.types import PerceptionEvent

# What a store makes of an event that nobody has scored.
UNSCORED = 5
CUT_MARK = " [...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceWeighted:
    """Keeps what must be answered, a tail of the newest, and then what is worth its tokens.

    `recent_share` of the budget is reserved for the newest events. The rest goes by value per
    token. The value of an event is its importance (the host's or a scorer's number), and more by
    `addressed_bonus` if it is directed at the agent and by up to `recent_bonus` if it is recent,
    half of that after each `half_life` before the newest event. A line of up to `floor_tokens`
    counts as if it were that long: between ordinary messages the better one wins, not the shorter,
    and only a long one has to be worth its length.
    """

    recent_share: float = 0.25
    half_life: timedelta = timedelta(days=1)
    floor_tokens: int = 64
    addressed_bonus: float = 2.0
    recent_bonus: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.recent_share <= 1:
            raise ValidationError("recent_share", self.recent_share, "must be from 0 to 1")
        if self.half_life <= timedelta(0):
            raise ValidationError("half_life", self.half_life, "must be longer than nothing")
        if self.floor_tokens < 1:
            raise ValidationError("floor_tokens", self.floor_tokens, "must be above zero")

    def truncate(
        self, events: Sequence[PerceptionEvent], budget: Budget, count: Count
    ) -> Truncated:
        """The view of `events` that fits; see `Truncation.truncate`."""
        packing = Packing(events, find_ties(events), budget, count)
        if packing.keep_everything():
            return _closed(packing)
        unanswered = packing.ties.unanswered
        if unanswered is not None and not packing.keep(unanswered, "must answer"):
            return _overflowing(packing, unanswered, count)
        self._keep_tail(packing)
        packing.keep_all_parents()
        self._keep_best(packing)
        return _finished(packing)

    def _keep_tail(self, packing: Packing) -> None:
        """The newest event, and the ones before it as long as they fit the reserve."""
        budget = packing.budget
        most_events = None if budget.events is None else int(budget.events * self.recent_share)
        most_tokens = None if budget.tokens is None else int(budget.tokens * self.recent_share)
        spent = 0
        for number, position in enumerate(reversed(range(len(packing.events))), start=1):
            spent += packing.costs[position]
            if number > 1 and most_events is not None and number > most_events:
                return
            if number > 1 and most_tokens is not None and spent > most_tokens:
                return
            if not packing.keep(position, "recent"):
                # One long last word must not cost the tail; anything else ends it.
                if number > 1:
                    return
                spent = 0

    def _values(self, events: Sequence[PerceptionEvent]) -> list[float]:
        if not events:
            return []
        own = {event.agent_id for event in events}
        own |= {e.source.entity_id for e in events if e.event_type.startswith("self_")}
        newest = max(event.timestamp for event in events)
        values = []
        for event in events:
            value = float(UNSCORED if event.importance is None else event.importance)
            if event.addressing in own:
                value += self.addressed_bonus
            halvings = (newest - event.timestamp) / self.half_life
            values.append(value + self.recent_bonus * 0.5 ** min(halvings, 64.0))
        return values

    def _keep_best(self, packing: Packing) -> None:
        """Units in order of value per token, the newer of equals first, while they fit.

        The price of a unit changes with its neighbours: next to a kept event no gap marker is
        added, so a thread that has begun is cheaper to go on with than a new one to open.
        """
        values = self._values(packing.events)

        def worth(unit: tuple[int, ...]) -> float:
            price = sum(max(packing.costs[one], self.floor_tokens) for one in unit)
            price += sum(packing.marker_change(one) for one in unit)
            return sum(values[one] for one in unit) / max(price, 1)

        units, unit_of = packing.ties.units, packing.ties.unit_of
        waiting = [(-worth(unit), -unit[-1], n) for n, unit in enumerate(units)]
        heapq.heapify(waiting)
        tried: set[int] = set()
        while waiting:
            promised, newest, number = heapq.heappop(waiting)
            if number in tried or packing.is_kept(-newest):
                continue
            now = -worth(units[number])
            if now > promised:
                heapq.heappush(waiting, (now, newest, number))
                continue
            tried.add(number)
            if not packing.keep(-newest, "worth it"):
                continue
            packing.keep_parents(-newest)
            for one in units[number]:
                for near in (one - 1, one + 1):
                    if 0 <= near < len(unit_of) and unit_of[near] not in tried:
                        other = unit_of[near]
                        entry = -worth(units[other]), -units[other][-1], other
                        heapq.heappush(waiting, entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fifo:
    """Keeps the newest that fit, and stops at the first that does not; to compare with.

    What must be answered, whole tool calls and parents of replies hold here too.
    """

    def truncate(
        self, events: Sequence[PerceptionEvent], budget: Budget, count: Count
    ) -> Truncated:
        """The view of `events` that fits; see `Truncation.truncate`."""
        packing = Packing(events, find_ties(events), budget, count)
        if packing.keep_everything():
            return _closed(packing)
        unanswered = packing.ties.unanswered
        if unanswered is not None and not packing.keep(unanswered, "must answer"):
            return _overflowing(packing, unanswered, count)
        for position in reversed(range(len(events))):
            if not packing.keep(position, "recent"):
                break
        while packing.keep_all_parents():
            pass
        return _closed(packing)


def _finished(packing: Packing) -> Truncated:
    """Whatever else fits, newest first, until nothing more does.

    A second round can find room where the first had none, because an event that closes a gap
    takes the marker's place.
    """
    before = -1
    while before < len(packing.kept):
        before = len(packing.kept)
        for position in reversed(range(len(packing.events))):
            packing.keep(position, "worth it")
    return _closed(packing)


def _closed(packing: Packing) -> Truncated:
    view = Truncated.of(packing.events, packing.kept, why=packing.why, tokens=packing.tokens)
    if packing.kept or packing.fits(0, packing.tokens):
        return view
    # Not even the marker that everything is missing has room.
    return replace(view, gaps=(), tokens=0, overflow=True)


def _overflowing(packing: Packing, position: int, count: Count) -> Truncated:
    """The event that awaits an answer does not fit: it stays with its text cut, all else goes."""
    event = packing.events[position]
    alone = len(packing.ties.units[packing.ties.unit_of[position]]) == 1
    if alone and packing.fits(1, 0) and packing.budget.tokens is not None:
        after = len(packing.events) - position - 1
        markers = gap_cost(position, count, leading=True) if position else 0
        markers += gap_cost(after, count, leading=False) if after else 0
        short = _cut(event, packing.budget.tokens - markers, count)
        if short is not None:
            tokens = event_cost(short, count) + markers
            shown = [*packing.events]
            shown[position] = short
            view = Truncated.of(shown, [position], why={position: "cut"}, tokens=tokens)
            return replace(view, overflow=True)
    return replace(_closed(packing), overflow=True)


def _cut(event: PerceptionEvent, tokens: int, count: Count) -> PerceptionEvent | None:
    """The event with as much of its text as `tokens` allow; None if not even the label fits."""
    text = shown_text(event)

    def shortened(length: int) -> PerceptionEvent:
        part = text[:length].rstrip() + CUT_MARK
        return replace(
            event, content=part, narrative_text=None if event.narrative_text is None else part
        )

    low, high = 0, len(text)
    if event_cost(shortened(low), count) > tokens:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if event_cost(shortened(middle), count) <= tokens:
            low = middle
        else:
            high = middle - 1
    return shortened(low)
