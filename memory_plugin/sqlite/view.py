"""Several shelves seen as one, each event once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Vectors
from memory_plugin.sqlite.columns import Block, Columns
from memory_plugin.sqlite.meaning import cosines

Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Part:
    """One shelf of a view: which row of the view each of its rows is, and which it brought."""

    shelf: Columns
    first: int
    rows: Rows | None = None  # None: from `first` on, in order
    own: Marks | None = None  # None: all

    def in_view(self, rows: Rows) -> Rows:
        return rows + self.first if self.rows is None else self.rows[rows]

    def seen_in(self, marks: Marks) -> Marks:
        """Marks of the view's rows as marks of this shelf's rows."""
        if self.rows is None:
            return marks[self.first : self.first + len(self.shelf)]
        return marks[self.rows]


class View:
    """The columns of several shelves as one.

    Shelves come largest first, and the rows of a later one that stand in an earlier one are left
    out; so a large shelf is never sorted for the doubles of a small one.
    """

    def __init__(self, shelves: Sequence[Columns]) -> None:
        self._parts: list[_Part] = []
        self._count = 0
        for shelf in sorted(shelves, key=len, reverse=True):
            self._parts.append(self._part(shelf))

    def _part(self, shelf: Columns) -> _Part:
        first, rows = self._count, np.full(len(shelf), -1, np.int64)
        for earlier in self._parts:
            here, there = _doubles(shelf.seq, earlier.shelf.seq)
            rows[here] = earlier.in_view(there)
        own = rows < 0
        count = int(np.count_nonzero(own))
        self._count += count
        if count == len(shelf):
            return _Part(shelf, first)
        rows[own] = np.arange(first, first + count)
        return _Part(shelf, first, rows, own)

    def __len__(self) -> int:
        return self._count

    def block(self) -> Block:
        """All columns, in the order of the view."""
        if len(self._parts) == 1:
            return self._parts[0].shelf.lend()
        blocks = []
        for part in self._parts:
            block = part.shelf.lend()
            previous = block["previous"]
            block["previous"] = np.where(previous >= 0, part.in_view(previous), -1)
            if part.own is not None:
                block = {name: column[part.own] for name, column in block.items()}
            blocks.append(block)
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def rows_of(self, seqs: NDArray[np.int64]) -> Rows:
        """The rows of the view that hold these events; `seqs` ascend."""
        found = []
        for part in self._parts:
            theirs = part.shelf.rows_of(seqs)
            if part.own is not None:
                theirs = theirs[part.own[theirs]]
            found.append(part.in_view(theirs))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def seqs_of(self, rows: Rows) -> NDArray[np.int64]:
        """The numbers of the events in rows of the view."""
        if len(self._parts) == 1:
            return self._parts[0].shelf.seq[rows]
        seqs: NDArray[np.int64] = self.block()["seq"][rows]
        return seqs

    def meaning(self, query: Vectors | None, block: Block, eligible: Marks) -> NDArray[np.float32]:
        """Cosines, NaN where there is no vector or nobody will look at the row."""
        if query is None:
            return np.full(self._count, np.nan, np.float32)
        looked_at: Marks | None = None
        if np.count_nonzero(eligible) * 2 < self._count:
            looked_at = eligible.copy()
            before = block["previous"][eligible]
            looked_at[before[before >= 0]] = True
        parts = []
        for part in self._parts:
            wanted = part.own
            if looked_at is not None:
                theirs = part.seen_in(looked_at)
                wanted = theirs if wanted is None else wanted & theirs
            rows = None if wanted is None else np.flatnonzero(wanted)
            meaning = cosines(part.shelf, query, rows)
            parts.append(meaning if part.own is None else meaning[part.own])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _doubles(small: Rows, large: Rows) -> tuple[Rows, Rows]:
    """Where numbers of `small` stand in `large` (both ascend): positions here and there."""
    if not len(large):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    there = np.searchsorted(large, small)
    there[there == len(large)] = 0
    here = np.flatnonzero(large[there] == small)
    return here, there[here]
