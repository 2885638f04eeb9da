"""Putting events into a budget, and knowing at every moment what they and their gaps cost."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from memory_plugin.truncation.ties import Ties
from memory_plugin.truncation.values import Budget, Count, Why, event_cost, gap_cost
from memory_plugin.types import PerceptionEvent


class Packing:
    """A view in the making: units go in while they fit, and none comes out again."""

    def __init__(
        self, events: Sequence[PerceptionEvent], ties: Ties, budget: Budget, count: Count
    ) -> None:
        self.events = events
        self.ties = ties
        self.budget = budget
        self.kept: list[int] = []
        self.why: dict[int, Why] = {}
        self._count = count
        self._markers: dict[tuple[int, bool], int] = {}
        counted = budget.tokens is not None
        self.costs = [event_cost(event, count) if counted else 0 for event in events]
        self.tokens = self._marker(len(events), leading=True)

    def _marker(self, events: int, *, leading: bool) -> int:
        if self.budget.tokens is None or not events:
            return 0
        key = events, leading
        if key not in self._markers:
            self._markers[key] = gap_cost(events, self._count, leading=leading)
        return self._markers[key]

    def is_kept(self, position: int) -> bool:
        """Whether the event at this position is in."""
        return position in self.why

    def marker_change(self, position: int) -> int:
        """How many more tokens the gap markers cost when the event at this position comes in."""
        at = bisect_left(self.kept, position)
        left = self.kept[at - 1] if at else -1
        right = self.kept[at] if at < len(self.kept) else len(self.events)
        leading = left < 0
        return (
            self._marker(position - left - 1, leading=leading)
            + self._marker(right - position - 1, leading=False)
            - self._marker(right - left - 1, leading=leading)
        )

    def fits(self, events: int, tokens: int) -> bool:
        """Whether a view of this size is within the budget."""
        most_events, most_tokens = self.budget.events, self.budget.tokens
        return (most_events is None or events <= most_events) and (
            most_tokens is None or tokens <= most_tokens
        )

    def keep_everything(self) -> bool:
        """Let in all there is, if it fits; False if it does not.

        To be asked first: one by one, the way there can lead over views with more gap markers
        than there is room for.
        """
        tokens = sum(self.costs)
        if not self.fits(len(self.events), tokens):
            return False
        self.kept = list(range(len(self.events)))
        self.tokens = tokens
        self.why = dict.fromkeys(self.kept, "room for all")
        return True

    def keep(self, position: int, why: Why) -> bool:
        """Let in the event at `position` with its whole unit, if it fits; False if it does not."""
        if self.is_kept(position):
            return True
        unit = self.ties.units[self.ties.unit_of[position]]
        tokens = self.tokens
        for member in unit:
            tokens += self.costs[member] + self.marker_change(member)
            insort(self.kept, member)
        if not self.fits(len(self.kept), tokens):
            for member in unit:
                del self.kept[bisect_left(self.kept, member)]
            return False
        self.tokens = tokens
        self.why |= dict.fromkeys(unit, why)
        return True

    def keep_parents(self, position: int) -> None:
        """Let in what this event's unit replies to, and what that replies to, while it fits."""
        waiting = list(self.ties.units[self.ties.unit_of[position]])
        while waiting:
            parent = self.ties.parents.get(waiting.pop())
            if parent is None or self.is_kept(parent):
                continue
            if self.keep(parent, "replied to"):
                waiting += self.ties.units[self.ties.unit_of[parent]]

    def keep_all_parents(self) -> bool:
        """Let in every missing parent that fits, of the newest reply first; whether any came in."""
        before = len(self.kept)
        for position in reversed(self.kept.copy()):
            self.keep_parents(position)
        return len(self.kept) > before
