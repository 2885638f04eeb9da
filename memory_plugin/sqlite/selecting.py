"""A selection of events as a condition, and the pages of an export."""

from __future__ import annotations

import sqlite3
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Selection
from memory_plugin.sqlite.history import number_of
from memory_plugin.sqlite.rows import EVENT_COLUMNS, EVENT_JOINS, events_of, micros
from memory_plugin.types import PerceptionEvent, checked_time

_FIELDS = ("agent_id", "entity_id", "place_key", "event_id", "since", "until")


def checked(selection: Selection) -> Selection:
    """The selection, if it selects at all; raises `ValidationError` for an empty one."""
    if all(getattr(selection, name) is None for name in _FIELDS):
        raise ValidationError("selection", selection, "must name at least one thing to select by")
    for name in ("since", "until"):
        if getattr(selection, name) is not None:
            checked_time(f"selection.{name}", getattr(selection, name))
    return selection


def condition(connection: sqlite3.Connection, selection: Selection) -> tuple[str, list[Any]] | None:
    """A condition on ``event e`` and its values; None where nothing can match."""
    wheres: list[str] = []
    values: list[Any] = []
    for table, text in (
        ("agent", selection.agent_id),
        ("author", selection.entity_id),
        ("spot", selection.place_key),
    ):
        if text is None:
            continue
        number = number_of(connection, table, text)
        if number is None:
            return None
        wheres.append(f"e.{table} = ?")
        values.append(number)
    if selection.event_id is not None:
        wheres.append("e.id = ?")
        values.append(selection.event_id)
    if selection.since is not None:
        wheres.append("e.at >= ?")
        values.append(micros(selection.since))
    if selection.until is not None:
        wheres.append("e.at < ?")
        values.append(micros(selection.until))
    return " and ".join(wheres), values


def page(
    connection: sqlite3.Connection, selection: Selection, after: int, limit: int
) -> tuple[list[PerceptionEvent], int]:
    """The next selected events in order of arrival, and the number to go on after."""
    found = condition(connection, selection)
    if found is None:
        return [], after
    where, values = found
    # Without an index on anything but the number, so that a page costs what it shows.
    sql = f"""
        select {EVENT_COLUMNS}
        from event e {EVENT_JOINS}
        where {where} and e.seq > ?
        order by e.seq
        limit ?
        """  # noqa: S608 - made of constants
    rows = connection.execute(sql, (*values, after, max(limit, 0))).fetchall()
    return events_of(rows), rows[-1][0] if rows else after
