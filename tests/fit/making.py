"""Short ways to make events for these tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory_plugin.types import PerceptionEvent, Place, Source

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROOM = Place(platform="mud", space="game", channel="#2", name="Inn", visibility="public")


def source(name: str, **more) -> Source:
    return Source(**({"entity_id": f"mud:object:{name}", "entity_name": name.title()} | more))


def said(content: str, by: str = "bob", minutes: float = 0, **more) -> PerceptionEvent:
    """`by` said something `minutes` after noon."""
    values = {
        "agent_id": "npc",
        "place": ROOM,
        "source": source(by),
        "content": content,
        "timestamp": NOON + timedelta(minutes=minutes),
    }
    return PerceptionEvent(**(values | more))


def own(content: str, minutes: float = 0, **more) -> PerceptionEvent:
    """The agent spoke (or acted, by `event_type`)."""
    return said(content, by="npc", minutes=minutes, **({"event_type": "self_speech"} | more))
