"""How well rows match the words of a query: BM25 over what the reader may see.

A word counts once for each row. How rare it is, is counted over the visible rows alone, so
that nothing a reader may not see has any influence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.float32]

# Robertson's constants; the length of chat lines says little, so it counts for less than usual.
K1 = 1.2
B = 0.4
# A word that only stands inside of others is half a match.
INSIDE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """`score` is BM25 for every visible row; `ideal` what a row of mean length with all words has.

    `weights` are the inverse document frequencies of the candidates' terms, in their order.
    """

    score: Floats
    ideal: float
    weights: tuple[float, ...]


def score_words(candidates: Candidates) -> Words:
    """BM25 of every visible row for the terms of the query; zeros where there are none."""
    count = len(candidates)
    score = np.zeros(count, np.float32)
    weights = tuple(_rarity(len(term.rows), count) for term in candidates.terms)
    if not weights:
        return Words(score=score, ideal=0.0, weights=())
    mean = max(1.0, float(candidates.words.mean())) if count else 1.0
    for term, weight in zip(candidates.terms, weights, strict=True):
        if len(term.rows):
            score[term.rows] += np.float32(weight * INSIDE if term.inside else weight)
    rows = np.flatnonzero(score)
    length = candidates.words[rows] / mean
    score[rows] *= (K1 + 1) / (1 + K1 * (1 - B + B * length))
    return Words(score=score, ideal=float(sum(weights)), weights=weights)


def _rarity(found: int, count: int) -> float:
    """Inverse document frequency, never negative."""
    return float(np.log1p((count - found + 0.5) / (found + 0.5)))
