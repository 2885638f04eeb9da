"""A model that is loaded: text to tokens to vectors. Everything here blocks; see `worker`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.embedding.files import ModelFiles, Pooling
from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Vectors

# Padding is what costs: batches are of texts of like length, and small.
MOST_ROWS = 8
MOST_TOKENS = 512
# A tokenizer reads the whole text before it cuts; this is more than any model looks at.
MOST_CHARS = 20_000


class Runtime:
    """One ONNX session and its tokenizer."""

    def __init__(self, files: ModelFiles) -> None:
        """Load both; raises `EmbedderError` that names the file that is at fault."""
        self.files = files
        self._tokenizer = load_tokenizer(files)
        self._counter = load_tokenizer(files)
        self._counter.no_truncation()
        self._session = load_session(files)
        inputs = {one.name for one in self._session.get_inputs()}
        missing = {"input_ids", "attention_mask"} - inputs
        if missing:
            raise EmbedderError(f"{files.model} has no input {min(missing)!r}")
        self._wants_types = "token_type_ids" in inputs
        probe = self._run([self._tokenizer.encode("probe")])
        self.dim = int(probe.shape[1])

    def count_tokens(self, text: str) -> int:
        """Tokens of the whole text, special ones not counted."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[Any]]]:
        """Texts cut into batches of like length: their places in `texts`, and their tokens."""
        cut = [text[:MOST_CHARS] for text in texts]
        encoded = self._tokenizer.encode_batch(cut)
        order = sorted(range(len(texts)), key=lambda place: (len(encoded[place].ids), place))
        batch: list[int] = []
        for place in order:
            length = len(encoded[place].ids)
            if batch and (len(batch) == MOST_ROWS or length * (len(batch) + 1) > MOST_TOKENS):
                yield batch, [encoded[one] for one in batch]
                batch = []
            batch.append(place)
        if batch:
            yield batch, [encoded[one] for one in batch]

    def vectors(self, encoded: Sequence[Any]) -> Vectors:
        """Unit rows for one batch; refuses what has no direction."""
        if self.files.one_by_one:
            rows = np.concatenate([self._run([one]) for one in encoded])
        else:
            rows = self._run(encoded)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(length).all() or (length < 1e-12).any():
            raise EmbedderError(f"the model {self.files.name} gave a vector without a direction")
        unit: Vectors = rows / length
        return unit

    def _run(self, encoded: Sequence[Any]) -> Vectors:
        width = max(len(one.ids) for one in encoded)
        ids = np.zeros((len(encoded), width), np.int64)
        mask = np.zeros((len(encoded), width), np.int64)
        for row, one in enumerate(encoded):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask}
        if self._wants_types:
            feed["token_type_ids"] = np.zeros_like(ids)
        try:
            output = self._session.run(None, feed)[0]
        except Exception as fault:  # the runtime's errors share no base of their own
            raise EmbedderError(f"the model {self.files.name} failed: {fault}") from fault
        return _pooled(np.asarray(output, np.float32), mask, self.files.pooling)


def _pooled(output: Vectors, mask: NDArray[np.int64], pooling: Pooling) -> Vectors:
    if output.ndim == 2:
        # The graph pools by itself.
        return output
    if pooling == "cls":
        first: Vectors = output[:, 0, :]
        return first
    weight = mask[:, :, None].astype(np.float32)
    mean: Vectors = (output * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1.0)
    return mean


def load_tokenizer(files: ModelFiles) -> Any:
    """The tokenizer without the padding that shipped ones come with, cut at the model's length."""
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError as fault:
        raise EmbedderError('needs tokenizers: pip install "memory-plugin[model]"') from fault
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as fault:  # the library raises bare Exception
        raise EmbedderError(f"cannot read the tokenizer {files.tokenizer}: {fault}") from fault
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=files.max_tokens)
    return tokenizer


def load_session(files: ModelFiles) -> Any:
    """A session that takes one thread, no arena, and never spins while it waits."""
    try:
        import onnxruntime  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError as fault:
        raise EmbedderError('needs onnxruntime: pip install "memory-plugin[model]"') from fault
    options = onnxruntime.SessionOptions()
    # Two threads in one operator take both cores of a small machine and make an event loop late by
    # milliseconds; the arena keeps what the longest batch once needed, over a gigabyte.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(files.model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as fault:  # the runtime's errors share no base of their own
        raise EmbedderError(f"cannot load the model {files.model}: {fault}") from fault
