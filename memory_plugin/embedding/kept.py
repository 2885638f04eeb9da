"""Results worth keeping, by the text they belong to, without keeping the text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The results of the newest `most` different texts; what people said is held as a digest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: OrderedDict[bytes, T] = OrderedDict()
        # Contexts are written in other threads than the one that asks.
        self._lock = threading.Lock()

    def get(self, text: str) -> T | None:
        """The result kept for a text, or None."""
        key = _key(text)
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
            return found

    def put(self, text: str, result: T) -> None:
        """Keep a result; the one that was not asked for longest may go."""
        key = _key(text)
        with self._lock:
            self._results[key] = result
            if len(self._results) > self._most:
                self._results.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
