"""Many writes, one commit: each stands or falls alone, and nothing that was accepted is lost."""

import asyncio
import resource
import sqlite3

import pytest

from memory_plugin.errors import ClosedError, StoreError
from memory_plugin.sqlite import SqliteStore
from memory_plugin.testing.worlds import ANN, BOT, INN, an_event, holding
from memory_plugin.visibility import shelves_of

FILL_DISK = """
import resource
from memory_plugin.errors import StoreError
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.add([an_event("small", id="small")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    try:
        await store.add([an_event("x" * 5_000_000)])
    except StoreError as fault:
        print(fault)
    (kept,) = await store.get(["small"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    (added,) = await store.add([an_event("after")])
    print(kept.content, added.status, await store.check())
    await store.close()
asyncio.run(main())
"""


def failing(fault):
    def work(on):
        on.connection.execute("insert into followed (entity_id) values ('half written')")
        raise fault

    return work


async def test_one_that_fails_neither_hurts_nor_is_hurt(store):
    def names_and_fails(on):
        on.place(INN)
        on.shelves(shelves_of(an_event()))
        failing(RuntimeError("mine"))(on)

    answers = await asyncio.gather(
        store._write(names_and_fails),
        store.add([an_event("one", external_id="1")]),
        store._write(failing(sqlite3.IntegrityError("theirs"))),
        store.add([an_event("too", 1, external_id="2")]),
        return_exceptions=True,
    )

    assert [type(one) for one in answers] == [RuntimeError, list, StoreError, list]
    assert await store.followed(["half written"]) == frozenset()
    assert [one.content for one in await store.history(BOT)] == ["one", "too"]
    assert await holding(store, "too") == {"too"}
    assert await store.check() == []


async def test_who_stops_waiting_does_not_stop_the_write(store):
    waiting = asyncio.ensure_future(store.add([an_event("still written")]))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    await store.add([an_event("next", 1)])

    assert [one.content for one in await store.history(BOT)] == ["still written", "next"]


async def test_close_finishes_what_was_accepted(path):
    store = await SqliteStore.open(path)
    accepted = [
        asyncio.ensure_future(store.add([an_event(str(n), n, external_id=str(n))]))
        for n in range(500)
    ]
    await asyncio.sleep(0)

    await asyncio.gather(store.close(), store.close())

    assert all(one.result()[0].status == "stored" for one in accepted)
    with pytest.raises(ClosedError):
        await store.agents()
    again = await SqliteStore.open(path)
    assert len(await again.history(BOT, limit=1_000)) == 500
    await again.close()


def test_a_store_outlives_the_loop_that_forgot_it(path):
    async def forget():
        store = await SqliteStore.open(path)
        await store.add([an_event("kept")])
        store._writer.ask(lambda on: on.revision())
        return store

    async def close(store):
        await store.close()
        again = await SqliteStore.open(path)
        assert [one.content for one in await again.history(BOT)] == ["kept"]
        await again.close()

    asyncio.run(close(asyncio.run(forget())))


async def test_a_full_disk_is_an_error_and_then_life_goes_on(path, store):
    await store.add([an_event("before")])
    pages = await store._write(lambda on: on.connection.execute("pragma page_count").fetchone()[0])
    await store._write(lambda on: on.connection.execute(f"pragma max_page_count = {pages + 40}"))

    answers = await asyncio.gather(
        store.add([an_event("x" * 3_000_000)]),
        store.add([an_event("small")]),
        return_exceptions=True,
    )

    assert isinstance(answers[0], StoreError)
    assert "free some space" in str(answers[0])
    assert answers[1][0].status == "stored"
    await store._write(lambda on: on.connection.execute("pragma max_page_count = 1000000"))
    await store.add([an_event("after", 1)])
    assert [one.content for one in await store.history(BOT)] == ["before", "small", "after"]
    assert await store.check() == []


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
def test_a_disk_that_refuses_is_an_error_and_then_life_goes_on(path, other_process):
    out, err = other_process(FILL_DISK, path).communicate(timeout=60)

    assert "is it full" in out, err
    assert out.endswith("small stored []\n"), err


async def test_a_lock_that_is_held_is_waited_for(path, store):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    waiting = asyncio.ensure_future(store.add([an_event("patient")]))
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done

    other.execute("rollback")
    other.close()

    assert (await waiting)[0].status == "stored"


async def test_a_lock_that_is_never_released_is_an_error(path, store, monkeypatch):
    monkeypatch.setattr("memory_plugin.sqlite.writer.LOCK_WAIT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")

    with pytest.raises(StoreError, match="another process"):
        await store.add([an_event()])

    other.close()
    assert (await store.add([an_event()]))[0].status == "stored"


async def test_the_log_is_put_into_the_file_when_nobody_writes(path, monkeypatch):
    monkeypatch.setattr("memory_plugin.sqlite.writer.CHECKPOINT_EVERY_S", 0.01)
    store = await SqliteStore.open(path)
    await store.add([an_event("a text that stands in the file", place=INN, who=ANN)])

    async with asyncio.timeout(10):
        while b"a text that stands in the file" not in path.read_bytes():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await store.close()


# The error itself is for the log of the process.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_lane_that_breaks_down_leaves_nobody_waiting(path):
    store = await SqliteStore.open(path)

    def break_down(on):
        on.close()

    broken = asyncio.ensure_future(store._read(break_down))
    waiting = asyncio.ensure_future(store.history(BOT))
    answers = await asyncio.gather(broken, waiting, return_exceptions=True)

    assert isinstance(answers[1], ClosedError | StoreError)
    await store.add([an_event("written all the same")])
    await store.close()
