"""The embedder that runs an ONNX model on the CPU."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from memory_plugin.embedding.download import PINNED, Pin, fetch_model
from memory_plugin.embedding.files import ModelFiles, download_folder, find_model
from memory_plugin.embedding.runtime import Runtime
from memory_plugin.embedding.true_int8 import faster_form
from memory_plugin.embedding.worker import PASSAGE, QUERY, Worker
from memory_plugin.errors import ClosedError, EmbedderError, ValidationError
from memory_plugin.parts import Vectors
from memory_plugin.types import checked_text

Progress = Callable[[int, int], None]

QUERIES_KEPT = 512
COUNTS_KEPT = 4096
LONGEST_KEPT = 400


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
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._closed = False

    @classmethod
    async def open(cls, files: ModelFiles, *, threads: int = 1, note: str = "as it is") -> Self:
        """Load a model in its worker; `threads` is how many batches may run at once.

        Raises `EmbedderError` when a file is missing, damaged or no model.
        """
        worker = Worker("memory-plugin-embedding", threads)
        try:
            runtime = await worker.ask(partial(Runtime, files))
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
        for text in texts:
            try:
                checked_text("text", text)
            except ValidationError as fault:
                raise EmbedderError(f"cannot embed: {fault}") from fault
        if kind == "query" and len(texts) == 1:
            return await self._query(texts[0])
        return await self._computed(texts, kind)

    async def _query(self, text: str) -> Vectors:
        known = self._queries.get(text)
        if known is None:
            known = await self._computed([text], "query")
            known.flags.writeable = False
            if len(text) <= LONGEST_KEPT:
                self._queries[text] = known
                if len(self._queries) > QUERIES_KEPT:
                    self._queries.popitem(last=False)
        else:
            self._queries.move_to_end(text)
        return known

    async def _computed(self, texts: Sequence[str], kind: str) -> Vectors:
        rows = np.empty((len(texts), self.dim), np.float32)
        if not texts:
            return rows
        files = self._runtime.files
        prefix = files.query_prefix if kind == "query" else files.passage_prefix
        urgency = QUERY if kind == "query" else PASSAGE
        prefixed = [prefix + text for text in texts]
        cut = await self._worker.ask(lambda: list(self._runtime.batches(prefixed)), urgency)
        # Each batch is a job of its own, so that a query waits for one batch and not for all.
        jobs = [
            self._worker.ask(partial(self._runtime.vectors, encoded), urgency) for _, encoded in cut
        ]
        try:
            for (places, _), vectors in zip(cut, await asyncio.gather(*jobs), strict=True):
                rows[places] = vectors
        except BaseException:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            raise
        return rows

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer, special ones not counted."""
        known = self._counts.get(text)
        if known is None:
            known = self._runtime.count_tokens(text)
            if len(text) <= LONGEST_KEPT:
                self._counts[text] = known
                if len(self._counts) > COUNTS_KEPT:
                    self._counts.popitem(last=False)
        return known

    def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`: which model, from where, in which form."""
        files = self._runtime.files
        return {
            "name": self.name,
            "dim": self.dim,
            "origin": files.origin,
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

    `on_progress` gets (bytes so far, bytes in all) of a download. Raises `EmbedderError`.
    """
    worker = Worker("memory-plugin-model-files")
    try:
        try:
            files = await worker.ask(partial(find_model, model_dir=model_dir, cache_dir=cache_dir))
        except EmbedderError:
            if model_dir is not None or not allow_download:
                raise
            folder = download_folder(cache_dir)
            await worker.ask(partial(fetch_model, folder, pin, on_progress))
            files = await worker.ask(partial(find_model, model_dir=None, cache_dir=cache_dir))
        note = "as it is"
        if files.packaged:
            files, note = await worker.ask(partial(faster_form, files, cache_dir))
    finally:
        await worker.close()
    return await OnnxEmbedder.open(files, threads=threads, note=note)
