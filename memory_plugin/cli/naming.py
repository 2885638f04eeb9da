"""From what a person types to the id it means: of somebody, or of a place."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from memory_plugin.cli.running import UsageError
from memory_plugin.engine import Memory
from memory_plugin.parts import Selection
from memory_plugin.types import Place

_SHOWN = 8


def everything(agent: str | None) -> Selection:
    """A selection of all events, of one agent or of all."""
    # The store asks for at least one field; without an agent, all of time is meant.
    return Selection(agent_id=agent, since=None if agent else datetime.min.replace(tzinfo=UTC))


async def person_id(memory: Memory, agent: str | None, wanted: str | None) -> str | None:
    """The entity id `wanted` names; raises `UsageError` listing whom it could mean."""
    if wanted is None:
        return None
    for one in await _agents(memory, agent):
        # An id needs no search, which on a large memory takes seconds.
        if await memory.history(one, entity_id=wanted, limit=1):
            return wanted
    numbers = await memory.statistics(agent)
    busiest = [(one, name) for one, name, _ in numbers.by_author]
    complete = len(busiest) == numbers.authors
    return await _resolved(memory, agent, wanted, "person", busiest, complete=complete)


async def place_key(memory: Memory, agent: str | None, wanted: str | None) -> str | None:
    """The place key `wanted` names; raises `UsageError` listing which it could mean."""
    if wanted is None:
        return None
    for one in await _agents(memory, agent):
        if await memory.history(one, wanted, limit=1):
            return wanted
    numbers = await memory.statistics(agent)
    busiest = [(key, name) for key, name, _ in numbers.by_place]
    complete = len(busiest) == numbers.places
    return await _resolved(memory, agent, wanted, "place", busiest, complete=complete)


async def _agents(memory: Memory, agent: str | None) -> list[str]:
    return await memory.agents() if agent is None else [agent]


async def place_of(memory: Memory, agent: str, wanted: str) -> Place:
    """The place itself, as it was when the agent last perceived something there."""
    key = await place_key(memory, agent, wanted)
    newest = await memory.history(agent, key, limit=1)
    if not newest:
        raise UsageError(f"{agent!r} remembers nothing of the place {wanted!r}")
    return newest[0].place


async def _resolved(
    memory: Memory,
    agent: str | None,
    wanted: str,
    kind: str,
    busiest: list[tuple[str, str]],
    *,
    complete: bool,
) -> str:
    folded = wanted.casefold().lstrip("#@")
    # The busiest prove that a name is unique only if they are everybody.
    same = _called(folded, busiest) if complete else set()
    if len(same) == 1:
        return same.pop()
    everyone = await _everyone(memory, agent, kind)
    # Names of today count before names that somebody once had.
    same = _called(folded, dict(everyone).items()) or _called(folded, everyone)
    if not same:
        same = {one for one, _ in everyone if _last_part(one, kind).casefold() == folded}
    if len(same) == 1:
        return same.pop()
    named = dict(everyone)
    if same:
        found = sorted(same)
        raise UsageError(f"{len(same)} a {kind} could be {wanted!r}: {_shown(found, named)}")
    near = sorted({one for one, name in everyone if folded in name.casefold() or folded in one})
    candidates = near or [one for one, _ in busiest]
    raise UsageError(f"no {kind} {wanted!r} here; there is {_shown(candidates, named)}")


def _called(folded: str, named: Iterable[tuple[str, str]]) -> set[str]:
    return {one for one, name in named if name.casefold().lstrip("#@") == folded}


def _last_part(one: str, kind: str) -> str:
    return one.rsplit("/" if kind == "place" else ":", 1)[-1]


def _shown(ids: list[str], named: dict[str, str]) -> str:
    if not ids:
        return "none"
    shown = [f"{named.get(one) or '?'} ({one})" for one in ids[:_SHOWN]]
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(shown) + more


async def _everyone(memory: Memory, agent: str | None, kind: str) -> list[tuple[str, str]]:
    """Every id with every name it ever had, in the order in which they were last used."""
    found: dict[tuple[str, str], None] = {}
    after = 0
    while True:
        events, after = await memory.export(everything(agent), after)
        if not events:
            return list(found)
        for event in events:
            one = (event.source.entity_id, event.source.entity_name)
            if kind == "place":
                one = (event.place.key, event.place.name)
            found.pop(one, None)
            found[one] = None
