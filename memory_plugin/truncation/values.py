"""A budget, what was kept within it, and the gaps that show where something was left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Literal, Protocol, Self, runtime_checkable

from memory_plugin.errors import ValidationError
from memory_plugin.types import PerceptionEvent

Count = Callable[[str], int]
Why = Literal["room for all", "must answer", "cut", "recent", "replied to", "worth it", "no room"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most events and tokens a view may have; None means no limit.

    Tokens count the events' lines (`event_cost`) and the gap markers between them (`gap_cost`);
    a gap marker is not an event.
    """

    events: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("events", "tokens"):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValidationError(name, value, "must be a whole number, zero or more, or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events that were left out in one stretch.

    `after` and `before` are the ids of the kept events around it, None at either end; `since` and
    `until` are the times of the first and the last event in it.
    """

    events: int
    after: str | None
    before: str | None
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """What a view shows and what it leaves out; both oldest first.

    `tokens` is the cost of the kept events and the gap markers (0 where the budget has no tokens).
    `overflow`: what has to be there does not fit. Either the text of the event that awaits an
    answer was cut (it is in `kept` under its own id), or not even that, or a lone gap marker, had
    room. The budget holds all the same. `why` says for each event id what decided.
    """

    kept: tuple[PerceptionEvent, ...]
    dropped: tuple[PerceptionEvent, ...] = ()
    gaps: tuple[Gap, ...] = ()
    tokens: int = 0
    overflow: bool = False
    why: Mapping[str, Why] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        events: Sequence[PerceptionEvent],
        keep: Collection[int],
        *,
        why: Mapping[int, Why] | None = None,
        tokens: int = 0,
    ) -> Self:
        """The view that keeps the events at the positions `keep`, with the gaps that leaves."""
        chosen = sorted(set(keep))
        reasons = why or {}
        edges = [-1, *chosen, len(events)]
        gaps = [
            Gap(
                events=right - left - 1,
                after=events[left].id if left >= 0 else None,
                before=events[right].id if right < len(events) else None,
                since=events[left + 1].timestamp,
                until=events[right - 1].timestamp,
            )
            for left, right in pairwise(edges)
            if right - left > 1
        ]
        kept = set(chosen)
        return cls(
            kept=tuple(events[i] for i in chosen),
            dropped=tuple(event for i, event in enumerate(events) if i not in kept),
            gaps=tuple(gaps),
            tokens=tokens,
            why={
                event.id: reasons.get(i, "worth it") if i in kept else "no room"
                for i, event in enumerate(events)
            },
        )


@runtime_checkable
class Truncation(Protocol):
    """A way to choose what fits. It stores nothing and changes nothing.

    What must hold whatever the events and the budget is written down as a contract suite in
    `memory_plugin.testing.truncation`.
    """

    def truncate(
        self, events: Sequence[PerceptionEvent], budget: Budget, count: Count
    ) -> Truncated:
        """The view of `events` (oldest first) that fits `budget`; `count` gives a text's tokens."""
        ...


def shown_text(event: PerceptionEvent) -> str:
    """The text a reader is shown: the prose version where there is one, else what was said."""
    return event.narrative_text or event.content


def event_cost(event: PerceptionEvent, count: Count) -> int:
    """Tokens of an event's line: the speaker's label, the text, and the end of the line."""
    return count(f"{event.source.entity_name}: {shown_text(event)}\n")


def gap_line(events: int, *, leading: bool) -> str:
    """The marker a reader sees where events are missing; `leading` at the very beginning.

    Later ones are short because there may be many of them, and each costs what an event could.
    """
    if not leading:
        return f"[{events} left out]"
    return f"[... {events} earlier event{'' if events == 1 else 's'} left out ...]"


def gap_cost(events: int, count: Count, *, leading: bool) -> int:
    """Tokens of a gap marker and the end of its line."""
    return count(f"{gap_line(events, leading=leading)}\n")
