"""A memory in a temporary file, with an embedder that needs no model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory_plugin.embedding import HashingEmbedder
from memory_plugin.engine import Memory
from memory_plugin.hookspecs import hookimpl
from memory_plugin.settings import Settings
from memory_plugin.types import PerceptionEvent, Place, Source

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROOM = Place(platform="mud", space="game", channel="#2", name="Inn", visibility="public")


class Hashed:
    """A plugin that opens the embedder for tests."""

    @hookimpl
    def open_embedder(self):
        return HashingEmbedder(dim=64)


def said(content: str, by: str = "bob", minutes: float = 0, place: Place = ROOM, **more):
    """`by` said something `minutes` after noon."""
    values = {
        "agent_id": "npc",
        "place": place,
        "source": Source(entity_id=f"mud:object:{by}", entity_name=by.title()),
        "content": content,
        "timestamp": NOON + timedelta(minutes=minutes),
    }
    return PerceptionEvent(**(values | more))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def open_memory(path):
    """Opens the memory of this test; may be called again for a restart."""

    async def opened(*plugins: object, **changes) -> Memory:
        return await Memory.open(
            Settings(path=path, **changes),
            plugins=(*plugins, Hashed()),
            clock=lambda: NOON + timedelta(days=1),
        )

    return opened


@pytest.fixture
async def memory(open_memory):
    async with await open_memory() as opened:
        yield opened
