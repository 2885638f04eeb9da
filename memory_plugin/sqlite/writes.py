"""Events in: added, edited, deleted, each with its text, its shelves and its place in the queue.

Every function runs inside a write transaction (see `lanes.WriteLane`) and is all or nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Added
from memory_plugin.sqlite import indexes
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.rows import (
    DEFAULT_IMPORTANCE,
    EVENT_TYPE_NUMBERS,
    SOURCE_TYPE_NUMBERS,
    edited_metadata,
    metadata_of,
    metadata_text,
    micros,
    tombstone_keys,
)
from memory_plugin.text import count_words, is_dated, is_question
from memory_plugin.types import PerceptionEvent
from memory_plugin.visibility import shelves_of

QUESTION, DATED = 1, 2
_INSERT = """
    insert into event (
        revision, id, agent, external_id, spot, place, author, entity, at, version, edits,
        event_type, source_type, importance, requires_response, words, flags, shelves,
        addressing, reply_to, content, narrative_text, metadata
    )
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do nothing
    """
_KNOWN_COLUMNS = """
    e.seq, e.id, e.version, e.edits, e.content, e.narrative_text, e.metadata, e.shelves,
    entity.name, e.agent, e.spot, e.external_id
    from event e
    join entity on entity.number = e.entity
    """
_BY_EXTERNAL = f"select {_KNOWN_COLUMNS} where e.agent = ? and e.external_id = ?"
_BY_ID = f"select {_KNOWN_COLUMNS} where e.id = ?"
_BY_SEQ = f"select {_KNOWN_COLUMNS} where e.seq = ?"
_QUEUE = "insert or ignore into unembedded (seq) values (?)"
_SET_VERSION = "update event set version = ? where seq = ?"
_REPLACE = """
    update event
    set revision = ?, version = ?, edits = edits + 1, content = ?, narrative_text = ?,
        metadata = ?, words = ?, flags = ?
    where seq = ?
    """
_SET_IMPORTANCE = "update event set importance = ?, revision = ? where id = ? and importance <> ?"
_BURY = "insert or ignore into tombstone (key) values (?)"
_NOTE_GONE = "insert into gone (seq, revision, agent, spot) values (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Known:
    """What must be known of a stored event in order to change it."""

    seq: int
    id: str
    version: int
    edits: int
    content: str
    narrative_text: str | None
    metadata: str | None
    shelves: str
    name: str
    agent: int
    spot: int
    external_id: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """An event and what can be made of it before the lock is held."""

    event: PerceptionEvent
    version: int
    shelves: tuple[str, ...]
    body: str
    words: int
    flags: int


@dataclass(frozen=True, slots=True)
class _Text:
    """What an edit replaces."""

    content: str
    narrative_text: str | None
    metadata: str | None


def prepared(event: PerceptionEvent, version: int) -> Prepared:
    """An event made ready for `add`, with what `rows.version_of` says of it."""
    body = indexes.body(event.source.entity_name, event.content, event.narrative_text)
    return Prepared(
        event=event,
        version=version,
        shelves=shelves_of(event),
        body=body,
        words=count_words(event.content),
        flags=flags_of(event.content),
    )


def flags_of(content: str) -> int:
    """Whether a text is a question and whether it holds a time expression, as one number."""
    return QUESTION * is_question(content) + DATED * is_dated(content)


def add(writing: Writing, events: Sequence[Prepared]) -> list[Added]:
    """Store events; see `EventStore.add`."""
    connection = writing.connection
    keys = [
        tombstone_keys(one.event.agent_id, one.event.external_id, one.event.id) for one in events
    ]
    buried = _buried(connection, [key for some in keys for key in some])
    stored: list[tuple[int, list[int]]] = []
    answers = []
    for one, some in zip(events, keys, strict=True):
        if buried.isdisjoint(some):
            answers.append(_add(writing, one, stored))
        else:
            answers.append(Added(id=None, status="refused"))
    indexes.put_shelves(connection, stored)
    connection.executemany(_QUEUE, [(seq,) for seq, _ in stored])
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


def _add(writing: Writing, new: Prepared, stored: list[tuple[int, list[int]]]) -> Added:
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
        known = _known(connection.execute(_BY_EXTERNAL, (agent, event.external_id)))
    if known is None:
        known = _known(connection.execute(_BY_ID, (event.id,)))
        assert known is not None  # noqa: S101 - it was in the way
        _refuse_taken(known, agent, event)
    return _add_again(writing, known, new)


def _refuse_taken(known: Known, agent: int, event: PerceptionEvent) -> None:
    """An id names one event: nobody may replace another's text by using its id."""
    if known.agent != agent or (event.external_id and known.external_id):
        raise ValidationError("id", event.id, "is the id of another event; leave it empty")


