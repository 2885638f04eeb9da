"""Who may see what: the one rule, as two small functions over the same words.

Every event stands on a few *shelves* (`shelves_of`); a reader at a place may look at a few
shelves (`shelves_for`). An event is visible where the two meet. Both sides are whole texts that
are compared whole, so no id can widen a search. A store keeps the shelves beside the event and
looks only at those it is given.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from memory_plugin.types import PerceptionEvent, Place, Scope


def _shelf(kind: str, *parts: str) -> str:
    return "|".join((kind, *(part.replace("%", "%25").replace("|", "%7C") for part in parts)))


def _agent(agent_id: str) -> str:
    return _shelf("agent", agent_id)


def _place(agent_id: str, place: Place) -> str:
    # The participants are frozen into the name: who joins later was not there.
    return _shelf("place", agent_id, place.key, *place.participants)


def _open(agent_id: str, place: Place) -> str:
    # Not the shelf of the same place while it was restricted: opening a door shows nothing of
    # what was said behind it.
    return _shelf("open", agent_id, place.key)


def _space(agent_id: str, platform: str, space: str) -> str:
    return _shelf("space", agent_id, platform, space)


def _with(agent_id: str, entity_id: str) -> str:
    return _shelf("with", agent_id, entity_id)


def _person(agent_id: str, entity_id: str) -> str:
    return _shelf("person", agent_id, entity_id)


def shelves_of(event: PerceptionEvent) -> tuple[str, ...]:
    """The shelves an event stands on, fixed at the moment it was perceived.

    Only those that `shelves_for` may ask for: each costs room in every index.
    """
    return _shelves(event.agent_id, event.place, event.source.entity_id)


# The same people speak at the same places again and again.
@lru_cache(4096)
def _shelves(agent: str, place: Place, entity_id: str) -> tuple[str, ...]:
    if place.visibility == "public":
        here = (
            _open(agent, place)
            if place.space is None
            else _space(agent, place.platform, place.space)
        )
        return _agent(agent), here, _person(agent, entity_id)
    if place.visibility == "direct" and len(place.participants) == 1:
        return _agent(agent), _with(agent, place.participants[0])
    return _agent(agent), _place(agent, place)


def is_person(shelf: str) -> bool:
    """Whether a shelf holds one person's public lines.

    It is asked for only while that person is followed, so a store may leave it out of its index
    of words and look through the agent's instead.
    """
    return shelf.startswith("person|")


def agent_shelf(agent_id: str) -> str:
    """The shelf on which every event of an agent stands."""
    return _agent(agent_id)


def shelves_for(scope: Scope, followed: Collection[str] = ()) -> tuple[str, ...]:
    """The shelves whose events everyone present at `scope.place` could have perceived.

    The same place; the public places of the same space; from a direct place to another with the
    same single participant; and, across spaces, the public lines of those present who asked to be
    remembered everywhere (`followed`, entity ids). What is direct or restricted goes nowhere else.
    """
    agent, place = scope.agent_id, scope.place
    if place is None:
        return (_agent(agent),) if scope.everything else ()
    present = {*place.participants, *scope.audience}
    shelves: list[str] = []
    if place.space is not None:
        shelves.append(_space(agent, place.platform, place.space))
    elif place.visibility != "direct":
        # What was public at this very place stays visible when it becomes restricted.
        shelves.append(_open(agent, place))
    closed = place.visibility != "public"
    if closed and (not place.participants or present <= set(place.participants)):
        alone = place.visibility == "direct" and len(place.participants) == 1
        shelves.append(_with(agent, place.participants[0]) if alone else _place(agent, place))
    shelves += [_person(agent, one) for one in sorted(present & set(followed))]
    return tuple(shelves)
