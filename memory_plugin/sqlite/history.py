"""Events out: by id, by number, by place and person in time, and what changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory_plugin.parts import Changes
from memory_plugin.sqlite.rows import (
    EVENT_COLUMNS,
    EVENT_JOINS,
    EVENT_TYPE_NUMBERS,
    by_number,
    events_of,
    micros,
)
from memory_plugin.types import EventType, PerceptionEvent

MOST_WINDOWS = 1_000
_NUMBER_OF = {
    "agent": "select number from agent where id = ?",
    "spot": "select number from spot where key = ?",
    "author": "select number from author where id = ?",
}
_SEQ_OF = "select seq, at from event where id = ?"
_CHANGED = """
    select agent.id, spot.key
    from (
        select distinct agent, spot from event where revision > ?
        union
        select distinct agent, spot from gone where revision > ?
        limit ?
    ) w
    left join agent on agent.number = w.agent
    left join spot on spot.number = w.spot
    """


def get(connection: sqlite3.Connection, ids: Sequence[str]) -> list[PerceptionEvent]:
    """The events with these ids, in the order asked."""
    seqs = [row[0] for one in ids if (row := connection.execute(_SEQ_OF, (one,)).fetchone())]
    return fetch(connection, seqs)


def fetch(connection: sqlite3.Connection, seqs: Sequence[int]) -> list[PerceptionEvent]:
    """The events with these numbers, in the order asked."""
    wanted = [int(seq) for seq in seqs]
    rows = by_number(connection, wanted)
    return events_of(rows[seq] for seq in wanted if seq in rows)


def number_of(connection: sqlite3.Connection, table: str, text: str) -> int | None:
    """The number of an agent id, place key (``spot``) or entity id (``author``), if it has one."""
    row = connection.execute(_NUMBER_OF[table], (text,)).fetchone()
    return None if row is None else int(row[0])


def history(
    connection: sqlite3.Connection,
    agent_id: str,
    *,
    place_key: str | None,
    entity_id: str | None,
    event_types: Sequence[EventType] | None,
    limit: int,
    before: datetime | str | None,
    since: datetime | None,
) -> list[PerceptionEvent]:
    """The newest `limit` events that match, oldest first; see `EventStore.history`."""
    wheres: list[str] = []
    values: list[Any] = []
    for table, text in (("agent", agent_id), ("spot", place_key), ("author", entity_id)):
        if text is None:
            continue
        number = number_of(connection, table, text)
        if number is None:
            return []
        wheres.append(f"e.{table} = ?")
        values.append(number)
    if event_types is not None:
        wheres.append(f"e.event_type in ({','.join('?' * len(event_types))})")
        values += [EVENT_TYPE_NUMBERS[one] for one in event_types]
    if since is not None:
        wheres.append("e.at >= ?")
        values.append(micros(since))
    if isinstance(before, str):
        row = connection.execute(_SEQ_OF, (before,)).fetchone()
        if row is None:
            return []
        wheres.append("(e.at, e.seq) < (?, ?)")
        values += [row[1], row[0]]
    elif before is not None:
        wheres.append("e.at < ?")
        values.append(micros(before))
    return _newest(connection, wheres, values, limit)


def _newest(
    connection: sqlite3.Connection, wheres: Sequence[str], values: Sequence[Any], limit: int
) -> list[PerceptionEvent]:
    # The number first, the row afterwards: the index alone finds the newest.
    sql = f"""
        select {EVENT_COLUMNS}
        from (
            select seq from event e where {" and ".join(wheres)} order by at desc, seq desc limit ?
        ) newest
        join event e on e.seq = newest.seq
        {EVENT_JOINS}
        order by e.at, e.seq
        """  # noqa: S608 - made of constants
    return events_of(connection.execute(sql, (*values, max(limit, 0))))


def changes(connection: sqlite3.Connection, revision: int) -> Changes:
    """What was written after `revision`; see `EventStore.changes`."""
    now = connection.execute("select revision, gone_floor from meta").fetchone()
    if revision == now[0]:
        return Changes(revision=now[0], windows=frozenset())
    rows = connection.execute(_CHANGED, (revision, revision, MOST_WINDOWS + 1)).fetchall()
    windows = frozenset((row[0], row[1]) for row in rows)
    # An erased place has no name left by which its window could be called.
    nameless = any(agent is None or key is None for agent, key in windows)
    if revision < now[1] or len(rows) > MOST_WINDOWS or nameless:
        return Changes(revision=now[0], windows=None)
    return Changes(revision=now[0], windows=windows)
