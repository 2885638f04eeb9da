"""A model that is loaded: text to tokens to vectors. Everything here blocks; see `worker`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.embedding.files import ModelFiles, Pooling
from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Vectors

Tokens = NDArray[np.int64]

# Padding is what costs: batches are of texts of like length, and small.
MOST_ROWS = 8
MOST_TOKENS = 512
# Texts that are computed one by one gain nothing from each other, and a query waits for less.
MOST_TOKENS_ONE_BY_ONE = 128
# A tokenizer reads the whole text before it cuts. No language has words this long on average.
CHARS_A_TOKEN = 16
# Handing a short text to the tokenizer's own threads takes three times as long as reading it here;
# a long one would keep all other Python threads from running meanwhile.
AT_ONCE_CHARS = 512
# A longer text is counted by its beginning, because counting holds the caller up, 0.5 microseconds
# a character.
COUNTED_CHARS = 100_000
_INPUTS = ("input_ids", "attention_mask")
_TYPES = "token_type_ids"
_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Runtime:
    """One ONNX session and its tokenizer."""

    def __init__(self, files: ModelFiles) -> None:
        """Load both; raises `EmbedderError` that names the file that is at fault."""
        self.files = files
        self._tokenizer = load_tokenizer(files)
        self._session = load_session(files)
        self._inputs = self._checked_inputs()
        # Others (pooled or already normalised) need not be computed at all.
        self._output = self._session.get_outputs()[0].name
        self.dim = int(self.embed(["probe"]).shape[1])

    def _checked_inputs(self) -> dict[str, Any]:
        """The graph's inputs and the number type each wants."""
        inputs = {one.name: _NUMBERS.get(one.type) for one in self._session.get_inputs()}
        for name in _INPUTS:
            if name not in inputs:
                raise EmbedderError(f"{self.files.model} has no input {name!r}")
        for name, number in inputs.items():
            if name not in (*_INPUTS, _TYPES) or number is None:
                raise EmbedderError(f"{self.files.model} wants an input {name!r} we cannot give")
        return inputs

    def count_tokens(self, text: str) -> int:
        """Tokens of the whole text, special ones not counted."""
        encoded = self._tokenizer.encode(text[:COUNTED_CHARS], add_special_tokens=False)
        # The tokenizer cuts at the model's length; what it cut off is here as well.
        count = len(encoded) + sum(len(rest) for rest in encoded.overflowing)
        if len(text) > COUNTED_CHARS:
            count = -(-count * len(text) // COUNTED_CHARS)
        return count

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The token numbers of each text, special ones included, cut at the model's length."""
        most = self.files.max_tokens * CHARS_A_TOKEN
        cut = [text[:most] for text in texts]
        try:
            if len(cut) == 1 and len(cut[0]) <= AT_ONCE_CHARS:
                encoded = [self._tokenizer.encode(cut[0])]
            else:
                encoded = self._tokenizer.encode_batch(cut)
        except Exception as fault:  # the library raises bare Exception
            raise EmbedderError(f"the tokenizer of {self.files.name} failed: {fault}") from fault
        # A tokenizer without special tokens makes nothing of an empty text.
        return [np.array(one.ids or [0], np.int64) for one in encoded]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows for a few texts, as one batch."""
        return self.vectors(self.tokens(texts))

    def batches(self, tokens: Sequence[Tokens]) -> list[list[int]]:
        """The places of these texts, cut into small batches of like length."""
        most = MOST_TOKENS_ONE_BY_ONE if self.files.one_by_one else MOST_TOKENS
        return grouped([len(one) for one in tokens], most)

    def vectors(self, batch: Sequence[Tokens]) -> Vectors:
        """Unit rows for one batch; refuses what has no direction."""
        if self.files.one_by_one:
            rows = np.concatenate([self._run([one]) for one in batch])
        else:
            rows = self._run(batch)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(length).all() or (length < 1e-12).any():
            raise EmbedderError(f"the model {self.files.name} gave a vector without a direction")
        unit: Vectors = rows / length
        return unit

    def _run(self, batch: Sequence[Tokens]) -> Vectors:
        shape = len(batch), max(len(one) for one in batch)
        mask = np.zeros(shape, np.int64)
        ids = np.zeros(shape, np.int64)
        for row, one in enumerate(batch):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": ids, "attention_mask": mask, _TYPES: np.zeros_like(ids)}
        feed = {name: given[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        try:
            output = self._session.run([self._output], feed)[0]
        except Exception as fault:  # the runtime's errors share no base of their own
            raise EmbedderError(f"the model {self.files.name} failed: {fault}") from fault
        return self._pooled(np.asarray(output, np.float32), mask, self.files.pooling)

    def _pooled(self, output: Vectors, mask: NDArray[np.int64], pooling: Pooling) -> Vectors:
        if output.ndim == 2 and len(output) == len(mask):
            # The graph pools by itself.
            return output
        if output.ndim != 3 or output.shape[:2] != mask.shape:
            raise EmbedderError(f"{self.files.model} answers in a shape we do not know")
        if pooling == "cls":
            first: Vectors = output[:, 0, :]
            return first
        # As a product of matrices, which is several times as fast as multiplying and summing.
        total: Vectors = np.matmul(mask[:, None, :].astype(np.float32), output)[:, 0, :]
        mean: Vectors = total / mask.sum(axis=1, dtype=np.float32)[:, None]
        return mean


def grouped(lengths: Sequence[int], most_tokens: int) -> list[list[int]]:
    """The places of texts of these lengths, shortest first, in groups to be padded together.

    A group has at most `MOST_ROWS` and, padded, at most `most_tokens` tokens; a text longer than
    that stands alone.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        rows = len(groups[-1]) if groups else MOST_ROWS
        if rows == MOST_ROWS or lengths[place] * (rows + 1) > most_tokens:
            groups.append([])
        groups[-1].append(place)
    return groups


def load_tokenizer(files: ModelFiles) -> Any:
    """The tokenizer without the padding that shipped ones come with, cut at the model's length."""
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError as fault:
        raise EmbedderError('needs tokenizers: pip install "memory-plugin[model]"') from fault
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=files.max_tokens)
    except Exception as fault:  # the library raises bare Exception
        raise EmbedderError(f"cannot read the tokenizer {files.tokenizer}: {fault}") from fault
    return tokenizer


def switch_telemetry_off() -> None:
    """Keep the runtime from reporting about this machine; before it is imported.

    It would write and send facts about processor, system and interpreter. An owner who wants that
    can set the variable to 0.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def load_session(files: ModelFiles) -> Any:
    """A session that takes one thread, no arena, and never spins while it waits."""
    switch_telemetry_off()
    try:
        import onnxruntime  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError as fault:
        raise EmbedderError('needs onnxruntime: pip install "memory-plugin[model]"') from fault
    # For a host that had imported the runtime before.
    onnxruntime.disable_telemetry_events()
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
