"""The best rows of a memory for a query, each with a score and the parts that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall import evidence
from memory_plugin.recall.asking import Query
from memory_plugin.recall.lexical import score_words

Floats = NDArray[np.float32]
_BASE = -7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A row that became a hit: its number in the store, its score in [0, 1], its addends."""

    seq: int
    score: float
    parts: Mapping[str, float]


def rank(candidates: Candidates, query: Query, *, now: datetime, limit: int) -> list[Ranked]:
    """The `limit` best eligible rows, best first; equal scores in order of `seq`.

    The score is about the probability that the event is worth having: the logistic function of
    the sum of `parts`.
    """
    rows = np.flatnonzero(candidates.eligible)
    if not len(rows) or limit < 1:
        return []
    parts = _parts(candidates, query, rows, now)
    total = np.sum(list(parts.values()), axis=0)
    order = np.lexsort((candidates.seq[rows], -total))[:limit]
    return [_ranked(int(candidates.seq[rows[at]]), parts, int(at)) for at in order]


def _parts(
    candidates: Candidates, query: Query, rows: evidence.Rows, now: datetime
) -> dict[str, Floats]:
    meaning = evidence.measure_meaning(candidates, rows)
    words = evidence.matched(score_words(candidates))
    near, word = meaning.at(rows), words[rows]
    strength = near + evidence.WORDS_PER_MEANING * word
    before = evidence.turn_before(candidates, rows)
    asked = meaning.at(before) + evidence.WORDS_PER_MEANING * words[before]
    session = evidence.session_worth(candidates.session[rows], strength)
    at = candidates.at[rows]
    time = 4.0 * evidence.inside(at, query.spans)
    if query.asks_when:
        time = time + 1.9 * candidates.dated[rows]
    parts = {
        "words": 4.1 * word,
        "meaning": 0.8 * near,
        "neighbour": 0.5 * evidence.answers(candidates, rows, asked, before),
        "session": 0.8 * (session - session.mean()) / (session.std() + 1e-6),
        "time": time,
        "importance": 0.05 * (candidates.importance[rows].astype(np.float32) - 5),
        "length": 1.7 * (np.log1p(candidates.words[rows]) - 2.5),
        "base": np.full(len(rows), _BASE, np.float32),
    }
    if query.asks_latest:
        parts["recency"] = evidence.freshness(at, now, float(at.max()))
    return parts


def _ranked(seq: int, parts: Mapping[str, Floats], at: int) -> Ranked:
    own = {name: float(column[at]) for name, column in parts.items() if column[at]}
    return Ranked(seq=seq, score=float(1 / (1 + np.exp(-sum(own.values())))), parts=own)
