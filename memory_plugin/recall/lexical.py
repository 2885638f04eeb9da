"""How well rows match the words of a query: BM25 over what the reader may see.

A word counts once for each row. How rare it is, is counted over the visible rows alone, so
that nothing a reader may not see has any influence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

# Robertson's k1 and b. Both are low: a word counts once, and the length of a chat line says less
# about how much of it is on the subject than that of a document does.
K1 = 0.8
B = 0.3
# A word that only stands inside of others is half a match.
INSIDE = 0.5


def rarities(candidates: Candidates) -> Floats:
    """What a match of each term is worth: its inverse document frequency, never negative."""
    count = len(candidates)
    found = np.array([len(term.rows) for term in candidates.terms], np.float32)
    worth = np.log1p((count - found + 0.5) / (found + 0.5))
    worth[[term.inside for term in candidates.terms]] *= INSIDE
    return worth.astype(np.float32)


def sums(candidates: Candidates, worth: Floats) -> Floats:
    """The worth of the terms that each visible row holds; one 0 more at the end, for row -1."""
    total = np.zeros(len(candidates) + 1, np.float32)
    for term, value in zip(candidates.terms, worth, strict=True):
        total[term.rows] += value
    return total


def holds(candidates: Candidates, rows: Rows) -> Floats:
    """1 where a row holds a term, else 0: shape (terms, *rows.shape). Row -1 holds none."""
    held = np.empty((len(candidates.terms), *rows.shape), np.float32)
    marks = np.zeros(len(candidates) + 1, np.float32)
    for number, term in enumerate(candidates.terms):
        marks[term.rows] = 1.0
        np.take(marks, rows, out=held[number], mode="wrap")
        marks[term.rows] = 0.0
    return held


def length_norm(candidates: Candidates, rows: Rows) -> Floats:
    """The factor of BM25 for a word that stands once in a row: 1 for a row of mean length."""
    mean = max(1.0, float(candidates.words.mean()))
    relative = candidates.words[rows] / np.float32(mean)
    return np.float32(K1 + 1) / (
        1 + np.float32(K1) * (1 - np.float32(B) + np.float32(B) * relative)
    )
