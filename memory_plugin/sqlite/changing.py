"""What is done to stored events: edited, weighed, deleted, with all that hangs on them.

Every function runs inside a write transaction (see `writer.WriteLane`) and is all or nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_plugin.sqlite import indexes
from memory_plugin.sqlite.history import number_of
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.rows import (
    edited_metadata,
    micros,
    tombstone_keys,
)
from memory_plugin.text import count_words, is_dated, is_question

QUESTION, DATED = 1, 2
_KNOWN_COLUMNS = """
    e.seq, e.id, e.version, e.edits, e.content, e.narrative_text, e.metadata, e.shelves,
    entity.name, e.agent, e.spot, e.external_id
    from event e
    join entity on entity.number = e.entity
    """
_BY_EXTERNAL = f"select {_KNOWN_COLUMNS} where e.agent = ? and e.external_id = ?"
_BY_ID = f"select {_KNOWN_COLUMNS} where e.id = ?"
_BY_SEQ = f"select {_KNOWN_COLUMNS} where e.seq = ?"
QUEUE = "insert or ignore into unembedded (seq) values (?)"
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
class Text:
    """What an edit replaces; `metadata` as it is stored."""

    content: str
    narrative_text: str | None
    metadata: str | None


def flags_of(content: str) -> int:
    """Whether a text is a question and whether it holds a time expression, as one number."""
    return QUESTION * is_question(content) + DATED * is_dated(content)


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
    agent = number_of(writing.connection, "agent", agent_id)
    known = None if agent is None else by_external_id(writing.connection, agent, external_id)
    version = micros(at)
    if known is None or version < known.version:
        return False
    if (content, narrative_text) == (known.content, known.narrative_text):
        set_version(writing, known, version)
        return True
    text = Text(content, narrative_text, edited_metadata(known.metadata, at))
    replace(writing, known, version, text)
    return True


def set_version(writing: Writing, known: Known, version: int) -> None:
    """The text is still right at a later time: what came in between must not replace it."""
    writing.connection.execute(_SET_VERSION, (version, known.seq))


def replace(writing: Writing, known: Known, version: int, text: Text) -> None:
    """Give a stored event another text; its vector goes, and it waits for a new one."""
    connection = writing.connection
    _drop_text(connection, known)
    shelves = indexes.OnShelves.of(known.shelves)
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
    connection.execute(QUEUE, (known.seq,))


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
    agent = number_of(connection, "agent", agent_id)
    removed = []
    for external_id in external_ids:
        known = None if agent is None else by_external_id(connection, agent, external_id)
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
    indexes.take_shelves(connection, known.seq, indexes.OnShelves.of(known.shelves))
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
    indexes.take_text(connection, known.seq, body, indexes.OnShelves.of(known.shelves))
    return connection.execute("delete from vector where seq = ?", (known.seq,)).rowcount > 0


def by_external_id(connection: sqlite3.Connection, agent: int, external_id: str) -> Known | None:
    """The event of an agent (its number) with an external id."""
    return _known(connection.execute(_BY_EXTERNAL, (agent, external_id)))


def by_id(connection: sqlite3.Connection, event_id: str) -> Known | None:
    """The event with an id."""
    return _known(connection.execute(_BY_ID, (event_id,)))


def by_seq(connection: sqlite3.Connection, seq: int) -> Known | None:
    """The event with a number."""
    return _known(connection.execute(_BY_SEQ, (seq,)))


def _known(rows: Any) -> Known | None:
    row = rows.fetchone()
    return None if row is None else Known(*row)
