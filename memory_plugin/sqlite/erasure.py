"""Erasure: rows, indexes, vectors, traces, names; and then every byte that is left of them.

SQLite overwrites what is deleted, but a page that was split can keep a copy in its free space,
the full-text index drops a word only when its parts are merged, and the log keeps old pages. So
an erasure merges the index, writes the file anew and empties the log.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Any

from memory_plugin.errors import StoreError
from memory_plugin.parts import Erased, Selection
from memory_plugin.sqlite import changing
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.selecting import condition

ERASE_ROWS = 200
# Pages of the full-text index that are merged before others get their turn.
_MERGE_PAGES = 500
# How many removals other processes' caches can catch up with; those further behind load anew.
MOST_GONE = 100_000
_EMPTY_LOG_S = 30.0
_RETRY_S = 0.005
_AGENT_OF = "select id from agent where number = ?"
_ORPHANS = (
    "delete from place where number not in (select place from event)",
    "delete from spot where number not in (select spot from event)",
    "delete from entity where number not in (select entity from event)",
    "delete from author where number not in (select author from event)",
    "delete from agent where number not in (select agent from event)",
    "delete from shelf where not exists (select 1 from event_shelf where shelf = number)",
)
_FLOOR = "select revision from gone order by seq desc limit 1 offset ?"
_SHORTEN = "delete from gone where revision <= ?"


def selected(connection: sqlite3.Connection, selection: Selection) -> list[int]:
    """The numbers of the events to erase."""
    found = condition(connection, selection)
    if found is None:
        return []
    where, values = found
    sql = f"select e.seq from event e where {where}"  # noqa: S608 - made of constants
    return [row[0] for row in connection.execute(sql, values)]


def erase_some(writing: Writing, seqs: Sequence[int]) -> Erased:
    """Remove events by their numbers; those that are gone already are passed over."""
    connection = writing.connection
    vectors, ids = 0, []
    for seq in seqs:
        known = changing.by_seq(connection, seq)
        if known is None:
            continue
        agent_id = connection.execute(_AGENT_OF, (known.agent,)).fetchone()[0]
        vectors += changing.remove(writing, agent_id, known)
        ids.append(known.id)
    return Erased(events=len(ids), vectors=vectors, ids=tuple(ids))


def drop_traces(writing: Writing, selection: Selection, ids: Sequence[str]) -> None:
    """Remove traces that name what was erased, and the wish of a person who was erased."""
    connection = writing.connection
    named = {*ids, *(one for one in (selection.entity_id, selection.place_key) if one)}
    for agent_id, place_key, body in connection.execute("select * from trace").fetchall():
        if place_key in named or not named.isdisjoint(_texts(json.loads(body))):
            connection.execute(
                "delete from trace where agent_id = ? and place_key = ?", (agent_id, place_key)
            )
    if selection == Selection(entity_id=selection.entity_id):
        connection.execute("delete from followed where entity_id = ?", (selection.entity_id,))


def drop_orphans(writing: Writing) -> None:
    """Remove names of agents, people, places and shelves that no event has any more."""
    connection = writing.connection
    for statement in _ORPHANS:
        connection.execute(statement)
    row = connection.execute(_FLOOR, (MOST_GONE,)).fetchone()
    if row is not None:
        connection.execute(_SHORTEN, (row[0],))
        connection.execute("update meta set gone_floor = ?", (row[0],))
    connection.execute("update meta set purges = purges + 1")
    writing.forget()


def merge_some(writing: Writing, table: str, *, first: bool) -> bool:
    """Merge a part of a full-text index; False when all is one piece."""
    connection = writing.connection
    before = connection.total_changes
    pages = -_MERGE_PAGES if first else _MERGE_PAGES
    connection.execute(f"insert into {table} ({table}, rank) values ('merge', ?)", (pages,))  # noqa: S608
    return connection.total_changes - before >= 2


def compact(connection: sqlite3.Connection) -> None:
    """Write the file anew and empty the log; outside of any transaction.

    Raises `StoreError` if somebody reads an old state all the while: then the log keeps it.
    """
    deadline = time.monotonic() + _EMPTY_LOG_S
    connection.execute("vacuum")
    while True:
        busy = connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        if not busy:
            return
        if time.monotonic() > deadline:
            raise StoreError(
                "what was erased is gone from all tables, but another process has been reading an "
                "old state, so that the log still holds it; close that process and erase again"
            )
        time.sleep(_RETRY_S)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
