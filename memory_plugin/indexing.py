"""Vectors after the fact: what the store says has none yet gets one, in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from memory_plugin.errors import EmbedderError, MemoryPluginError
from memory_plugin.parts import Embedder, SearchStore, Unembedded, Vectors

log = logging.getLogger(__name__)

BATCH = 64
# Another process may have stored events and died before it embedded them.
LOOK_AGAIN_S = 30.0
RETRY_S = 2.0

Progress = Callable[[int, int], None]


async def vectors_of(
    embedder: Embedder, texts: Sequence[str], kind: Literal["passage", "query"] = "passage"
) -> Vectors:
    """The vectors of texts; raises `EmbedderError` for anything but one row for each."""
    try:
        vectors = await embedder.embed(texts, kind)
    except MemoryPluginError:
        raise
    except Exception as fault:
        raise EmbedderError(f"the embedder {embedder.name} failed: {fault!r}") from fault
    if len(vectors) != len(texts):
        raise EmbedderError(
            f"the embedder {embedder.name} gave {len(vectors)} vectors for {len(texts)} texts"
        )
    if not np.isfinite(vectors).all():
        raise EmbedderError(f"the embedder {embedder.name} gave what is no number")
    return vectors


class Indexer:
    """Embeds what waits, newest first; "no vector yet" is a query, so a restart loses nothing."""

    def __init__(self, store: SearchStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._busy = asyncio.Lock()
        self._task = asyncio.create_task(self._run(), name="memory-plugin indexing")
        # Texts the model cannot take; kept in RAM only, so that a mended model tries them again.
        self._refused: set[tuple[int, int]] = set()

    def wake(self) -> None:
        """Something new was stored."""
        self._wanted.set()

    def status(self) -> dict[str, Any]:
        """Facts for `memory.status()`."""
        return {"refused_by_model": len(self._refused), "running": not self._task.done()}

    async def catch_up(self, on_progress: Progress | None = None) -> int:
        """Embed all that waits now; answers how many vectors were stored."""
        done = 0
        total = await self._store.embedding_backlog()
        while True:
            async with self._busy:
                stored, tried = await self._one_batch()
            done += stored
            if not tried:
                return done
            if on_progress is not None:
                total = max(total, done)
                on_progress(done, total)

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            try:
                await self.catch_up()
            except MemoryPluginError:
                log.exception("embedding failed; trying again")
                await asyncio.sleep(RETRY_S)
                self._wanted.set()

    async def _one_batch(self) -> tuple[int, int]:
        """How many vectors were stored, and how many texts were tried."""
        waiting = await self._store.unembedded(BATCH + len(self._refused))
        jobs = [one for one in waiting if (one.seq, one.version) not in self._refused][:BATCH]
        if not jobs:
            return 0, 0
        try:
            return await self._embedded(jobs), len(jobs)
        except EmbedderError:
            if len(jobs) == 1:
                self._refuse(jobs[0])
                return 0, 1
            return await self._one_by_one(jobs)

    async def _embedded(self, jobs: list[Unembedded]) -> int:
        """Embed and store; whatever a stranger's embedder does wrong is an `EmbedderError`."""
        vectors = await vectors_of(self._embedder, [one.text for one in jobs])
        return await self._store.add_vectors(list(zip(jobs, vectors, strict=True)))

    async def _one_by_one(self, jobs: list[Unembedded]) -> tuple[int, int]:
        """One text that the model refuses must not keep the others from their vectors."""
        stored = failed = 0
        for job in jobs:
            try:
                stored += await self._embedded([job])
            except EmbedderError:
                failed += 1
                self._refuse(job)
        if failed == len(jobs):
            self._refused.difference_update((one.seq, one.version) for one in jobs)
            raise EmbedderError(f"the model refused all {failed} texts it was given")
        return stored, len(jobs)

    def _refuse(self, job: Unembedded) -> None:
        log.warning("the model cannot embed event number %d; it is found by words only", job.seq)
        self._refused.add((job.seq, job.version))

    async def close(self) -> None:
        """Stop; what is left waits in the store for the next start."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
