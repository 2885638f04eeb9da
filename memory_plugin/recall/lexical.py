"""How well rows match the words of a query: BM25 over what the reader may see.

A word counts once for each row. How rare it is, is counted over the visible rows alone, so
that nothing a reader may not see has any influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.float32]
Signs = NDArray[Any]  # unsigned integers, as wide as there are terms

# Robertson's k1 and b. Both are low: a word counts once, and the length of a chat line says less
# about how much of it is on the subject than that of a document does.
K1 = np.float32(0.8)
B = np.float32(0.3)
# A word that only stands inside of others is half a match.
INSIDE = 0.5
# So many rows without any word of the query are thought to stand beside the visible ones. Else
# every word would be common in a memory of two rows.
IMAGINED = 50
MOST_TERMS = 64
_WIDTHS = ((8, np.uint8), (16, np.uint16), (32, np.uint32), (MOST_TERMS, np.uint64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Which terms of a query the rows of a memory hold, and what a match of each is worth.

    `signs` has one number a row, in which bit i stands for term i, and one 0 more at the end, for
    row -1. `tables` say what all combinations of eight terms are worth together, so that a row
    costs one look; a term is worth its inverse document frequency, never negative. `whole` is
    what all of them would be worth as whole words, `mean_words` how many words a row has on
    average, at least 1. Of more than `MOST_TERMS` terms the rarest are taken.
    """

    signs: Signs
    tables: tuple[Floats, ...]
    whole: float
    mean_words: np.float32

    def value(self, signs: Signs) -> Floats:
        """What the terms in the signs of rows are worth together."""
        if len(self.tables) == 1:
            return self.tables[0][signs]
        total = np.zeros(len(signs), np.float32)
        for number, table in enumerate(self.tables):
            total += table[signs >> signs.dtype.type(8 * number) & signs.dtype.type(0xFF)]
        return total

    def norm(self, words: Floats) -> Floats:
        """BM25's factor for a term that stands once in a row of so many words."""
        return (K1 + 1) / (1 + K1 * (1 - B + B / self.mean_words * words))


def read_terms(candidates: Candidates, mean_words: float) -> Lexicon:
    """The lexicon of the candidates' terms."""
    terms = candidates.terms
    if len(terms) > MOST_TERMS:
        terms = sorted(terms, key=lambda term: len(term.rows))[:MOST_TERMS]
    count = len(candidates) + IMAGINED
    found = np.array([len(term.rows) for term in terms], np.float64)
    worth = np.log1p((count - found + 0.5) / (found + 0.5))
    whole = float(worth.sum())
    worth[[term.inside for term in terms]] *= INSIDE
    width = next(width for most, width in _WIDTHS if len(terms) <= most)
    signs: Signs = np.zeros(len(candidates) + 1, width)
    for number, term in enumerate(terms):
        signs[term.rows] |= width(1 << number)
    return Lexicon(
        signs=signs,
        tables=tuple(_combined(worth[first : first + 8]) for first in range(0, len(terms), 8))
        or (np.zeros(1, np.float32),),
        whole=whole,
        mean_words=np.float32(max(1.0, mean_words)),
    )


def _combined(worth: NDArray[np.float64]) -> Floats:
    """The sums of all combinations of up to eight values, by the bits of their position."""
    table = np.zeros(1)
    for one in worth:
        table = np.concatenate((table, table + one))
    return table.astype(np.float32)
