"""The one thread of a process that writes: whatever is queued goes into one commit."""

from __future__ import annotations

import queue
import sqlite3
import time
from pathlib import Path

from memory_plugin.sqlite.faults import code_of, store_error
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.lanes import Job, Lane, hand_back

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


class WriteLane(Lane[Writing]):
    """Commits in groups.

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
            self._taken = group
            self._commit(group)
            self._taken = []
            hand_back(group)
        if alone is not None:
            self._taken = [alone]
            self._attempt(alone, self._writing)
            self._taken = []
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
            if len(group) == 1 or code_of(fault) == sqlite3.SQLITE_BUSY:
                error = store_error(self._path, fault)
                error.__cause__ = fault
                for job in group:
                    job.fault = error
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
