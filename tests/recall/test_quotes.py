"""A text that was said word for word is found first."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory_plugin.engine import Memory
from memory_plugin.settings import Settings
from memory_plugin.types import PerceptionEvent, Place, Scope, Source

ROOM = Place(platform="mud", space="game", channel="#2", visibility="public")
LINES = [
    "I like olives",
    "I like olives but only the green olives from the market by the river",
    "somebody fixed the printer",
    "somebody fixed the printer and the scanner in the office upstairs yesterday",
    "olives",
]


@pytest.mark.parametrize("quote", [LINES[0], LINES[2], "SOMEBODY fixed the printer!"])
async def test_an_exact_quote_comes_first(tmp_path, quote):
    async with await Memory.open(Settings(path=tmp_path / "m.db", model="none")) as memory:
        for number, line in enumerate(LINES):
            await memory.perceive(
                PerceptionEvent(
                    agent_id="npc",
                    place=ROOM,
                    source=Source(entity_id="mud:object:#5", entity_name="Bob"),
                    content=line,
                    timestamp=datetime(2024, 5, 1, 12, number, tzinfo=UTC),
                )
            )

        hits = await memory.recall(quote, Scope(agent_id="npc", place=ROOM))

    assert hits[0].event.content.lower() == quote.lower().rstrip("!")
