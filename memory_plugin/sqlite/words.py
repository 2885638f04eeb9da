"""Looking up the words of a query: whole words first, then inside of words.

One query per word, with the shelves inside it: nothing that stands on other shelves, not even a
count, has any influence on the answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_plugin.sqlite import indexes

Numbers = NDArray[np.int64]
_TRIGRAM = 3
_LOOKED_UP = 60
_FIND_WORD = "select group_concat(rowid) from words where words match ?"
_FIND_INSIDE = "select group_concat(rowid) from inside where inside match ?"
_TEXT = """
    select entity.name, e.content, e.narrative_text
    from event e
    join entity on entity.number = e.entity
    where e.seq = ?
    """


def find_word(connection: sqlite3.Connection, term: str, shelves: Sequence[int]) -> Numbers:
    """Numbers of the events on `shelves` that hold a word, ascending.

    ``term*`` is any word that begins so.
    """
    word, star = (term[:-1], " *") if term.endswith("*") else (term, "")
    if not word:
        return np.empty(0, np.int64)
    wanted = [_quoted(indexes.shelf_word(shelf, word)) + star for shelf in shelves]
    try:
        return _numbers(connection, _FIND_WORD, " OR ".join(wanted))
    except sqlite3.OperationalError as fault:
        # Letters that are younger than this SQLite part a word for it, and the index knows no
        # neighbours. Such a word is found as a text inside of others.
        if "phrase" not in str(fault):
            raise
        return np.empty(0, np.int64)


def maybe_inside(
    connection: sqlite3.Connection, term: str, shelves: Sequence[int] | None
) -> Numbers:
    """Numbers of events that hold the runs of three letters of a text; `holds` says if the text.

    None for less than three letters. Without `shelves` the answer is of all events, for the
    caller to keep those in view.
    """
    if len(term) < _TRIGRAM or term.endswith("*"):
        return np.empty(0, np.int64)
    # A look-up costs what its runs cost; the first ones say enough, `holds` looks at the rest.
    last = min(len(term), _LOOKED_UP) - _TRIGRAM
    # Runs that overlap would cost as much again and say little more.
    wanted = [_quoted(term[at : at + _TRIGRAM]) for at in {*range(0, last, _TRIGRAM), last}]
    if shelves is not None:
        scope = " OR ".join(_quoted(indexes.scope_sign(shelf)) for shelf in shelves)
        wanted.append(f"({scope})")
    return _numbers(connection, _FIND_INSIDE, " AND ".join(wanted))


def holds(connection: sqlite3.Connection, seq: int, term: str) -> bool:
    """Whether an event's text really holds the term: its runs may stand in other places."""
    row = connection.execute(_TEXT, (seq,)).fetchone()
    return row is not None and term in indexes.body(*row).lower()


def _numbers(connection: sqlite3.Connection, sql: str, match: str) -> Numbers:
    # One text of numbers instead of a Python object for each row.
    joined = connection.execute(sql, (match,)).fetchone()[0]
    if joined is None:
        return np.empty(0, np.int64)
    return np.fromstring(joined, np.int64, sep=",")


def _quoted(text: str) -> str:
    """Text as a string of the query language, in which nothing has a meaning of its own."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def known_shelves(connection: sqlite3.Connection, names: Iterable[str]) -> list[int]:
    """The numbers of those shelves that exist."""
    found = []
    for name in names:
        row = connection.execute("select number from shelf where name = ?", (name,)).fetchone()
        if row is not None:
            found.append(row[0])
    return found
