"""Opening the file: what kind of file it is, and its schema brought up to date."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from memory_plugin.errors import SchemaError, StoreError
from memory_plugin.sqlite.faults import code_of, store_error

# "memp": marks the file as ours, so that no other program's database is ever altered.
APPLICATION_ID = 0x6D656D70
# How long a connection that only reads waits where SQLite needs everybody else to step aside.
READ_WAIT_MS = 5_000
# How long a file may be locked while it is opened.
OPEN_WAIT_S = 30.0
# The writer asks again and again by itself (`writer`); a short wait inside SQLite keeps its sleeps
# short, so that it gets its turn between two commits of a busy other process.
WRITE_WAIT_MS = 10
_NEWEST = "select coalesce(max(number), 0) from migration"
_CREATE_RECORD = """
    create table if not exists migration (
        number integer primary key,
        name text not null
    )
    """


def migrations() -> list[tuple[int, str, str]]:
    """Number, name and SQL of every schema step, in order."""
    folder = resources.files("memory_plugin.sqlite") / "migrations"
    steps = [
        (int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(steps)


def connect(
    path: Path, *, synchronous: str, write: bool, cache_kb: int = 2_000
) -> sqlite3.Connection:
    """A connection with our settings; `path` must be a file that `prepare` has seen."""
    mode = "rw" if write else "ro"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        connection.execute(f"pragma busy_timeout = {READ_WAIT_MS}")
        connection.execute(f"pragma cache_size = -{cache_kb}")
        # The first look takes the locks of the log, which somebody who closes may be holding.
        connection.execute("select revision from meta").fetchone()
        if write:
            connection.execute(f"pragma synchronous = {synchronous}")
            # What was deleted is overwritten: erasure reaches the free space of the file too.
            connection.execute("pragma secure_delete = on")
            # The writer checkpoints by the clock, outside of anybody's commit.
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute("pragma journal_size_limit = 16777216")
            connection.execute(f"pragma busy_timeout = {WRITE_WAIT_MS}")
        else:
            connection.execute("pragma query_only = on")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def prepare(path: Path) -> None:
    """Make sure `path` is a memory file with today's schema; makes a new one where none is.

    Raises `StoreError` for a file of another program or one that cannot be written,
    `CorruptStoreError` for no database at all, `SchemaError` for a newer schema than this code.
    """
    if not path.parent.is_dir():
        raise StoreError(
            f"cannot use {path}: the folder {path.parent} does not exist; make it first"
        )
    if path.is_dir():
        raise StoreError(f"cannot use {path}: it is a folder; name a file in it")
    deadline = time.monotonic() + OPEN_WAIT_S
    while True:
        try:
            _prepare_once(path)
        except sqlite3.Error as fault:
            # A file that turns into one with a write-ahead log, or back, is locked for everybody
            # without SQLite waiting by itself.
            if code_of(fault) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise store_error(path, fault) from fault
            time.sleep(0.01)
        else:
            return


def _prepare_once(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=READ_WAIT_MS / 1_000)
    try:
        _prepare(path, connection)
    finally:
        connection.close()


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    _refuse_foreign(path, connection)
    if connection.execute("pragma journal_mode = wal").fetchone()[0] != "wal":
        raise StoreError(
            f"cannot use {path}: its disk cannot hold a write-ahead log; use a local disk"
        )
    for number, name, sql in migrations():
        # Asked again under the lock: another process may be opening the same new file.
        connection.execute("begin immediate")
        try:
            if number > version(connection):
                _migrate(connection, number, name, sql)
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
    # Changes nothing, but SQLite asks here whether it may write, and not when it is opened.
    connection.execute("delete from migration where number < 0")


def _refuse_foreign(path: Path, connection: sqlite3.Connection) -> None:
    mark = connection.execute("pragma application_id").fetchone()[0]
    tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (mark != 0 or tables):
        raise StoreError(
            f"cannot use {path}: it is a database of another program; choose another path"
        )
    newest = migrations()[-1][0]
    found = version(connection)
    if found > newest:
        raise SchemaError(
            f"{path} has schema {found}, but this version of memory-plugin knows {newest} at most; "
            f"upgrade memory-plugin or restore an older backup"
        )


def version(connection: sqlite3.Connection) -> int:
    """The number of the last schema step that ran; 0 for a new file."""
    there = connection.execute("select count(*) from sqlite_master where name = 'migration'")
    if not there.fetchone()[0]:
        return 0
    found: int = connection.execute(_NEWEST).fetchone()[0]
    return found


def _migrate(connection: sqlite3.Connection, number: int, name: str, sql: str) -> None:
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(_CREATE_RECORD)
    for statement in _statements(sql):
        connection.execute(statement)
    connection.execute("insert into migration (number, name) values (?, ?)", (number, name))


def _statements(sql: str) -> Iterator[str]:
    """The single statements of a script; `executescript` would commit in between."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
