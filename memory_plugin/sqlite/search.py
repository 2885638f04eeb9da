"""Everything a scope lets a reader see, as columns ready to be ranked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates, TermMatch, Vectors
from memory_plugin.sqlite import words
from memory_plugin.sqlite.coding import model_in_use
from memory_plugin.sqlite.columns import Block, Columns
from memory_plugin.sqlite.rows import EVENT_TYPE_NUMBERS, micros
from memory_plugin.sqlite.shelving import Shelves
from memory_plugin.sqlite.view import View
from memory_plugin.types import Scope
from memory_plugin.visibility import agent_shelf, is_person, shelves_for

# An agent's own words are no facts about others, and a clock says nothing.
_USUAL_TYPES = tuple(name for name in EVENT_TYPE_NUMBERS if name not in {"self_speech", "tick"})
# So many events, the newest, are read to see whether a word really stands inside them.
MOST_VERIFIED = 256
_LARGE_PART = 5
_FIND_AUTHOR = "select number from author where id = ?"
_FIND_SPOT = "select number from spot where key = ?"
_IS_FOLLOWED = "select 1 from followed where entity_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for: words, and a vector of the model with that name."""

    terms: tuple[str, ...]
    vector: Vectors | None
    model: str | None


def search(
    connection: sqlite3.Connection,
    shelves: Shelves,
    scope: Scope,
    query: Query,
) -> Candidates:
    """The columns of everything visible in `scope`; see `SearchStore.search`."""
    names = shelves_for(scope, _followed(connection, scope))
    numbers = words.known_shelves(connection, names)
    if not numbers:
        return _nothing(query.terms)
    view = View(shelves.columns(connection, numbers))
    block = view.block()
    eligible = _eligible(connection, scope, block)
    return Candidates(
        **{name: block[name] for name in block if name != "event_type"},
        eligible=eligible,
        meaning=view.meaning(_vector(connection, query), block, eligible),
        terms=_matches(connection, view, query.terms, _worded(connection, scope, names)),
    )


def _worded(connection: sqlite3.Connection, scope: Scope, names: Sequence[str]) -> list[int]:
    """The shelves to look words up on, which hold at least what is in view.

    A person's lines have no words of their own; the agent's hold them, and what is not in view
    is dropped before anything is counted.
    """
    if any(is_person(name) for name in names):
        names = [agent_shelf(scope.agent_id)]
    return words.known_shelves(connection, names)


def _vector(connection: sqlite3.Connection, query: Query) -> Vectors | None:
    """The query's vector, unless the vectors in the file are of another model."""
    model = model_in_use(connection)
    return query.vector if model is not None and model[1] == query.model else None


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


def visible_shelves(connection: sqlite3.Connection, scope: Scope) -> list[int]:
    """The numbers of the shelves whose events may be shown in `scope`."""
    return words.known_shelves(connection, shelves_for(scope, _followed(connection, scope)))


def followed(connection: sqlite3.Connection, entity_ids: Iterable[str]) -> frozenset[str]:
    """Those of `entity_ids` who wished to be followed across spaces."""
    return frozenset(
        one for one in entity_ids if connection.execute(_IS_FOLLOWED, (one,)).fetchone() is not None
    )


def _followed(connection: sqlite3.Connection, scope: Scope) -> frozenset[str]:
    """Those present who asked to be remembered everywhere."""
    participants = scope.place.participants if scope.place is not None else ()
    return followed(connection, {*participants, *scope.audience})


def _matches(
    connection: sqlite3.Connection, view: View, terms: Sequence[str], numbers: Sequence[int]
) -> list[TermMatch]:
    """Where the words of the query stand; a word that stands nowhere is looked for inside words."""
    newest = connection.execute("select max(seq) from event").fetchone()[0] or 0
    # A view of much of the file is quicker to apply to the answer than to ask with. What is not in
    # view is dropped either way, before anything is counted or cut.
    shelves = None if len(view) * _LARGE_PART >= newest else numbers
    found = []
    for term in terms:
        rows = view.rows_of(words.find_word(connection, term, numbers))
        inside = False
        if not len(rows):
            rows = view.rows_of(words.maybe_inside(connection, term, shelves))
            rows = _verified(connection, view, rows, term)
            inside = bool(len(rows))
        found.append(TermMatch(term=term, rows=rows, inside=inside))
    return found


def _verified(
    connection: sqlite3.Connection, view: View, rows: NDArray[np.int64], term: str
) -> NDArray[np.int64]:
    """Those of the newest `MOST_VERIFIED` rows whose text holds the term."""
    if not len(rows):
        return rows
    seqs = view.seqs_of(rows)
    order = np.argsort(seqs)[-MOST_VERIFIED:]
    kept = [words.holds(connection, seq, term) for seq in seqs[order].tolist()]
    return np.sort(rows[order][np.array(kept, np.bool_)])


def _eligible(connection: sqlite3.Connection, scope: Scope, block: Block) -> NDArray[np.bool_]:
    """Which rows pass the scope's filters."""
    types = _USUAL_TYPES if scope.event_types is None else scope.event_types
    allowed = np.zeros(256, np.bool_)
    allowed[[EVENT_TYPE_NUMBERS[name] for name in types]] = True
    eligible: NDArray[np.bool_] = np.take(allowed, block["event_type"])
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
