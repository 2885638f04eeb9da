"""Threads that own a connection and do one job after the other.

The threads are daemons: a host that forgets to close, or dies, is not kept alive by its memory.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from memory_plugin.errors import ClosedError, MemoryPluginError, StoreError, ValidationError
from memory_plugin.sqlite.faults import store_error

T = TypeVar("T")
C = TypeVar("C")


class Job(Generic[C]):
    """Work for a lane and the future of who waits for it."""

    __slots__ = ("alone", "fault", "future", "loop", "result", "rows", "work")

    def __init__(self, work: Callable[[C], Any], *, rows: int = 1, alone: bool = False) -> None:
        self.work = work
        self.rows = rows
        self.alone = alone
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.fault: BaseException | None = None

    def settle(self) -> None:
        """Hand over result or fault; runs in the loop of who waits."""
        if self.future.done():
            return
        if self.fault is not None:
            self.future.set_exception(self.fault)
        else:
            self.future.set_result(self.result)


def _settle_all(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        job.settle()


def hand_back(jobs: list[Job[Any]]) -> None:
    """Settle jobs, waking each loop once; who closed their loop no longer waits."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, theirs)
        except RuntimeError:
            continue


class Lane(Generic[C]):
    """A daemon thread with a queue of jobs; `_serve` is what it does with them."""

    def __init__(self, name: str, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[Job[C] | None] = queue.SimpleQueue()
        self._admission = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._waiting: list[Job[C]] = []
        # What the thread is at; nobody shall wait for ever if it ends by an error.
        self._taken: list[Job[C]] = []
        self._ended = False

    def start(self) -> None:
        """Let the thread run; it may be asked from now on."""
        self._thread.start()

    def ask(
        self, work: Callable[[C], T], *, rows: int = 1, alone: bool = False
    ) -> asyncio.Future[T]:
        """Queue work; the future holds what it returns. Raises `ClosedError` after `close`.

        `rows` is about how many rows it will write. What must be `alone` is run outside of any
        transaction.
        """
        job: Job[C] = Job(work, rows=rows, alone=alone)
        with self._admission:
            if self._closed:
                raise ClosedError(f"the store {self._path} is closed")
            self._jobs.put(job)
        return job.future

    async def close(self) -> None:
        """Finish what was queued and end the thread. Safe to call twice."""
        ended: Job[C] = Job(lambda _: None)
        with self._admission:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
            if self._ended:
                return
            self._waiting.append(ended)
        await ended.future
        self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            with self._admission:
                self._closed = self._ended = True
                waiting, self._waiting = self._waiting, []
            hand_back(waiting)
            self._give_up()

    def _serve(self) -> None:
        raise NotImplementedError

    def _give_up(self) -> None:
        """Tell those whose jobs will not be done."""
        left = self._taken
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                left.append(job)
        for job in left:
            job.fault = job.fault or ClosedError(f"the store {self._path} has broken down")
        hand_back(left)

    def _attempt(self, job: Job[C], on: C) -> None:
        """Run one job and keep what came of it in the job."""
        try:
            job.result = job.work(on)
        except sqlite3.Error as fault:
            job.fault = store_error(self._path, fault)
            job.fault.__cause__ = fault
        except MemoryPluginError as fault:
            job.fault = fault
        except OSError as fault:
            job.fault = StoreError(f"cannot use {self._path}: {fault}")
            job.fault.__cause__ = fault
        except (ValueError, TypeError, KeyError, OverflowError) as fault:
            # Half a sign in an id, a limit beyond all numbers: what SQLite cannot be asked.
            job.fault = ValidationError("argument", None, f"cannot be used: {fault!r}")
            job.fault.__cause__ = fault
        except Exception as fault:  # noqa: BLE001 - whoever asked gets it, the thread lives on
            job.fault = fault


class ReadLane(Lane[sqlite3.Connection]):
    """Runs each job in a read transaction of its own, so that all it sees is of one moment."""

    def __init__(self, name: str, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(name, path)
        self._connection = connection

    def _serve(self) -> None:
        connection = self._connection
        try:
            while (job := self._jobs.get()) is not None:
                self._taken = [job]
                self._attempt(job, connection)
                if connection.in_transaction:
                    connection.execute("rollback")
                self._taken = []
                hand_back([job])
        finally:
            connection.close()

    def _attempt(self, job: Job[sqlite3.Connection], on: sqlite3.Connection) -> None:
        def in_one_moment(connection: sqlite3.Connection) -> Any:
            connection.execute("begin")
            return work(connection)

        if job.alone:
            super()._attempt(job, on)
            return

        work, job.work = job.work, in_one_moment
        super()._attempt(job, on)
