"""Files that cannot be used are refused with a sentence that says what to do, and left alone."""

import asyncio
import os
import sqlite3
import threading

import pytest

from memory_plugin.errors import CorruptStoreError, SchemaError, StoreError
from memory_plugin.sqlite import SqliteStore, schema
from memory_plugin.testing.worlds import BOT, an_event

OPEN = """
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.add([an_event(sys.argv[2])])
    await store.close()
asyncio.run(main())
"""


def threads_of_stores():
    return [one for one in threading.enumerate() if one.name.startswith("memory-plugin")]


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    assert threads_of_stores() == []


async def refused(path, error, words):
    with pytest.raises(error, match=words) as caught:
        await SqliteStore.open(path)
    assert str(path) in str(caught.value)


async def test_a_missing_folder_is_named(tmp_path):
    await refused(tmp_path / "none" / "memory.db", StoreError, "does not exist; make it first")


async def test_a_folder_is_no_file(tmp_path):
    await refused(tmp_path, StoreError, "is a folder; name a file")


async def test_a_file_that_is_no_database_is_refused_unchanged(path):
    path.write_bytes(b"no database at all" * 100)

    await refused(path, CorruptStoreError, "choose another path or restore a backup")

    assert path.read_bytes() == b"no database at all" * 100


async def test_a_damaged_database_is_refused(path):
    store = await SqliteStore.open(path)
    await store.add([an_event(f"number {n}") for n in range(500)])
    await store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 8_000 + whole[8_100:])

    await refused(path, CorruptStoreError, "restore a backup")


async def test_a_damaged_table_is_an_error_that_says_so(path):
    store = await SqliteStore.open(path)
    await store.add([an_event(f"number {n}") for n in range(2_000)])
    await store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xff" * (len(whole) // 2))

    damaged = await SqliteStore.open(path)
    with pytest.raises(CorruptStoreError, match="damaged"):
        await damaged.history(BOT, limit=5_000)
    await damaged.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
async def test_a_database_of_another_program_is_refused_unchanged(path, mode):
    other = sqlite3.connect(path)
    other.execute(f"pragma journal_mode = {mode}")
    other.execute("create table theirs (x)")
    other.close()
    before = path.read_bytes()

    await refused(path, StoreError, "another program")

    assert path.read_bytes() == before


async def test_a_newer_schema_is_refused_unchanged(path):
    await (await SqliteStore.open(path)).close()
    newer = sqlite3.connect(path)
    newer.execute("insert into migration (number, name) values (9999, 'later')")
    newer.commit()
    newer.close()
    before = path.read_bytes()

    await refused(path, SchemaError, "schema 9999.*upgrade memory-plugin")

    assert path.read_bytes() == before


@pytest.fixture
def ordinary_user(tmp_path_factory):
    """Files are opened with the rights of an ordinary user: root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    folder = tmp_path_factory.getbasetemp()
    modes = {one: one.stat().st_mode for one in (folder, folder.parent)}
    for one in modes:
        one.chmod(0o755)
    yield lambda: os.seteuid(65534)
    os.seteuid(0)
    for one, mode in modes.items():
        one.chmod(mode & 0o777)


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_what_is_read_only_is_named(tmp_path, path, ordinary_user, what):
    await (await SqliteStore.open(path)).close()
    path.chmod(0o444 if what == "file" else 0o666)
    tmp_path.chmod(0o777 if what == "file" else 0o555)
    if ordinary_user is not None:
        ordinary_user()

    await refused(path, StoreError, "write")


async def test_a_new_file_in_a_read_only_folder_is_refused(tmp_path, path, ordinary_user):
    tmp_path.chmod(0o555)
    if ordinary_user is not None:
        ordinary_user()

    await refused(path, StoreError, "may you write there")


async def test_two_processes_may_make_the_same_new_file(path, other_process):
    processes = [other_process(OPEN, path, text) for text in ("one", "two", "three")]

    for process in processes:
        assert process.wait(60) == 0, process.stderr.read()

    store = await SqliteStore.open(path)
    assert {one.content for one in await store.history(BOT)} == {"one", "two", "three"}
    await store.close()


async def test_a_file_is_opened_by_text_and_closed_twice(path):
    store = await SqliteStore.open(str(path))

    assert len(threads_of_stores()) == 4
    await store.close()
    await store.close()
    assert threads_of_stores() == []


async def test_only_two_ways_to_be_in_step_with_the_disk(path):
    with pytest.raises(ValueError, match="synchronous"):
        await SqliteStore.open(path, synchronous="off")
    for mode, number in (("normal", 1), ("full", 2)):
        store = await SqliteStore.open(path, synchronous=mode)
        assert (await store.status())["synchronous"] == mode
        found = await store._write(
            lambda on: on.connection.execute("pragma synchronous").fetchone()
        )
        assert found == (number,)
        await store.close()


async def test_two_stores_in_one_process_share_nothing(tmp_path):
    one = await SqliteStore.open(tmp_path / "one.db")
    two = await SqliteStore.open(tmp_path / "two.db")

    await one.add([an_event("only here")])

    assert await two.history(BOT) == []
    await one.close()
    assert await two.agents() == []
    await two.close()


def test_steps_of_the_schema_are_numbered_without_holes():
    numbers = [number for number, _, _ in schema.migrations()]

    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_step_that_fails_leaves_nothing_behind(path, monkeypatch):
    await (await SqliteStore.open(path)).close()
    steps = [
        *schema.migrations(),
        (2, "0002_bad", "create table half (x);\ncreate table half (x);"),
    ]
    monkeypatch.setattr(schema, "migrations", lambda: steps)

    await refused(path, StoreError, "half")

    kept = sqlite3.connect(path)
    assert kept.execute("select count(*) from sqlite_master where name = 'half'").fetchone() == (0,)
    assert kept.execute("select max(number) from migration").fetchone() == (1,)
    kept.close()


async def test_a_file_that_is_locked_for_a_moment_is_waited_for(path, monkeypatch):
    monkeypatch.setattr(schema, "READ_WAIT_MS", 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    opening = asyncio.ensure_future(SqliteStore.open(path))
    done, _ = await asyncio.wait([opening], timeout=0.1)

    other.execute("rollback")
    other.close()

    assert not done
    await (await opening).close()


async def test_a_file_that_stays_locked_is_an_error(path, monkeypatch):
    monkeypatch.setattr(schema, "READ_WAIT_MS", 1)
    monkeypatch.setattr(schema, "OPEN_WAIT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")

    await refused(path, StoreError, "another process")

    other.close()
