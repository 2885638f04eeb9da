"""The events of one shelf as columns in RAM, so that a search touches no row of the file.

Rows stand in order of arrival. The columns that are handed out are never changed afterwards: a
change first makes copies (`_own`), a growing column only grows behind what was handed out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# A silence longer than this ends a stretch of conversation.
SESSION_GAP_S = 3_600.0
# Up to so many places are linked anew one by one; for more of them all rows are sorted once.
_FEW_PLACES = 16
_FIRST_CAPACITY = 64

_KINDS: Final[dict[str, type[np.generic]]] = {
    "seq": np.int64,
    "at": np.float64,
    "author": np.int32,
    "place": np.int32,
    "session": np.int64,
    "previous": np.int64,
    "importance": np.uint8,
    "words": np.float32,
    "question": np.bool_,
    "dated": np.bool_,
    "event_type": np.uint8,
}
_TEXT_COLUMNS = ("importance", "words", "question", "dated")
Block = dict[str, NDArray[Any]]


def block_of(rows: Sequence[tuple[int, ...]]) -> Block:
    """Columns of rows (seq, at, author, spot, importance, words, flags, event type)."""
    table = np.array(rows, np.int64).reshape(len(rows), 8).T
    seq, at, author, place, importance, words, flags, event_type = table
    given = {
        "seq": seq,
        # Divided, not multiplied by a millionth: the same microsecond must give the same float.
        "at": at / 1_000_000,
        "author": author,
        "place": place,
        "importance": importance,
        "words": words,
        "question": flags & 1 != 0,
        "dated": flags & 2 != 0,
        "event_type": event_type,
    }
    return {name: column.astype(_KINDS[name]) for name, column in given.items()}


class Columns:
    """The growable columns of one shelf, the int8 codes of its vectors, and who follows whom."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._count = 0
        self._lent = False
        self._data = {name: np.empty(_FIRST_CAPACITY, kind) for name, kind in _KINDS.items()}
        self._codes = np.zeros((_FIRST_CAPACITY, dim), np.int8)
        self._scale = np.empty(_FIRST_CAPACITY, np.float32)
        # The newest row of every place; None: all links are to be made anew.
        self._newest: dict[int, int] | None = {}

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of RAM these columns take."""
        columns = sum(column.nbytes for column in self._data.values())
        # A dict entry with its two numbers, roughly.
        places = 120 * len(self._newest or ())
        return columns + self._codes.nbytes + self._scale.nbytes + places

    def lend(self) -> Block:
        """All columns of all rows, to look at; they will not change."""
        self._lent = True
        return {name: column[: self._count] for name, column in self._data.items()}

    @property
    def seq(self) -> NDArray[np.int64]:
        """The numbers of the rows, ascending."""
        seq: NDArray[np.int64] = self._data["seq"][: self._count]
        return seq

    @property
    def codes(self) -> NDArray[np.int8]:
        """Int8 codes, shape (rows, dim); for use before the next change only."""
        return self._codes[: self._count]

    @property
    def scale(self) -> NDArray[np.float32]:
        """What makes the codes of a row a unit vector, NaN where there is no vector; as `codes`."""
        return self._scale[: self._count]

    def rows_of(self, seqs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of those `seqs` that are here."""
        seq = self.seq
        if not len(seq) or not len(seqs):
            return np.empty(0, np.int64)
        if seq[-1] - seq[0] + 1 == len(seq):
            # Without holes the number says the row.
            near: NDArray[np.int64] = seqs - seq[0]
            return near[(near >= 0) & (near < len(seq))]
        rows: NDArray[np.int64] = np.searchsorted(seq, seqs)
        rows[rows == len(seq)] = 0
        found: NDArray[np.int64] = rows[seq[rows] == seqs]
        return found

    def append(self, block: Block) -> None:
        """Add rows that arrived after all that are here, without vectors; `link` must follow."""
        first, count = self._count, self._count + len(block["seq"])
        if count > len(self._scale):
            self._grow(count)
        for name, column in block.items():
            self._data[name][first:count] = column
        self._data["previous"][first:count] = -1
        self._data["session"][first:count] = block["seq"]
        self._scale[first:count] = np.nan
        self._count = count

    def update(self, block: Block) -> None:
        """Take over changed texts and importances; the vectors of these rows are gone."""
        self._own()
        rows = self.rows_of(block["seq"])
        for name in _TEXT_COLUMNS:
            self._data[name][rows] = block[name]
        self._scale[rows] = np.nan

    def put_vectors(
        self,
        seqs: NDArray[np.int64],
        codes: NDArray[np.int8],
        scale: NDArray[np.float32],
    ) -> None:
        """Set the vectors of rows that are here."""
        rows = self.rows_of(seqs)
        self._codes[rows] = codes
        self._scale[rows] = scale

    def remove(self, seqs: NDArray[np.int64]) -> None:
        """Take out rows; what stood behind them moves up."""
        rows = self.rows_of(seqs)
        if not len(rows):
            return
        self._own()
        places = {int(place) for place in self._data["place"][rows]}
        stays = np.ones(self._count, np.bool_)
        stays[rows] = False
        moved = np.cumsum(stays) - 1
        moved[~stays] = -1
        first, kept = int(rows.min()), int(moved[-1] if stays[-1] else moved.max(initial=-1)) + 1
        tail = stays[first:]
        for column in (*self._data.values(), self._codes, self._scale):
            column[first:kept] = column[first : self._count][tail]
        self._count = kept
        previous = self._data["previous"][:kept]
        previous[:] = np.where(previous >= 0, moved[previous], -1)
        if self._newest is not None:
            self._newest = {place: int(moved[row]) for place, row in self._newest.items()}
        self._link_places(places)

    def link(self, first: int) -> None:
        """Find the neighbours of all rows from `first` on, which have just been appended."""
        if self._newest is None or self._count - first > max(1_000, first):
            self._link_all()
            return
        late = {row_place for row in range(first, self._count) if (row_place := self._follow(row))}
        if late:
            self._own()
            self._link_places(late)

    def _follow(self, row: int) -> int | None:
        """Link one new row to the newest of its place; the place if the row came late."""
        assert self._newest is not None  # noqa: S101 - `link` has seen to it
        at, session = self._data["at"], self._data["session"]
        place = int(self._data["place"][row])
        before = self._newest.get(place)
        if before is not None and at[row] < at[before]:
            return place
        self._newest[place] = row
        if before is not None:
            self._data["previous"][row] = before
            if at[row] - at[before] <= SESSION_GAP_S:
                session[row] = session[before]
        return None

    def _link_places(self, places: Iterable[int]) -> None:
        wanted = set(places)
        if self._newest is None or len(wanted) > _FEW_PLACES:
            self._link_all()
            return
        for place in wanted:
            rows = np.flatnonzero(self._data["place"][: self._count] == place)
            if not len(rows):
                self._newest.pop(place, None)
                continue
            order = rows[np.argsort(self._data["at"][rows], kind="stable")]
            self._chain(order)
            self._newest[place] = int(order[-1])

    def _link_all(self) -> None:
        self._own()
        place, at = self._data["place"][: self._count], self._data["at"][: self._count]
        # Rows stand in order of arrival, and both sorts are stable.
        order = np.lexsort((at, place))
        self._chain(order)
        sorted_place = place[order]
        ends = np.flatnonzero(np.append(sorted_place[1:] != sorted_place[:-1], values=True))
        if not self._count:
            ends = ends[:0]
        self._newest = dict(zip(sorted_place[ends].tolist(), order[ends].tolist(), strict=True))

    def _chain(self, order: NDArray[np.int64]) -> None:
        """Set previous and session of the rows in `order`: by place, then chronological."""
        place, at = self._data["place"][order], self._data["at"][order]
        same = np.zeros(len(order), np.bool_)
        same[1:] = place[1:] == place[:-1]
        before = np.empty_like(order)
        before[1:] = order[:-1]
        self._data["previous"][order] = np.where(same, before, -1)
        goes_on = same.copy()
        goes_on[1:] &= at[1:] - at[:-1] <= SESSION_GAP_S
        # A session is named after its first event, so that the name does not hang on who counts.
        starts = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(order))))
        self._data["session"][order] = self._data["seq"][order[starts]]

    def _grow(self, count: int) -> None:
        # By half at least: a stream that grows line by line is copied seldom.
        capacity = max(count, len(self._scale) * 3 // 2)
        for name, column in self._data.items():
            self._data[name] = _larger(column, capacity, self._count)
        self._codes = _larger(self._codes, capacity, self._count)
        self._scale = _larger(self._scale, capacity, self._count)
        self._lent = False

    def _own(self) -> None:
        """Copy the columns if somebody may still look at them."""
        if self._lent:
            self._data = {name: column.copy() for name, column in self._data.items()}
            self._lent = False


def _larger(column: NDArray[Any], capacity: int, count: int) -> NDArray[Any]:
    larger = np.empty((capacity, *column.shape[1:]), column.dtype)
    larger[:count] = column[:count]
    return larger
