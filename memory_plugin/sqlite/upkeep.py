"""What owners and people may ask: acquaintances, numbers, traces, wishes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from memory_plugin.parts import Acquaintance, Statistics
from memory_plugin.sqlite.history import number_of
from memory_plugin.sqlite.interned import Writing, place_of
from memory_plugin.sqlite.rows import EVENT_TYPE_NUMBERS, time_of
from memory_plugin.sqlite.search import visible_shelves
from memory_plugin.types import EPOCH, Scope

BUSIEST = 20
MOST_DAYS = 366
_HOURS_A_DAY = 24
# Day 0, 1 January 1970, was a Thursday; Monday is 0.
_THURSDAY = 3


def _bucket(micros: int) -> str:
    """SQL for the number of the hour or day of `e.at`, rounded down, also before 1970."""
    return f"((e.at - ((e.at % {micros}) + {micros}) % {micros}) / {micros})"


_HOUR, _DAY = _bucket(3_600_000_000), _bucket(86_400_000_000)
_VISIBLE = """
    e.author = ?
    and e.agent = ?
    and exists (
        select 1
        from event_shelf s
        where s.seq = e.seq and s.shelf in (select value from json_each(?))
    )
    """
_ACQUAINTANCE = f"""
    select count(*), min(e.at), max(e.at), count(distinct {_DAY}), count(distinct e.spot)
    from event e
    where {_VISIBLE}
    """  # noqa: S608 - made of constants
_NAMES = f"""
    select entity.name
    from event e
    join entity on entity.number = e.entity
    where {_VISIBLE}
    group by e.entity
    order by max(e.at) desc, max(e.seq) desc
    """  # noqa: S608 - made of constants
_NEWEST_NAME = """
    select entity.name
    from event e
    join entity on entity.number = e.entity
    where e.author = ?
    order by e.at desc, e.seq desc
    limit 1
    """
_NEWEST_PLACE = """
    select place.value
    from event e
    join place on place.number = e.place
    where e.spot = ?
    order by e.at desc, e.seq desc
    limit 1
    """
_AGENTS = "select id from agent where exists (select 1 from event where agent = number) order by id"
_SAVE_TRACE = """
    insert into trace (agent_id, place_key, body) values (?, ?, ?)
    on conflict (agent_id, place_key) do update set body = excluded.body
    """
_LAST_TRACE = "select body from trace where agent_id = ? and place_key = ?"
_FOLLOW = "insert or ignore into followed (entity_id) values (?)"
_UNFOLLOW = "delete from followed where entity_id = ?"


def acquaintance(
    connection: sqlite3.Connection, scope: Scope, entity_id: str
) -> Acquaintance | None:
    """What the events visible in `scope` say of an entity; None if they do not show it."""
    author = number_of(connection, "author", entity_id)
    agent = number_of(connection, "agent", scope.agent_id)
    visible = (author, agent, json.dumps(visible_shelves(connection, scope)))
    count, first, last, days, places = connection.execute(_ACQUAINTANCE, visible).fetchone()
    if not count:
        return None
    names = [row[0] for row in connection.execute(_NAMES, visible)]
    return Acquaintance(
        entity_id=entity_id,
        names=tuple(names),
        first_seen=time_of(first),
        last_seen=time_of(last),
        events=count,
        days=days,
        places=places,
    )


def statistics(
    connection: sqlite3.Connection, agent_id: str | None, place_key: str | None
) -> Statistics:
    """Counts, first and last, busiest people and places, activity over time."""
    wheres, values = ["true"], []
    for table, text in (("agent", agent_id), ("spot", place_key)):
        if text is not None:
            wheres.append(f"e.{table} = ?")
            values.append(number_of(connection, table, text))
    where = " and ".join(wheres)

    def grouped(what: str, more: str = "") -> list[tuple[int, int]]:
        sql = f"select {what}, count(*) from event e where {where} group by 1 {more}"  # noqa: S608
        return connection.execute(sql, values).fetchall()

    sql = f"select min(e.at), max(e.at) from event e where {where}"  # noqa: S608
    first, last = connection.execute(sql, values).fetchone()
    authors, places = grouped("e.author", "order by 2 desc"), grouped("e.spot", "order by 2 desc")
    by_type = dict(grouped("e.event_type"))
    by_hour, by_weekday, by_day = _activity(grouped(_HOUR))
    return Statistics(
        events=sum(by_type.values()),
        authors=len(authors),
        places=len(places),
        first=None if first is None else time_of(first),
        last=None if last is None else time_of(last),
        by_type={
            name: by_type[number]
            for name, number in EVENT_TYPE_NUMBERS.items()
            if number in by_type
        },
        by_hour=by_hour,
        by_weekday=by_weekday,
        by_day=by_day,
        by_author=tuple(_named_author(connection, *one) for one in authors[:BUSIEST]),
        by_place=tuple(_named_place(connection, *one) for one in places[:BUSIEST]),
    )


def _activity(
    hours: Sequence[tuple[int, int]],
) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]:
    """Events by hour of the day, by weekday and by day, from events by hour since 1970."""
    by_hour, by_weekday = [0] * _HOURS_A_DAY, [0] * 7
    by_day: dict[int, int] = {}
    for hour, count in hours:
        day = hour // _HOURS_A_DAY
        by_hour[hour % _HOURS_A_DAY] += count
        by_weekday[(day + _THURSDAY) % 7] += count
        by_day[day] = by_day.get(day, 0) + count
    newest = sorted(by_day)[-MOST_DAYS:]
    named = {(EPOCH + timedelta(days=day)).date().isoformat(): by_day[day] for day in newest}
    return tuple(by_hour), tuple(by_weekday), named


def _named_author(connection: sqlite3.Connection, author: int, count: int) -> tuple[str, str, int]:
    entity_id = connection.execute("select id from author where number = ?", (author,)).fetchone()
    name = connection.execute(_NEWEST_NAME, (author,)).fetchone()
    return entity_id[0], name[0], count


def _named_place(connection: sqlite3.Connection, spot: int, count: int) -> tuple[str, str, int]:
    place = place_of(connection.execute(_NEWEST_PLACE, (spot,)).fetchone()[0])
    return place.key, place.name, count


def agents(connection: sqlite3.Connection) -> list[str]:
    """The agent ids that have events, sorted."""
    return [row[0] for row in connection.execute(_AGENTS)]


def save_trace(writing: Writing, agent_id: str, place_key: str, body: str) -> None:
    """Keep the trace (JSON) of the last context built at a place."""
    writing.connection.execute(_SAVE_TRACE, (agent_id, place_key, body))


def last_trace(
    connection: sqlite3.Connection, agent_id: str, place_key: str
) -> Mapping[str, Any] | None:
    """The trace of the last context built at a place."""
    row = connection.execute(_LAST_TRACE, (agent_id, place_key)).fetchone()
    if row is None:
        return None
    trace: Mapping[str, Any] = json.loads(row[0])
    return trace


def set_followed(writing: Writing, entity_id: str, *, wanted: bool) -> None:
    """Keep a person's wish to be remembered across spaces, or that it ended."""
    writing.connection.execute(_FOLLOW if wanted else _UNFOLLOW, (entity_id,))
