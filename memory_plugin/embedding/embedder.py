"""The embedder that runs an ONNX model on the CPU."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from memory_plugin.embedding.download import PINNED, Pin, Progress, fetch_model
from memory_plugin.embedding.files import ModelFiles
from memory_plugin.embedding.kept import Kept
from memory_plugin.embedding.runtime import Runtime, Tokens
from memory_plugin.embedding.sources import find_model
from memory_plugin.embedding.true_int8 import fastest
from memory_plugin.embedding.worker import PASSAGE, QUERY, Worker
from memory_plugin.errors import ClosedError, EmbedderError, ValidationError
from memory_plugin.parts import Vectors
from memory_plugin.types import checked_text

QUERIES_KEPT = 512
COUNTS_KEPT = 8192
# Queries in greater number are nobody's who waits, and let others go first.
URGENT_QUERIES = 8
# A query waits for as many texts to be read at most; even long ones take only milliseconds.
TEXTS_A_JOB = 32


class OnnxEmbedder:
    """Sentence vectors of an ONNX model, computed in threads of its own.

    Made by `OnnxEmbedder.open` or `open_embedder`. Queries go before passages that wait, and the
    newest `QUERIES_KEPT` queries are remembered.
    """

    def __init__(self, runtime: Runtime, worker: Worker, note: str) -> None:
        self.name = runtime.files.name
        self.dim = runtime.dim
        self._runtime = runtime
        self._worker = worker
        self._note = note
        self._queries: Kept[Vectors] = Kept(QUERIES_KEPT)
        self._counts: Kept[int] = Kept(COUNTS_KEPT)
        self._closed = False

    @classmethod
    async def open(
        cls, files: ModelFiles, *, cache_dir: Path | None = None, threads: int = 1
    ) -> Self:
        """Load a model in its worker; `threads` is how many batches may run at once.

        With a `cache_dir`, the packaged model is used in its faster form, which is built there once
        in a few seconds. Raises `EmbedderError` when a file is missing, damaged or no model.
        """
        worker = Worker("memory-plugin-embedding", threads)
        try:
            if files.packaged and cache_dir is not None:
                runtime, note = await worker.ask(partial(fastest, files, cache_dir))
            else:
                runtime, note = await worker.ask(partial(Runtime, files)), "as it is"
        except BaseException:
            await worker.close()
            raise
        return cls(runtime, worker, note)

    async def embed(
        self, texts: Sequence[str], kind: Literal["passage", "query"] = "passage"
    ) -> Vectors:
        """Unit rows, shape (len(texts), dim), float32, in the order given.

        Raises `EmbedderError` if a text cannot be encoded or the model fails, `ClosedError` after
        `close`.
        """
        if self._closed:
            raise ClosedError("the embedder is closed")
        if isinstance(texts, str):
            raise EmbedderError("embed takes a list of texts, not one text")
        for text in texts:
            _check(text)
        if kind == "query" and len(texts) == 1:
            return await self._query(texts[0])
        return await self._computed(texts, kind)

    async def _query(self, text: str) -> Vectors:
        known = self._queries.get(text)
        if known is None:
            # In one job: going to the thread and back costs as much as reading the text.
            asked = [self._runtime.files.query_prefix + text]
            known = await self._worker.ask(partial(self._runtime.embed, asked), QUERY)
            self._queries.put(text, known)
        return known.copy()

    async def _computed(self, texts: Sequence[str], kind: str) -> Vectors:
        files = self._runtime.files
        prefix = files.query_prefix if kind == "query" else files.passage_prefix
        urgent = kind == "query" and len(texts) <= URGENT_QUERIES
        urgency = QUERY if urgent else PASSAGE
        tokens: list[Tokens] = []
        for start in range(0, len(texts), TEXTS_A_JOB):
            some = [prefix + text for text in texts[start : start + TEXTS_A_JOB]]
            tokens += await self._worker.ask(partial(self._runtime.tokens, some), urgency)
        cut = self._runtime.batches(tokens)
        # Each batch is a job of its own, so that a query waits for one batch and not for all.
        jobs = [
            self._worker.ask(
                partial(self._runtime.vectors, [tokens[place] for place in places]), urgency
            )
            for places in cut
        ]
        rows = np.empty((len(texts), self.dim), np.float32)
        try:
            for places, job in zip(cut, jobs, strict=True):
                rows[places] = await job
        except BaseException:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            raise
        return rows

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer, special ones not counted.

        A text of more than 100,000 characters is counted by its beginning, in proportion.
        """
        known = self._counts.get(text)
        if known is None:
            _check(text)
            known = self._runtime.count_tokens(text)
            self._counts.put(text, known)
        return known

    def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`: which model, from where, in which form."""
        files = self._runtime.files
        return {
            "name": self.name,
            "dim": self.dim,
            "origin": files.origin,
            "tried": list(files.tried),
            "file": str(files.model),
            "graph": self._note,
            "max_tokens": files.max_tokens,
            "pooling": files.pooling,
        }

    async def close(self) -> None:
        """Give up what waits, end the threads. Safe to call twice."""
        self._closed = True
        self._queries.clear()
        self._counts.clear()
        await self._worker.close()


def _check(text: str) -> None:
    try:
        checked_text("text", text)
    except ValidationError as fault:
        raise EmbedderError(f"cannot embed: {fault}") from fault


async def open_embedder(
    *,
    model_dir: Path | None,
    cache_dir: Path,
    allow_download: bool = False,
    on_progress: Progress | None = None,
    pin: Pin = PINNED,
    threads: int = 1,
) -> OnnxEmbedder:
    """The model that `find_model` finds, in its fastest form; downloaded first if allowed.

    `on_progress` gets (bytes so far, bytes in all) of a download, on the loop's thread. Raises
    `EmbedderError` that says how to get a model when there is none.
    """
    worker = Worker("memory-plugin-model-files")
    given_up = threading.Event()
    find = partial(find_model, model_dir=model_dir, cache_dir=cache_dir)
    try:
        try:
            files = await worker.ask(find)
        except EmbedderError:
            if model_dir is not None or not allow_download:
                raise
            report = _on_loop(on_progress, given_up)
            await worker.ask(partial(fetch_model, cache_dir, pin, report))
            files = await worker.ask(find)
    finally:
        # A download that is under way ends at its next block.
        given_up.set()
        await worker.close()
    return await OnnxEmbedder.open(files, cache_dir=cache_dir, threads=threads)


def _on_loop(on_progress: Progress | None, given_up: threading.Event) -> Callable[[int, int], None]:
    loop = asyncio.get_running_loop()

    def report(done: int, total: int) -> None:
        if given_up.is_set():
            raise EmbedderError("the download was given up")
        if on_progress is not None:
            loop.call_soon_threadsafe(on_progress, done, total)

    return report
