"""Two kinds of threads that own a connection: lanes that read, and the one lane that writes.

The threads are daemons: a host that forgets to close, or dies, is not kept alive by its memory.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from memory_plugin.errors import ClosedError
from memory_plugin.sqlite.faults import code_of, store_error
from memory_plugin.sqlite.interned import Writing

T = TypeVar("T")
C = TypeVar("C")

# Rows in one commit, unless a single operation has more. Beyond it nothing is gained, and others,
# here and in other processes, wait longer for their turn.
MOST_IN_GROUP = 256
# With synchronous=NORMAL a power cut takes what was committed since the last checkpoint (a kill
# of the process takes nothing). By the clock and not by pages, so that the bound is a time.
CHECKPOINT_EVERY_S = 1.0
# SQLite hands its lock to whoever asks at the right moment. Who held it long steps aside for
# a moment, so that others who try every few milliseconds get in.
LONG_HOLD_S = 0.015
STEP_ASIDE_S = 0.001
# Another process may be compacting a large file after an erasure.
LOCK_WAIT_S = 60.0


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

    def _serve(self) -> None:
        raise NotImplementedError

    def _attempt(self, job: Job[C], on: C) -> None:
        """Run one job and keep what came of it in the job."""
        try:
            job.result = job.work(on)
        except sqlite3.Error as fault:
            job.fault = store_error(self._path, fault)
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
                self._attempt(job, connection)
                if connection.in_transaction:
                    connection.execute("rollback")
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


class WriteLane(Lane[Writing]):
    """The only writer of this process: whatever is queued goes into one commit.

    Each job stands in a savepoint of its own: one that fails neither hurts nor is hurt by others.
    """

    def __init__(self, name: str, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(name, path)
        self._connection = connection
        self._writing = Writing(connection)
        self._uncheckpointed = False
        self._checkpointed_at = time.monotonic()

    def _serve(self) -> None:
        try:
            going_on = True
            while going_on:
                going_on = self._round()
        finally:
            self._connection.close()

    def _round(self) -> bool:
        """Wait for work and do it; False when there will be no more."""
        group: list[Job[Writing]] = []
        alone: Job[Writing] | None = None
        rows = 0
        try:
            job = self._jobs.get(timeout=CHECKPOINT_EVERY_S if self._uncheckpointed else None)
            while job is not None:
                if job.alone:
                    alone = job
                    break
                group.append(job)
                rows += job.rows
                if rows >= MOST_IN_GROUP:
                    break
                job = self._jobs.get_nowait()
        except queue.Empty:
            job = group[-1] if group else None
            if job is None:
                self._checkpoint()
                return True
        if group:
            self._commit(group)
            hand_back(group)
        if alone is not None:
            self._attempt(alone, self._writing)
            hand_back([alone])
        if self._uncheckpointed and time.monotonic() - self._checkpointed_at > CHECKPOINT_EVERY_S:
            self._checkpoint()
        return job is not None

    def _commit(self, group: list[Job[Writing]]) -> None:
        began = time.monotonic()
        try:
            self._begin()
            began = time.monotonic()
            for job in group:
                self._in_savepoint(job)
            self._connection.execute("commit")
        except sqlite3.Error as fault:
            self._undo()
            if len(group) == 1:
                group[0].fault = store_error(self._path, fault)
                group[0].fault.__cause__ = fault
                return
            # A full disk undoes the whole transaction; the small ones of the group may still fit.
            for job in group:
                job.fault = None
                self._commit([job])
            return
        self._uncheckpointed = True
        if time.monotonic() - began > LONG_HOLD_S:
            time.sleep(STEP_ASIDE_S)

    def _begin(self) -> None:
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                self._connection.execute("begin immediate")
            except sqlite3.OperationalError as fault:
                if code_of(fault) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            else:
                self._writing.begin()
                return

    def _in_savepoint(self, job: Job[Writing]) -> None:
        connection = self._connection
        connection.execute("savepoint job")
        self._attempt(job, self._writing)
        if job.fault is not None:
            if not connection.in_transaction:
                cause = job.fault.__cause__
                raise (
                    cause
                    if isinstance(cause, sqlite3.Error)
                    else sqlite3.OperationalError("undone")
                )
            connection.execute("rollback to job")
            self._writing.forget()
        connection.execute("release job")

    def _undo(self) -> None:
        self._writing.forget()
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    def _checkpoint(self) -> None:
        self._uncheckpointed = False
        self._checkpointed_at = time.monotonic()
        try:
            self._connection.execute("pragma wal_checkpoint(passive)").fetchone()
        except sqlite3.OperationalError:
            # Somebody else is at it, or the disk is full: the log keeps everything until then.
            self._uncheckpointed = True
