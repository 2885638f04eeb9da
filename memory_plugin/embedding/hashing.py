"""An embedder without a model: the same text gives the same vector, everywhere and for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from memory_plugin.errors import ClosedError, EmbedderError, ValidationError
from memory_plugin.parts import Vectors
from memory_plugin.text import WORD, estimate_tokens
from memory_plugin.types import checked_text

# More would only add noise, and the loop must not be held.
MOST_CHARS = 2048


class HashingEmbedder:
    """Texts that share words or parts of words come near to each other.

    For tests, and for those who want no model. Each word and each of its three-letter parts adds
    plus or minus one to a dimension that its hash picks (the hashing trick, Weinberger et al.
    2009).
    """

    def __init__(self, dim: int = 64) -> None:
        if dim < 8:
            raise EmbedderError(f"dim must be at least 8, not {dim}")
        self.name = f"hashing/{dim}/1"
        self.dim = dim
        self._closed = False

    async def embed(
        self, texts: Sequence[str], kind: Literal["passage", "query"] = "passage"
    ) -> Vectors:
        """Unit rows, shape (len(texts), dim)."""
        del kind
        if self._closed:
            raise ClosedError("the embedder is closed")
        if isinstance(texts, str):
            raise EmbedderError("embed takes a list of texts, not one text")
        for text in texts:
            try:
                checked_text("text", text)
            except ValidationError as fault:
                raise EmbedderError(f"cannot embed: {fault}") from fault
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            self._fill(row, text)
            # A long batch lets others have their turn.
            await asyncio.sleep(0)
        return rows

    def _fill(self, row: Vectors, text: str) -> None:
        for word in WORD.findall(text[:MOST_CHARS].lower()):
            marked = f"<{word}>"
            self._add(row, word, 1.0)
            for start in range(len(marked) - 2):
                self._add(row, marked[start : start + 3], 0.5)
        length = float(np.linalg.norm(row))
        if length > 0:
            row /= length
        else:
            # No word, or parts that cancel out: a fixed direction is still a valid vector.
            row[:] = 0.0
            row[0] = 1.0

    def _add(self, row: Vectors, part: str, weight: float) -> None:
        digest = int.from_bytes(blake2b(part.encode(), digest_size=8).digest())
        row[(digest >> 1) % self.dim] += weight if digest & 1 else -weight

    def count_tokens(self, text: str) -> int:
        """An estimate, since there is no tokenizer."""
        return estimate_tokens(text)

    def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`."""
        return {"name": self.name, "dim": self.dim, "origin": "built in, no model"}

    async def close(self) -> None:
        """Refuse from now on."""
        self._closed = True
