"""Whether the file is sound, mending it, and copies of it while it is in use."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from memory_plugin.errors import StoreError
from memory_plugin.sqlite import indexes, schema
from memory_plugin.sqlite.coding import SCALE_BYTES, model_in_use
from memory_plugin.sqlite.interned import Writing
from memory_plugin.visibility import is_person

_BACKUP_PAGES = 1_024
_STALE_VECTORS = "seq not in (select seq from event)"
_UNQUEUED = """
    select seq
    from event
    where seq not in (select seq from unembedded)
        and seq not in (select seq from vector where model = (select model from meta))
    """
_BAD_VECTORS = f"""
    select count(*)
    from vector
    join model on model.number = vector.model
    where length(code) <> dim + {SCALE_BYTES}
    """  # noqa: S608 - made of constants
_DROP_BAD_VECTORS = """
    delete from vector
    where length(code) <> ? + (select dim from model where number = vector.model)
    """
_EVENTS = """
    select e.seq, entity.name, e.content, e.narrative_text, e.shelves
    from event e
    join entity on entity.number = e.entity
    where e.seq > ?
    order by e.seq
    limit 1000
    """


_HELD = """
    select shelf.number, shelf.name, count(*)
    from event_shelf
    join shelf on shelf.number = event_shelf.shelf
    group by event_shelf.shelf
    """


def check(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file, in sentences."""
    problems = [
        f"the file is damaged: {row[0]}"
        for row in connection.execute("pragma integrity_check(20)")
        if row[0] != "ok"
    ]
    problems += [
        f"row {row[1]} of {row[0]} names a row of {row[2]} that is not there"
        for row in connection.execute("pragma foreign_key_check").fetchmany(20)
    ]
    return problems + _unequal(connection)


def check_indexes(writing: Writing) -> list[str]:
    """What is wrong inside the text indexes; SQLite asks for the right to write for this."""
    problems = []
    for table in ("words", "inside"):
        try:
            writing.connection.execute(
                f"insert into {table} ({table}) values ('integrity-check')"  # noqa: S608
            )
        except sqlite3.DatabaseError as fault:
            problems.append(f"the text index {table} is damaged: {fault}")
    return problems


def _unequal(connection: sqlite3.Connection) -> list[str]:
    """Where an index holds other events than the table does."""
    problems = []

    def count(sql: str, *values: object) -> int:
        number: int = connection.execute(sql, values).fetchone()[0]
        return number

    shelved = count("select count(*) from event_shelf")
    expected = count(
        "select sum(length(shelves) - length(replace(shelves, ' ', '')) + 1) from event"
    )
    if shelved != (expected or 0):
        problems.append(f"{shelved} places on shelves are taken, it should be {expected}")
    for number, name, held in connection.execute(_HELD).fetchall():
        if is_person(name):
            # Words are looked up on the agent's shelf instead.
            continue
        for table, match in (
            ("words", f'"{indexes.shelf_word(number, "")}"'),
            ("inside", f'"{indexes.scope_sign(number)}"'),
        ):
            try:
                found = count(f"select count(*) from {table} where {table} match ?", match)  # noqa: S608
            except sqlite3.DatabaseError:
                # The index itself is damaged, as `check_indexes` will say.
                continue
            if found != held:
                problems.append(
                    f"the text index {table} holds {found} of {held} events of shelf {number}"
                )
    unqueued = count(f"select count(*) from ({_UNQUEUED})")  # noqa: S608 - a constant
    if unqueued:
        problems.append(f"{unqueued} events have no vector and do not wait for one")
    bad = count(_BAD_VECTORS)
    if bad:
        problems.append(f"{bad} vectors have a wrong size")
    return problems


def repair(writing: Writing) -> list[str]:
    """Build all indexes anew from the events, in one transaction; what was done, in sentences."""
    connection, done = writing.connection, []
    lost = connection.execute(f"delete from vector where {_STALE_VECTORS}").rowcount  # noqa: S608
    bad = connection.execute(_DROP_BAD_VECTORS, (SCALE_BYTES,)).rowcount
    if lost + bad:
        done.append(f"removed {lost + bad} vectors without an event or of a wrong size")
    connection.execute(f"delete from unembedded where {_STALE_VECTORS}")  # noqa: S608
    queued = connection.execute(f"insert into unembedded (seq) {_UNQUEUED}").rowcount
    if queued:
        done.append(f"queued {queued} events that had no vector")
    done.append(f"built the indexes of {_rebuild(connection)} events anew")
    # Whoever has shelves in RAM loads them anew: they are older than this.
    connection.execute("update meta set gone_floor = ?", (writing.revision(),))
    return done


def _rebuild(connection: sqlite3.Connection) -> int:
    for table in ("words", "inside"):
        sql = connection.execute(
            "select sql from sqlite_master where name = ?", (table,)
        ).fetchone()
        # Dropped and not emptied: a damaged index can refuse to be emptied.
        connection.execute(f"drop table {table}")
        connection.execute(sql[0])
    connection.execute("delete from event_shelf")
    count = seq = 0
    while rows := connection.execute(_EVENTS, (seq,)).fetchall():
        for seq, name, content, narrative_text, shelves in rows:
            numbers = indexes.OnShelves.of(shelves)
            indexes.put_shelves(connection, [(seq, numbers)])
            body = indexes.body(name, content, narrative_text)
            indexes.put_text(connection, seq, body, numbers)
        count += len(rows)
    return count


def backup(connection: sqlite3.Connection, target: Path) -> None:
    """Copy what this read transaction sees to `target`; writers go on meanwhile."""
    # A read transaction that has begun to read keeps the copy from starting over at every commit.
    connection.execute("select revision from meta").fetchone()
    try:
        with target.open("xb"):
            pass
    except FileExistsError as fault:
        raise StoreError(
            f"cannot back up to {target}: it exists already; name a new file"
        ) from fault
    except OSError as fault:
        raise StoreError(f"cannot back up to {target}: {fault.strerror}; name another") from fault
    copy = sqlite3.connect(target)
    try:
        connection.backup(copy, pages=_BACKUP_PAGES)
    except sqlite3.Error as fault:
        copy.close()
        target.unlink(missing_ok=True)
        raise StoreError(f"cannot back up to {target}: {fault}; is its disk full?") from fault
    copy.close()


def facts(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Facts of the file for `memory.status()`."""

    def count(table: str) -> int:
        number: int = connection.execute(f"select count(*) from {table}").fetchone()[0]  # noqa: S608
        return number

    model = model_in_use(connection)
    beside = path.with_name(path.name + "-wal")
    return {
        "path": str(path),
        "schema": schema.version(connection),
        "sqlite": sqlite3.sqlite_version,
        "events": count("event"),
        "vectors": count("vector"),
        "awaiting_vectors": count("unembedded"),
        "tombstones": count("tombstone"),
        "model": None if model is None else model[1],
        "bytes": path.stat().st_size + (beside.stat().st_size if beside.exists() else 0),
    }
