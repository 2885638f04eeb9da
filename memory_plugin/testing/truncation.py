"""What every truncation algorithm must hold, for whoever writes one.

Subclass `TruncationContract` in a test file and give it your algorithm:

    class TestMine(TruncationContract):
        @pytest.fixture
        def algorithm(self):
            return MyTruncation()

or call `violations` with a view of your own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_plugin.text import estimate_tokens
from memory_plugin.truncation import (
    Budget,
    Count,
    Ties,
    Truncated,
    Truncation,
    event_cost,
    find_ties,
    gap_cost,
)
from memory_plugin.types import EVENT_TYPES, EventType, PerceptionEvent, Place, Source

_START = datetime(2024, 1, 1, tzinfo=UTC)
_ROOM = Place(platform="test", space="world", channel="room", visibility="public")
_KINDS: tuple[EventType, ...] = ("external", "external", "external", *EVENT_TYPES)
STREAMS = 300


def random_stream(dice: random.Random, most: int = 30) -> list[PerceptionEvent]:
    """A window as one could be met: chatter, replies, tool calls with results, open questions."""
    events: list[PerceptionEvent] = []
    at = _START
    for number in range(dice.randint(0, most)):
        at += timedelta(seconds=dice.choice((0, 1, 30, 4000, 90_000)))
        events.append(_random_event(dice, number, at, events))
    return events


def _random_event(
    dice: random.Random, number: int, at: datetime, before: Sequence[PerceptionEvent]
) -> PerceptionEvent:
    kind = dice.choice(_KINDS)
    name = "npc" if kind not in ("external", "tick") else dice.choice(("ann", "bob", "cyd"))
    reply_to = None
    if before and dice.random() < 0.3:
        parent = dice.choice(before)
        reply_to = parent.external_id or parent.id
    calls = {"tool_call_id": f"call-{dice.randint(0, 3)}"} if dice.random() < 0.7 else {}
    return PerceptionEvent(
        agent_id="npc",
        id=f"e{number:03}",
        place=_ROOM,
        source=Source(entity_id=f"test:{name}", entity_name=name.title()),
        content="word " * dice.choice((0, 1, 3, 10, 60)),
        timestamp=at,
        event_type=kind,
        importance=dice.choice((None, 1, 3, 5, 9, 10)),
        requires_response=kind == "external" and dice.random() < 0.2,
        addressing=dice.choice((None, None, "test:npc", "test:ann")),
        external_id=f"x{number}" if dice.random() < 0.5 else None,
        reply_to=reply_to,
        metadata=calls if kind in ("self_action", "tool_result") else {},
    )


def random_budget(dice: random.Random) -> Budget:
    """A budget from nothing to more than enough, by events, by tokens, or both."""
    events = dice.choice((None, None, 0, 1, 2, 5, 10, 40))
    tokens = dice.choice((None, 0, 12, 30, 50, 80, 120, 200, 400, 1000))
    return Budget(events=events, tokens=tokens)


def cost_of(view: Truncated, count: Count) -> int:
    """Tokens of the kept events' lines and the gap markers."""
    lines = sum(event_cost(event, count) for event in view.kept)
    return lines + sum(gap_cost(gap.events, count, leading=gap.after is None) for gap in view.gaps)


def _fits(view: Truncated, budget: Budget, count: Count) -> bool:
    return (budget.events is None or len(view.kept) <= budget.events) and (
        budget.tokens is None or cost_of(view, count) <= budget.tokens
    )


def violations(
    events: Sequence[PerceptionEvent], budget: Budget, count: Count, view: Truncated
) -> list[str]:
    """What is wrong with `view` as a truncation of `events` (ids all different), in sentences."""
    found = list(_wrong_shape(events, budget, count, view))
    if found:
        return found
    at = {event.id: position for position, event in enumerate(events)}
    kept = {at[event.id] for event in view.kept}
    ties = find_ties(events)

    def would_fit(more: Sequence[int]) -> bool:
        return _fits(Truncated.of(events, kept | set(more)), budget, count)

    if view.overflow:
        return list(_wrong_overflow(events, budget, count, ties))
    found += _torn(ties, kept)
    if ties.unanswered is not None and ties.unanswered not in kept:
        found.append(f"{events[ties.unanswered].id} awaits an answer and is not kept")
    for reply, parent in sorted(ties.parents.items()):
        if reply in kept and parent not in kept and would_fit(ties.units[ties.unit_of[parent]]):
            found.append(f"{events[reply].id} is kept without {events[parent].id}, which fits")
    if not kept and events:
        newest = ties.units[ties.unit_of[-1]]
        if would_fit(newest):
            found.append("nothing is kept although the newest event fits")
    if would_fit(range(len(events))) and len(kept) < len(events):
        found.append("events are left out although everything fits")
    return found


