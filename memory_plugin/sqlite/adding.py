"""Events in: each with its text, its shelves and its place in the queue for vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Added
from memory_plugin.sqlite import changing, indexes
from memory_plugin.sqlite.changing import Known, Text
from memory_plugin.sqlite.indexes import OnShelves
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.rows import (
    DEFAULT_IMPORTANCE,
    EVENT_TYPE_NUMBERS,
    SOURCE_TYPE_NUMBERS,
    metadata_of,
    metadata_text,
    micros,
    tombstone_keys,
)
from memory_plugin.text import count_words
from memory_plugin.types import PerceptionEvent
from memory_plugin.visibility import shelves_of

_INSERT = """
    insert into event (
        revision, id, agent, external_id, spot, place, author, entity, at, version, edits,
        event_type, source_type, importance, requires_response, words, flags, shelves,
        addressing, reply_to, content, narrative_text, metadata
    )
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do nothing
    """


@dataclass(frozen=True, slots=True)
class Prepared:
    """An event and what can be made of it before the lock is held."""

    event: PerceptionEvent
    version: int
    shelves: tuple[str, ...]
    body: str
    words: int
    flags: int


def prepared(event: PerceptionEvent, version: int) -> Prepared:
    """An event made ready for `add`, with what `rows.version_of` says of it."""
    body = indexes.body(event.source.entity_name, event.content, event.narrative_text)
    return Prepared(
        event=event,
        version=version,
        shelves=shelves_of(event),
        body=body,
        words=count_words(event.content),
        flags=changing.flags_of(event.content),
    )


def add(writing: Writing, events: Sequence[Prepared]) -> list[Added]:
    """Store events; see `EventStore.add`."""
    connection = writing.connection
    keys = [
        tombstone_keys(one.event.agent_id, one.event.external_id, one.event.id) for one in events
    ]
    buried = _buried(connection, [key for some in keys for key in some])
    stored: list[tuple[int, OnShelves]] = []
    answers = []
    for one, some in zip(events, keys, strict=True):
        if buried.isdisjoint(some):
            answers.append(_add(writing, one, stored))
        else:
            answers.append(Added(id=None, status="refused"))
    indexes.put_shelves(connection, stored)
    connection.executemany(changing.QUEUE, [(seq,) for seq, _ in stored])
    return answers


def _buried(connection: sqlite3.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Those of `keys` that are refused."""
    buried: set[bytes] = set()
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        marks = ",".join("?" * len(some))
        sql = f"select key from tombstone where key in ({marks})"  # noqa: S608
        buried.update(row[0] for row in connection.execute(sql, some))
    return buried


def _add(writing: Writing, new: Prepared, stored: list[tuple[int, OnShelves]]) -> Added:
    """Add one event; if it is new, its number and its shelves are put into `stored`."""
    event, connection = new.event, writing.connection
    agent = writing.agent(event.agent_id)
    # Most events are new: to insert and see costs less than to look and then insert.
    inserted = _insert(writing, agent, new)
    if inserted is not None:
        stored.append(inserted)
        return Added(id=event.id, status="stored")
    known = None
    if event.external_id is not None:
        known = changing.by_external_id(connection, agent, event.external_id)
    if known is None:
        known = changing.by_id(connection, event.id)
        assert known is not None  # noqa: S101 - it was in the way
        _refuse_taken(known, agent, event)
    return _add_again(writing, known, new)


def _refuse_taken(known: Known, agent: int, event: PerceptionEvent) -> None:
    """An id names one event: nobody may replace another's text by using its id."""
    if known.agent != agent or (event.external_id and known.external_id):
        raise ValidationError("id", event.id, "is the id of another event; leave it empty")


def _insert(writing: Writing, agent: int, new: Prepared) -> tuple[int, OnShelves] | None:
    """Insert an event with its text; answers its number and shelves, None if it is there."""
    event, connection = new.event, writing.connection
    spot, place = writing.place(event.place)
    author, entity = writing.source(event.source)
    on = writing.shelves(new.shelves)
    values = (
        writing.revision(),
        event.id,
        agent,
        event.external_id,
        spot,
        place,
        author,
        entity,
        micros(event.timestamp),
        new.version,
        EVENT_TYPE_NUMBERS[event.event_type],
        SOURCE_TYPE_NUMBERS[event.source.source_type],
        DEFAULT_IMPORTANCE if event.importance is None else event.importance,
        event.requires_response,
        new.words,
        new.flags,
        str(on),
        event.addressing,
        event.reply_to,
        event.content,
        event.narrative_text,
        metadata_text(event.metadata),
    )
    inserted = connection.execute(_INSERT, values)
    if not inserted.rowcount:
        return None
    seq = inserted.lastrowid or 0
    indexes.put_text(connection, seq, new.body, on)
    return seq, on


def _add_again(writing: Writing, known: Known, new: Prepared) -> Added:
    event = new.event
    if new.version < known.version:
        return Added(id=known.id, status="known")
    if (event.content, event.narrative_text) == (known.content, known.narrative_text):
        # An edit that led back to this text outdates what came in between.
        if new.version > known.version:
            changing.set_version(writing, known, new.version)
        return Added(id=known.id, status="known")
    metadata = metadata_text({**metadata_of(known.metadata), **event.metadata})
    text = Text(event.content, event.narrative_text, metadata)
    changing.replace(writing, known, new.version, text)
    return Added(id=known.id, status="edited")
