"""Small worlds for tests: events, places and a store that is closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from memory_plugin.parts import Candidates, Store, Vectors
from memory_plugin.types import PerceptionEvent, Place, Scope, Source

Opener = Callable[[], Awaitable[Store]]
START = datetime(2026, 3, 2, 12, tzinfo=UTC)
BOT = "discord:bot:1"
ANN, BEN = "discord:user:1", "discord:user:2"
INN = Place(platform="discord", space="town", channel="inn", name="The Inn", visibility="public")
MILL = Place(platform="discord", space="town", channel="mill", name="Mill", visibility="public")
CELLAR = Place(
    platform="discord",
    space="town",
    channel="cellar",
    name="Cellar",
    visibility="restricted",
    participants=(ANN, BEN),
)
FAR = Place(platform="discord", space="city", channel="gate", name="Gate", visibility="public")
ANNS_DOOR = Place(platform="discord", channel="dm-1", visibility="direct", participants=(ANN,))
BENS_DOOR = Place(platform="discord", channel="dm-2", visibility="direct", participants=(BEN,))


def at(minutes: float) -> datetime:
    """A time, so many minutes after the start of the world."""
    return START + timedelta(minutes=minutes)


def an_event(content: str = "bread", minutes: float = 0, **changes: Any) -> PerceptionEvent:
    """An event at the inn; `who` and `name` are short for its source."""
    who = changes.pop("who", ANN)
    name = changes.pop("name", "Person" + who.rpartition(":")[2])
    given: dict[str, Any] = {
        "agent_id": BOT,
        "place": INN,
        "source": Source(entity_id=who, entity_name=name),
        "content": content,
        "timestamp": at(minutes),
        **changes,
    }
    return PerceptionEvent(**given)


def seen_from(place: Place = INN, **narrower: Any) -> Scope:
    """What the bot may show at a place."""
    return Scope(agent_id=BOT, place=place, **narrower)


def everything(**narrower: Any) -> Scope:
    """All that the bot remembers."""
    return Scope(agent_id=BOT, everything=True, **narrower)


def axis(index: int, dim: int = 4) -> Vectors:
    """The unit vector along one axis."""
    vector: Vectors = np.eye(dim, dtype=np.float32)[index]
    return vector


async def contents(store: Store, found: Candidates, *, eligible: bool = True) -> set[str]:
    """What was said in the eligible (or all) rows."""
    seqs = found.seq[found.eligible] if eligible else found.seq
    return {event.content for event in await store.fetch(seqs.tolist())}


async def holding(store: Store, term: str, scope: Scope | None = None) -> set[str]:
    """What was said in the rows that hold a term."""
    found = await store.search(scope or seen_from(), [term], None)
    (match,) = found.terms
    assert match.term == term
    events = await store.fetch(found.seq[match.rows].tolist())
    return {event.content for event in events}


class World:
    """The fixtures of every suite; a subclass gives `open_store`."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def open_store(self) -> Opener:
        """An async function without arguments that opens the store under test."""
        raise NotImplementedError("give the contract a fixture open_store")

    @pytest_asyncio.fixture
    async def store(self, open_store: Opener) -> AsyncIterator[Store]:
        """A store that is closed after the test."""
        opened = await open_store()
        try:
            yield opened
        finally:
            await opened.close()