def _wrong_shape(
    events: Sequence[PerceptionEvent], budget: Budget, count: Count, view: Truncated
) -> Iterator[str]:
    """Order, completeness, gaps and budget."""
    kept = [event.id for event in view.kept]
    dropped = [event.id for event in view.dropped]
    every = [event.id for event in events]
    if kept != [one for one in every if one in set(kept)]:
        yield "the kept events are not in the order they came in"
    if dropped != [one for one in every if one not in set(kept)]:
        yield "the dropped events are not exactly the others, oldest first"
    if set(view.why) != set(every):
        yield "`why` does not name every event"
    if budget.events is not None and len(kept) > budget.events:
        yield f"{len(kept)} events are kept, {budget.events} are allowed"
    if budget.tokens is not None and cost_of(view, count) > budget.tokens:
        yield f"the view costs {cost_of(view, count)} tokens, {budget.tokens} are allowed"
    original = {event.id: event for event in events}
    if not view.overflow and any(original.get(event.id) != event for event in view.kept):
        yield "a kept event was changed"
    if kept or not view.overflow:
        places = [position for position, one in enumerate(every) if one in set(kept)]
        if list(view.gaps) != list(Truncated.of(events, places).gaps):
            yield "the gaps are not where events were left out"


def _wrong_overflow(
    events: Sequence[PerceptionEvent], budget: Budget, count: Count, ties: Ties
) -> Iterator[str]:
    needed = () if ties.unanswered is None else ties.units[ties.unit_of[ties.unanswered]]
    if _fits(Truncated.of(events, needed), budget, count):
        yield "it says overflow although what must be there fits"


def _torn(ties: Ties, kept: set[int]) -> Iterator[str]:
    for unit in ties.units:
        inside = [position for position in unit if position in kept]
        if inside and len(inside) < len(unit):
            yield f"a tool call and its results were torn apart: {inside} of {list(unit)}"


class TruncationContract:
    """Inherit this, give it the fixture `algorithm`, and run it."""

    @pytest.fixture
    def algorithm(self) -> Truncation:
        """The algorithm to be tested."""
        raise NotImplementedError("override the fixture `algorithm`")

    def test_is_a_truncation(self, algorithm: Truncation) -> None:
        assert isinstance(algorithm, Truncation)

    def test_holds_every_rule_on_random_streams(self, algorithm: Truncation) -> None:
        for seed in range(STREAMS):
            dice = random.Random(seed)  # noqa: S311 - streams, not secrets
            events, budget = random_stream(dice), random_budget(dice)

            view = algorithm.truncate(events, budget, estimate_tokens)

            assert violations(events, budget, estimate_tokens, view) == [], f"seed {seed}"

    def test_gives_the_same_view_every_time(self, algorithm: Truncation) -> None:
        for seed in range(20):
            dice = random.Random(seed)  # noqa: S311 - as above
            events, budget = random_stream(dice), random_budget(dice)

            views = [algorithm.truncate(list(events), budget, estimate_tokens) for _ in range(2)]

            assert views[0] == views[1]

    def test_answers_an_empty_window_with_an_empty_view(self, algorithm: Truncation) -> None:
        view = algorithm.truncate([], Budget(events=3, tokens=10), estimate_tokens)

        assert (view.kept, view.dropped, view.gaps, view.overflow) == ((), (), (), False)

    def test_leaves_what_it_was_given_alone(self, algorithm: Truncation) -> None:
        events = random_stream(random.Random(7))  # noqa: S311 - as above
        before = [replace(event) for event in events]

        algorithm.truncate(events, Budget(events=2), estimate_tokens)

        assert events == before

    def test_works_with_any_way_to_count(self, algorithm: Truncation) -> None:
        def words(text: str) -> int:
            return len(text.split())

        for seed in range(50):
            dice = random.Random(seed)  # noqa: S311 - as above
            events, budget = random_stream(dice), random_budget(dice)

            view = algorithm.truncate(events, budget, words)

            assert violations(events, budget, words, view) == [], f"seed {seed}"
