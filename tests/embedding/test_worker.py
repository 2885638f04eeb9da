import asyncio
import threading

import pytest

from memory_plugin.embedding.worker import PASSAGE, QUERY, Worker
from memory_plugin.errors import ClosedError


@pytest.fixture
async def worker():
    made = Worker("test")
    yield made
    await made.close()


@pytest.fixture
def gate():
    """Opens at the end, whatever happens, so that no thread stays behind it."""
    made = threading.Event()
    yield made
    made.set()


async def test_a_query_goes_before_passages_that_wait(worker, gate):
    order = []
    started = threading.Event()
    running = worker.ask(lambda: (started.set(), gate.wait(10)))
    await asyncio.to_thread(started.wait, 10)
    jobs = [worker.ask(lambda n=n: order.append(n), PASSAGE) for n in range(3)]
    jobs.append(worker.ask(lambda: order.append("query"), QUERY))

    gate.set()
    await asyncio.gather(running, *jobs)

    assert order == ["query", 0, 1, 2]


async def test_an_error_goes_to_who_asked_and_the_thread_lives_on(worker):
    with pytest.raises(ZeroDivisionError):
        await worker.ask(lambda: 1 / 0)

    assert await worker.ask(lambda: 7) == 7


async def test_a_job_that_nobody_waits_for_is_not_done(worker, gate):
    done = []
    started = threading.Event()
    running = worker.ask(lambda: (started.set(), gate.wait(10)))
    await asyncio.to_thread(started.wait, 10)
    unwanted = worker.ask(lambda: done.append("unwanted"))
    wanted = worker.ask(lambda: done.append("wanted"))

    unwanted.cancel()
    gate.set()
    await asyncio.gather(running, wanted)

    assert done == ["wanted"]


async def test_closing_gives_up_what_waits_and_lets_what_runs_finish(gate):
    worker = Worker("test")
    started = threading.Event()
    running = worker.ask(lambda: (started.set(), gate.wait(10), "finished")[-1])
    await asyncio.to_thread(started.wait, 10)
    waiting = [worker.ask(lambda: None, urgency) for urgency in (QUERY, PASSAGE)]

    closing = asyncio.ensure_future(worker.close())
    await asyncio.sleep(0)
    gate.set()
    await closing

    assert await running == "finished"
    for one in waiting:
        with pytest.raises(ClosedError):
            await one
    with pytest.raises(ClosedError):
        worker.ask(lambda: None)
    await worker.close()


async def test_its_threads_are_daemons_and_end_with_it():
    before = set(threading.enumerate())
    worker = Worker("test", threads=2)
    made = set(threading.enumerate()) - before

    assert len(made) == 2
    assert all(thread.daemon for thread in made)

    await worker.close()

    assert not any(thread.is_alive() for thread in made)


def test_a_loop_that_ended_meanwhile_does_no_harm(gate):
    started = threading.Event()

    async def leave():
        worker = Worker("test")
        worker.ask(lambda: (started.set(), gate.wait(10)))
        await asyncio.to_thread(started.wait, 10)
        return worker

    worker = asyncio.run(leave())
    gate.set()

    async def use():
        assert await worker.ask(lambda: 7) == 7
        await worker.close()

    asyncio.run(use())
