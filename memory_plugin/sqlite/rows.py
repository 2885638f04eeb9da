"""A perception event as a row and back, without loss."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memory_plugin.codec import time_from_text
from memory_plugin.sqlite.interned import place_of
from memory_plugin.types import (
    EPOCH,
    EventType,
    PerceptionEvent,
    Place,
    Source,
    SourceType,
    checked_time,
)

DEFAULT_IMPORTANCE = 5
# Written into the file: a number is never given another meaning.
EVENT_TYPE_NUMBERS: Final[Mapping[EventType, int]] = {
    "external": 0,
    "self_action": 1,
    "self_speech": 2,
    "tool_result": 3,
    "tick": 4,
}
SOURCE_TYPE_NUMBERS: Final[Mapping[SourceType, int]] = {
    "say": 0,
    "pose": 1,
    "page": 2,
    "whisper": 3,
    "channel": 4,
    "system": 5,
}
_EVENT_TYPES = {number: name for name, number in EVENT_TYPE_NUMBERS.items()}
_SOURCE_TYPES = {number: name for name, number in SOURCE_TYPE_NUMBERS.items()}
_MICROSECOND = timedelta(microseconds=1)

# The columns `event_of` reads, for every query that answers events.
EVENT_COLUMNS = """
    e.seq, e.id, agent.id, e.external_id, place.value, author.id, entity.name, e.at,
    e.event_type, e.source_type, e.importance, e.requires_response, e.addressing, e.reply_to,
    e.content, e.narrative_text, e.metadata
    """
EVENT_JOINS = """
    join agent on agent.number = e.agent
    join place on place.number = e.place
    join entity on entity.number = e.entity
    join author on author.number = e.author
    """


def micros(at: datetime) -> int:
    """Whole microseconds since 1970 in UTC."""
    return (at - EPOCH) // _MICROSECOND


def time_of(number: int) -> datetime:
    """The time that `micros` counted."""
    return EPOCH + timedelta(microseconds=number)


def version_of(event: PerceptionEvent) -> int:
    """When the text was last changed: ``metadata["edited_at"]``, or else the event's own time.

    Raises `ValidationError` for an ``edited_at`` that is no ISO 8601 time.
    """
    edited_at = event.metadata.get("edited_at")
    if edited_at is None:
        return micros(event.timestamp)
    return micros(time_from_text("metadata.edited_at", edited_at))


def edited_metadata(text: str | None, edited_at: datetime) -> str:
    """Stored metadata with the time of the newest edit in it, so that an export keeps it."""
    metadata = metadata_of(text)
    metadata["edited_at"] = checked_time("edited_at", edited_at).astimezone(UTC).isoformat()
    return metadata_text(metadata) or ""


def metadata_text(metadata: Mapping[str, Any]) -> str | None:
    """Metadata as it is stored: JSON, or None for an empty object."""
    if not metadata:
        return None
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


def metadata_of(text: str | None) -> dict[str, Any]:
    """The metadata that `metadata_text` wrote."""
    loaded: dict[str, Any] = json.loads(text) if text else {}
    return loaded


def event_of(row: Sequence[Any], places: dict[str, Place] | None = None) -> PerceptionEvent:
    """The event of a row of `EVENT_COLUMNS`; `places` remembers places between rows."""
    text = row[4]
    place = places.get(text) if places is not None else None
    if place is None:
        place = place_of(text)
        if places is not None:
            places[text] = place
    return PerceptionEvent(
        id=row[1],
        agent_id=row[2],
        external_id=row[3],
        place=place,
        source=Source(entity_id=row[5], entity_name=row[6], source_type=_SOURCE_TYPES[row[9]]),
        timestamp=time_of(row[7]),
        event_type=_EVENT_TYPES[row[8]],
        importance=row[10],
        requires_response=bool(row[11]),
        addressing=row[12],
        reply_to=row[13],
        content=row[14],
        narrative_text=row[15],
        metadata=metadata_of(row[16]),
    )


def events_of(rows: Iterable[Sequence[Any]]) -> list[PerceptionEvent]:
    """The events of rows of `EVENT_COLUMNS`, in their order."""
    places: dict[str, Place] = {}
    return [event_of(row, places) for row in rows]


def tombstone_keys(agent_id: str, external_id: str | None, event_id: str | None) -> list[bytes]:
    """What refuses an event from now on: digests, so that a tombstone names nobody."""
    keys = []
    if external_id is not None:
        keys.append(_digest("external", agent_id, external_id))
    if event_id is not None:
        keys.append(_digest("id", event_id))
    return keys


def _digest(*parts: str) -> bytes:
    # Ids hold no control characters, so this cannot be read in two ways.
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).digest()


def by_number(connection: sqlite3.Connection, seqs: Sequence[int]) -> dict[int, Sequence[Any]]:
    """Rows of `EVENT_COLUMNS` of those `seqs` that are there."""
    found: dict[int, Sequence[Any]] = {}
    for start in range(0, len(seqs), 500):
        some = seqs[start : start + 500]
        marks = ",".join("?" * len(some))
        sql = f"select {EVENT_COLUMNS} from event e {EVENT_JOINS} where e.seq in ({marks})"  # noqa: S608
        found |= {row[0]: row for row in connection.execute(sql, some)}
    return found
