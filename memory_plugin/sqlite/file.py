"""The open file: lanes to write, to search, for what is small, and for what takes long."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from memory_plugin.errors import ClosedError, EmbedderError
from memory_plugin.sqlite import schema
from memory_plugin.sqlite.faults import store_error
from memory_plugin.sqlite.interned import Writing
from memory_plugin.sqlite.lanes import ReadLane
from memory_plugin.sqlite.shelving import Shelves
from memory_plugin.sqlite.writer import WriteLane

T = TypeVar("T")
# A commit of so many events holds the lock for some 30 ms; then others get their turn.
BULK_ROWS = 500


class OpenFile:
    """What all methods of a store share; nothing here is shared between two stores."""

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        searcher: sqlite3.Connection,
        reader: sqlite3.Connection,
        keeper: sqlite3.Connection,
        *,
        cache_mb: int,
        synchronous: str,
    ) -> None:
        self._path = path
        self._synchronous = synchronous
        self._shelves = Shelves(cache_mb * 1_000_000)
        self._model: tuple[str, int] | None = None
        self._closed = False
        self._writer = WriteLane("memory-plugin writer", path, writer)
        self._searcher = ReadLane("memory-plugin searcher", path, searcher)
        self._reader = ReadLane("memory-plugin reader", path, reader)
        self._keeper = ReadLane("memory-plugin keeper", path, keeper)
        for lane in (self._writer, self._searcher, self._reader, self._keeper):
            lane.start()

    @classmethod
    async def open(
        cls, path: str | Path, *, synchronous: str = "normal", cache_mb: int = 128
    ) -> Self:
        """Open the file at `path`, or make it.

        `synchronous` "normal" loses at most the last second or two of events when the power is
        cut, "full" loses none and waits for the disk at every commit; a killed process loses none
        either way. `cache_mb` bounds the RAM for searched shelves. Raises `StoreError`,
        `CorruptStoreError` or `SchemaError`, and then leaves nothing open.
        """
        if synchronous not in {"normal", "full"}:
            raise ValueError(f"synchronous must be normal or full, not {synchronous!r}")
        file = Path(path)
        connections = await asyncio.get_running_loop().run_in_executor(
            None, _connections, file, synchronous
        )
        return cls(file, *connections, cache_mb=cache_mb, synchronous=synchronous)

    async def close(self) -> None:
        """Finish what was accepted, then let go of the file. Safe to call twice."""
        self._closed = True
        # The writer last: the last connection to close tidies the log away.
        for lane in (self._searcher, self._reader, self._keeper):
            await lane.close()
        await self._writer.close()

    async def _write(
        self, work: Callable[[Writing], T], *, rows: int = 1, alone: bool = False
    ) -> T:
        self._check_open()
        return await self._writer.ask(work, rows=rows, alone=alone)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        return await self._reader.ask(work)

    async def _search(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        return await self._searcher.ask(work)

    async def _keep(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        return await self._keeper.ask(work)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the store {self._path} is closed")

    def _model_in_use(self) -> tuple[str, int]:
        if self._model is None:
            raise EmbedderError("no model is in use; call use_model first")
        return self._model


def _connections(path: Path, synchronous: str) -> list[sqlite3.Connection]:
    """One to write and three to read; none is left open if one cannot be opened."""
    schema.prepare(path)
    made: list[sqlite3.Connection] = []
    try:
        for write, cache_kb in ((True, 8_000), (False, 8_000), (False, 2_000), (False, 2_000)):
            made.append(
                schema.connect(path, synchronous=synchronous, write=write, cache_kb=cache_kb)
            )
    except sqlite3.Error as fault:
        for connection in made:
            connection.close()
        raise store_error(path, fault) from fault
    return made