def _insert(writing: Writing, agent: int, new: Prepared) -> tuple[int, list[int]] | None:
    """Insert an event with its text; answers its number and shelves, None if it is there."""
    event, connection = new.event, writing.connection
    spot, place = writing.place(event.place)
    author, entity = writing.source(event.source)
    shelves = [writing.shelf(name) for name in new.shelves]
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
        indexes.shelves_text(shelves),
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
    indexes.put_text(connection, seq, new.body, shelves)
    return seq, shelves


def _add_again(writing: Writing, known: Known, new: Prepared) -> Added:
    event = new.event
    if new.version < known.version:
        return Added(id=known.id, status="known")
    if (event.content, event.narrative_text) == (known.content, known.narrative_text):
        # An edit that led back to this text outdates what came in between.
        if new.version > known.version:
            writing.connection.execute(_SET_VERSION, (new.version, known.seq))
        return Added(id=known.id, status="known")
    metadata = metadata_text({**metadata_of(known.metadata), **event.metadata})
    text = _Text(event.content, event.narrative_text, metadata)
    _replace(writing, known, new.version, text)
    return Added(id=known.id, status="edited")


def edit(
    writing: Writing,
    agent_id: str,
    external_id: str,
    *,
    content: str,
    at: datetime,
    narrative_text: str | None,
) -> bool:
    """Replace an event's text; see `EventStore.edit`."""
    agent = writing.agent(agent_id)
    known = _known(writing.connection.execute(_BY_EXTERNAL, (agent, external_id)))
    version = micros(at)
    if known is None or version < known.version:
        return False
    text = _Text(content, narrative_text, edited_metadata(known.metadata, at))
    _replace(writing, known, version, text)
    return True


def _replace(writing: Writing, known: Known, version: int, text: _Text) -> None:
    connection = writing.connection
    _drop_text(connection, known)
    shelves = indexes.shelf_numbers(known.shelves)
    body = indexes.body(known.name, text.content, text.narrative_text)
    indexes.put_text(connection, known.seq, body, shelves)
    connection.execute(
        _REPLACE,
        (
            writing.revision(),
            version,
            text.content,
            text.narrative_text,
            text.metadata,
            count_words(text.content),
            flags_of(text.content),
            known.seq,
        ),
    )
    connection.execute(_QUEUE, (known.seq,))


def set_importance(writing: Writing, event_id: str, importance: int) -> bool:
    """Mend the importance of one event; False when it is not there."""
    connection = writing.connection
    if connection.execute("select 1 from event where id = ?", (event_id,)).fetchone() is None:
        return False
    connection.execute(_SET_IMPORTANCE, (importance, writing.revision(), event_id, importance))
    return True


def delete(writing: Writing, agent_id: str, external_ids: Sequence[str]) -> list[str]:
    """Remove events and refuse them from now on; see `EventStore.delete`."""
    connection = writing.connection
    agent = writing.agent(agent_id)
    removed = []
    for external_id in external_ids:
        known = _known(connection.execute(_BY_EXTERNAL, (agent, external_id)))
        if known is None:
            bury(connection, agent_id, external_id, None)
        else:
            remove(writing, agent_id, known)
            removed.append(known.id)
    return removed


def remove(writing: Writing, agent_id: str, known: Known) -> bool:
    """Remove one event with all that hangs on it; answers whether it had a vector."""
    connection = writing.connection
    had_vector = _drop_text(connection, known)
    indexes.take_shelves(connection, known.seq, indexes.shelf_numbers(known.shelves))
    connection.execute("delete from unembedded where seq = ?", (known.seq,))
    connection.execute("delete from event where seq = ?", (known.seq,))
    connection.execute(_NOTE_GONE, (known.seq, writing.revision(), known.agent, known.spot))
    bury(connection, agent_id, known.external_id, known.id)
    return had_vector


def bury(
    connection: sqlite3.Connection, agent_id: str, external_id: str | None, event_id: str | None
) -> None:
    """Refuse an event from now on."""
    for key in tombstone_keys(agent_id, external_id, event_id):
        connection.execute(_BURY, (key,))


def _drop_text(connection: sqlite3.Connection, known: Known) -> bool:
    """Take the old text out of the indexes, and its vector; answers whether it had one."""
    body = indexes.body(known.name, known.content, known.narrative_text)
    indexes.take_text(connection, known.seq, body, indexes.shelf_numbers(known.shelves))
    return connection.execute("delete from vector where seq = ?", (known.seq,)).rowcount > 0


def known_by_seq(connection: sqlite3.Connection, seq: int) -> Known | None:
    """What must be known of the event with this number in order to change it."""
    return _known(connection.execute(_BY_SEQ, (seq,)))


def _known(rows: Any) -> Known | None:
    row = rows.fetchone()
    return None if row is None else Known(*row)
