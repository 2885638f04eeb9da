"""The shelves that are in RAM: loaded when first searched, kept as new as the file, bounded."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_plugin.sqlite.coding import unpacked
from memory_plugin.sqlite.columns import Columns, block_of

_LOAD_BLOCK = 20_000
_STATE = """
    select meta.revision, meta.gone_floor, meta.model, model.dim
    from meta
    left join model on model.number = meta.model
    """
_ROW = "e.seq, e.at, e.author, e.spot, e.importance, e.words, e.flags, e.event_type, v.code"
_LOAD = f"""
    select {_ROW}
    from event_shelf s
    cross join event e on e.seq = s.seq
    left join vector v on v.seq = e.seq and v.model = ?
    where s.shelf = ?
    order by s.seq
    """  # noqa: S608 - made of constants
_CHANGED = f"""
    select {_ROW}
    from event e indexed by event_revision
    cross join event_shelf s on s.shelf = ? and s.seq = e.seq
    left join vector v on v.seq = e.seq and v.model = ?
    where e.revision > ?
    order by e.seq
    """  # noqa: S608 - made of constants
_VECTORS = """
    select v.seq, v.code
    from vector v indexed by vector_revision
    cross join event_shelf s on s.shelf = ? and s.seq = v.seq
    where v.revision > ? and v.model = ?
    """
_GONE = "select seq from gone where revision > ?"
_HOW_MANY = """
    select count(*)
    from (
        select 1 from event where revision > ?
        union all
        select 1 from vector where revision > ?
        limit ?
    )
    """


@dataclass(frozen=True, slots=True)
class State:
    """What the file says of itself in the moment of a search."""

    revision: int
    gone_floor: int
    model: int | None
    dim: int


@dataclass(slots=True)
class _Shelf:
    columns: Columns
    revision: int
    model: int | None


class Shelves:
    """The least recently searched shelf goes first when the bytes run out.

    A single shelf larger than `budget_bytes` is kept alone. Used by one thread.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._shelves: OrderedDict[int, _Shelf] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes of RAM all shelves take."""
        return sum(shelf.columns.nbytes for shelf in list(self._shelves.values()))

    def __len__(self) -> int:
        return len(self._shelves)

    def columns(self, connection: sqlite3.Connection, wanted: Iterable[int]) -> list[Columns]:
        """The columns of shelves, as they are in the read transaction that is open."""
        state = _state(connection)
        found = []
        for number in wanted:
            shelf = self._shelves.get(number)
            if shelf is None or not _refresh(connection, number, shelf, state):
                shelf = _load(connection, number, state)
                self._shelves[number] = shelf
            self._shelves.move_to_end(number)
            found.append(shelf.columns)
        self._evict(len(found))
        return found

    def _evict(self, in_use: int) -> None:
        excess = self.nbytes - self._budget
        while excess > 0 and len(self._shelves) > max(in_use, 1):
            _, shelf = self._shelves.popitem(last=False)
            excess -= shelf.columns.nbytes


def _state(connection: sqlite3.Connection) -> State:
    revision, gone_floor, model, dim = connection.execute(_STATE).fetchone()
    return State(revision=revision, gone_floor=gone_floor, model=model, dim=dim or 0)


def _load(connection: sqlite3.Connection, number: int, state: State) -> _Shelf:
    columns = Columns(state.dim)
    rows = connection.execute(_LOAD, (state.model, number))
    while block := rows.fetchmany(_LOAD_BLOCK):
        _append(columns, block)
    columns.link(0)
    return _Shelf(columns=columns, revision=state.revision, model=state.model)


def _refresh(connection: sqlite3.Connection, number: int, shelf: _Shelf, state: State) -> bool:
    """Bring a shelf up to date; False when loading it anew is the better way."""
    since = shelf.revision
    if since == state.revision:
        return True
    if shelf.model != state.model or since < state.gone_floor:
        return False
    columns = shelf.columns
    bearable = max(2_000, len(columns))
    if connection.execute(_HOW_MANY, (since, since, bearable)).fetchone()[0] == bearable:
        return False
    gone = [row[0] for row in connection.execute(_GONE, (since,))]
    if gone:
        columns.remove(np.array(gone, np.int64))
    newest = int(columns.seq[-1]) if len(columns) else 0
    changed = connection.execute(_CHANGED, (number, state.model, since)).fetchall()
    old = [row for row in changed if row[0] <= newest]
    if old:
        columns.update(block_of([row[:8] for row in old]))
        _put_vectors(columns, [(row[0], row[8]) for row in old if row[8] is not None])
    first = len(columns)
    _append(columns, changed[len(old) :])
    columns.link(first)
    _put_vectors(columns, connection.execute(_VECTORS, (number, since, state.model)).fetchall())
    shelf.revision = state.revision
    return True


def _append(columns: Columns, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        columns.append(block_of([row[:8] for row in rows]))
        _put_vectors(columns, [(row[0], row[8]) for row in rows if row[8] is not None])


def _put_vectors(columns: Columns, vectors: Sequence[tuple[int, bytes]]) -> None:
    if vectors:
        codes, scale = unpacked([blob for _, blob in vectors], columns.dim)
        columns.put_vectors(np.array([seq for seq, _ in vectors], np.int64), codes, scale)
