"""Everything a scope lets a reader see, as columns ready to be ranked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates, TermMatch, Vectors
from memory_plugin.sqlite import words
from memory_plugin.sqlite.columns import Block, Columns
from memory_plugin.sqlite.meaning import cosines
from memory_plugin.sqlite.rows import EVENT_TYPE_NUMBERS, micros
from memory_plugin.sqlite.shelving import Shelves
from memory_plugin.types import Scope
from memory_plugin.visibility import shelves_for

# An agent's own words are no facts about others, and a clock says nothing.
_USUAL_TYPES = tuple(name for name in EVENT_TYPE_NUMBERS if name not in {"self_speech", "tick"})
_FIND_AUTHOR = "select number from author where id = ?"
_FIND_SPOT = "select number from spot where key = ?"
_IS_FOLLOWED = "select 1 from followed where entity_id = ?"


class _View:
    """The columns of several shelves as one, each event once.

    Shelves come largest first, and the rows of a later one that stand in an earlier one are left
    out; so a large shelf is never searched for the doubles of a small one.
    """

    def __init__(self, shelves: Sequence[Columns]) -> None:
        self.shelves = sorted(shelves, key=len, reverse=True)
        # For every shelf: the row of the view for each of its rows, and which rows are its own.
        self.rows: list[NDArray[np.int64]] = []
        self.own: list[NDArray[np.bool_]] = []
        count = 0
        for index, shelf in enumerate(self.shelves):
            rows = np.full(len(shelf), -1, np.int64)
            for earlier in range(index):
                seqs = self.shelves[earlier].seq
                at = np.searchsorted(seqs, shelf.seq)
                at[at == len(seqs)] = 0
                double = seqs[at] == shelf.seq if len(seqs) else np.zeros(len(shelf), np.bool_)
                rows[double] = self.rows[earlier][at[double]]
            own = rows < 0
            rows[own] = np.arange(count, count + int(own.sum()))
            count += int(own.sum())
            self.rows.append(rows)
            self.own.append(own)

    def block(self) -> Block:
        """All columns, in the order of the view."""
        blocks = []
        for shelf, rows, own in zip(self.shelves, self.rows, self.own, strict=True):
            block = shelf.lend()
            if len(self.shelves) > 1:
                previous = block["previous"]
                block["previous"] = np.where(previous >= 0, rows[previous], -1)
                block = {name: column[own] for name, column in block.items()}
            blocks.append(block)
        if len(blocks) == 1:
            return blocks[0]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def rows_of(self, seqs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the view that hold these events, ascending."""
        found = []
        for shelf, rows, own in zip(self.shelves, self.rows, self.own, strict=True):
            theirs = shelf.rows_of(seqs)
            found.append(rows[theirs[own[theirs]]])
        return np.sort(np.concatenate(found))

    def meaning(
        self, query: Vectors | None, block: Block, eligible: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Cosines, NaN where there is no vector or nobody will look at the row."""
        count = len(eligible)
        if query is None:
            return np.full(count, np.nan, np.float32)
        looked_at: NDArray[np.bool_] | None = None
        if np.count_nonzero(eligible) * 2 < count:
            looked_at = eligible.copy()
            before = block["previous"][eligible]
            looked_at[before[before >= 0]] = True
        parts = []
        for shelf, rows, own in zip(self.shelves, self.rows, self.own, strict=True):
            wanted: NDArray[np.int64] | None = None
            if looked_at is not None:
                wanted = np.flatnonzero(own & looked_at[rows])
            elif not own.all():
                wanted = np.flatnonzero(own)
            parts.append(cosines(shelf, query, wanted)[own])
        return np.concatenate(parts) if len(parts) > 1 else parts[0]


def search(
    connection: sqlite3.Connection,
    shelves: Shelves,
    scope: Scope,
    terms: Sequence[str],
    query: Vectors | None,
) -> Candidates:
    """The columns of everything visible in `scope`; see `SearchStore.search`."""
    numbers = words.known_shelves(connection, shelves_for(scope, _followed(connection, scope)))
    if not numbers:
        return _nothing(terms)
    view = _View(shelves.columns(connection, numbers))
    block = view.block()
    eligible = _eligible(connection, scope, block)
    return Candidates(
        **{name: block[name] for name in block if name != "event_type"},
        eligible=eligible,
        meaning=view.meaning(query, block, eligible),
        terms=[_match(connection, view, term, numbers) for term in terms],
    )


def _nothing(terms: Sequence[str]) -> Candidates:
    block: dict[str, Any] = Columns(0).lend()
    del block["event_type"]
    none = np.empty(0, np.int64)
    return Candidates(
        **block,
        eligible=np.empty(0, np.bool_),
        meaning=np.empty(0, np.float32),
        terms=[TermMatch(term=term, rows=none) for term in terms],
    )


def _followed(connection: sqlite3.Connection, scope: Scope) -> frozenset[str]:
    """Those present who asked to be remembered everywhere."""
    participants = scope.place.participants if scope.place is not None else ()
    present = {*participants, *scope.audience}
    return frozenset(
        one for one in present if connection.execute(_IS_FOLLOWED, (one,)).fetchone() is not None
    )


def _match(
    connection: sqlite3.Connection, view: _View, term: str, shelves: Sequence[int]
) -> TermMatch:
    rows = view.rows_of(words.find_word(connection, term, shelves))
    if len(rows):
        return TermMatch(term=term, rows=rows)
    rows = view.rows_of(words.find_inside(connection, term, shelves))
    return TermMatch(term=term, rows=rows, inside=bool(len(rows)))


def _eligible(connection: sqlite3.Connection, scope: Scope, block: Block) -> NDArray[np.bool_]:
    """Which rows pass the scope's filters."""
    types = _USUAL_TYPES if scope.event_types is None else scope.event_types
    allowed = np.zeros(256, np.bool_)
    allowed[[EVENT_TYPE_NUMBERS[name] for name in types]] = True
    eligible: NDArray[np.bool_] = allowed[block["event_type"]]
    if scope.entities is not None:
        eligible &= _among(connection, _FIND_AUTHOR, scope.entities, block["author"])
    if scope.places is not None:
        eligible &= _among(connection, _FIND_SPOT, scope.places, block["place"])
    if scope.since is not None:
        eligible &= block["at"] >= micros(scope.since) / 1_000_000
    if scope.until is not None:
        eligible &= block["at"] < micros(scope.until) / 1_000_000
    return eligible


def _among(
    connection: sqlite3.Connection, find: str, ids: Sequence[str], column: NDArray[np.int32]
) -> NDArray[np.bool_]:
    rows = [connection.execute(find, (one,)).fetchone() for one in dict.fromkeys(ids)]
    numbers = [row[0] for row in rows if row is not None]
    among: NDArray[np.bool_] = (
        column == numbers[0] if len(numbers) == 1 else np.isin(column, numbers)
    )
    return among
