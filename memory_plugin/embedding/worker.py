"""The threads a model runs in: they are daemons, and who asks a question goes first."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from memory_plugin.errors import ClosedError

T = TypeVar("T")

QUERY, PASSAGE, END = 0, 1, 2


class Worker:
    """Runs jobs one after another in each of its threads; `QUERY` before `PASSAGE`.

    Daemon threads, because a host that exits or reloads must not wait for a model.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._jobs: queue.PriorityQueue[tuple[int, int, Any]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._closed = False
        self._admission = threading.Lock()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, work: Callable[[], T], urgency: int = PASSAGE) -> asyncio.Future[T]:
        """Queue work; the future holds what it returns or raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._admission:
            if self._closed:
                raise ClosedError("the embedder is closed")
            self._jobs.put((urgency, next(self._numbers), (work, loop, future)))
        return future

    def _serve(self) -> None:
        while True:
            urgency, _, (work, loop, future) = self._jobs.get()
            result: Any = None
            fault: BaseException | None = None
            try:
                if not future.cancelled():
                    result = work()
            except Exception as caught:  # noqa: BLE001 - whoever asked gets it, the thread lives on
                fault = caught
            _tell(loop, future, result, fault)
            if urgency == END:
                return
            # Nothing of the last job may outlive it while the thread waits for the next.
            del work, loop, future, result, fault

    async def close(self) -> None:
        """Give up what is queued, let the running job finish, end the threads."""
        with self._admission:
            if self._closed:
                return
            self._closed = True
        with suppress(queue.Empty):
            while True:
                _, loop, future = self._jobs.get_nowait()[2]
                _tell(loop, future, None, ClosedError("the embedder was closed meanwhile"))
        loop = asyncio.get_running_loop()
        ends = [loop.create_future() for _ in self._threads]
        for end in ends:
            self._jobs.put((END, next(self._numbers), (_nothing, loop, end)))
        await asyncio.gather(*ends)
        for thread in self._threads:
            thread.join()


def _nothing() -> None:
    return


def _tell(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Any],
    result: Any,
    fault: BaseException | None,
) -> None:
    # A loop that was closed meanwhile has nobody left who waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future, result, fault)


def _settle(future: asyncio.Future[Any], result: Any, fault: BaseException | None) -> None:
    if future.done():
        return
    if fault is None:
        future.set_result(result)
    else:
        future.set_exception(fault)
