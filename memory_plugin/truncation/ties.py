"""What belongs together in a window: a tool call and its result, a reply and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_plugin.types import PerceptionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """How the events of one sequence hang together, by their positions in it.

    `units` are the smallest things that can be kept: single events, or a tool call with all its
    results. `unit_of` gives the unit number of each event. `parents` maps a reply to what it
    answers, where that is in the sequence too and not in the same unit. `unanswered` is the newest
    event that still requires a response.
    """

    units: tuple[tuple[int, ...], ...]
    unit_of: tuple[int, ...]
    parents: Mapping[int, int]
    unanswered: int | None


def find_ties(events: Sequence[PerceptionEvent]) -> Ties:
    """The ties between events, oldest first.

    A `tool_result` belongs to the newest `self_action` before it with the same
    ``metadata["tool_call_id"]``, or to the `self_action` that its `reply_to` names. (Some models
    number their calls anew in every turn, so an id alone names no call.) A result that stands
    before its call, because clocks differ, belongs to the next one.
    """
    named = _names(events)
    calls = _calls_of(events, named)
    members: dict[int, list[int]] = {}
    for position in range(len(events)):
        members.setdefault(calls.get(position, position), []).append(position)
    units = sorted(tuple(unit) for unit in members.values())
    unit_of = [0] * len(events)
    for number, unit in enumerate(units):
        for position in unit:
            unit_of[position] = number
    parents = {}
    for position, event in enumerate(events):
        parent = named.get(event.reply_to) if event.reply_to is not None else None
        if parent is not None and unit_of[parent] != unit_of[position]:
            parents[position] = parent
    return Ties(
        units=tuple(units),
        unit_of=tuple(unit_of),
        parents=parents,
        unanswered=newest_unanswered(events),
    )


def _names(events: Sequence[PerceptionEvent]) -> dict[str, int]:
    """Positions by every name that a `reply_to` may use; the platform's own id goes first."""
    named = {event.id: position for position, event in enumerate(events)}
    for position, event in enumerate(events):
        if event.external_id is not None:
            named[event.external_id] = position
    return named


def _calls_of(events: Sequence[PerceptionEvent], named: Mapping[str, int]) -> dict[int, int]:
    """The position of its call for each tool result that has one."""
    calls: dict[int, int] = {}
    newest: dict[str, int] = {}
    early: dict[str, list[int]] = {}
    for position, event in enumerate(events):
        call_id = event.metadata.get("tool_call_id")
        if event.event_type == "self_action" and isinstance(call_id, str):
            newest[call_id] = position
            for result in early.pop(call_id, ()):
                calls[result] = position
        elif event.event_type == "tool_result":
            parent = named.get(event.reply_to) if event.reply_to is not None else None
            if parent is not None and events[parent].event_type == "self_action":
                calls[position] = parent
            elif isinstance(call_id, str) and call_id in newest:
                calls[position] = newest[call_id]
            elif isinstance(call_id, str):
                early.setdefault(call_id, []).append(position)
    return calls


def newest_unanswered(events: Sequence[PerceptionEvent]) -> int | None:
    """Position of the newest event that requires a response and has none; None if all have.

    It is answered by anything the agent says or does later in reply to it, or by later speech of
    the agent that replies to nothing in particular and is not directed at somebody else.
    """
    replied: set[str] = set()
    spoken_to: set[str | None] = set()
    for position in range(len(events) - 1, -1, -1):
        event = events[position]
        if event.event_type in ("self_speech", "self_action"):
            if event.reply_to is not None:
                replied.add(event.reply_to)
            elif event.event_type == "self_speech":
                spoken_to.add(event.addressing)
        elif (
            event.requires_response
            and event.id not in replied
            and event.external_id not in replied
            and None not in spoken_to
            and event.source.entity_id not in spoken_to
        ):
            return position
    return None
