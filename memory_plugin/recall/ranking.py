"""The best rows of a memory for a query, each with a score and the parts that made it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall import evidence, lexical
from memory_plugin.recall.asking import Query
from memory_plugin.recall.evidence import Evidence, Meaning
from memory_plugin.recall.pool import eligible_rows, top

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# Rows that are looked at closely; more change nothing among the first twenty.
POOL = 1024

WORDS = 4.5
MEANING = 0.33
ASKED_WORDS = 1.85
ASKED_MEANING = 0.28
SESSION = 0.8
NAMED = 0.55
INSIDE = 3.5
WHEN = 2.3
LENGTH = 0.7
QUESTION = -0.7
FRESH = 2.0
IMPORTANCE = 0.05
MEAN_LENGTH = 2.5
BASE = -7.0


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
    if limit < 1 or not candidates.eligible.any():
        return []
    eligible = eligible_rows(candidates)
    meaning = evidence.measure_meaning(candidates, eligible)
    size = max(POOL, 4 * limit)
    rows = np.arange(len(candidates)) if eligible is None else eligible
    if len(rows) > size:
        rows = rows[
            top(_quick(candidates, query, meaning, eligible, now), candidates.seq[rows], size)
        ]
    parts = _parts(candidates, query, evidence.look(candidates, query, meaning, rows), rows, now)
    total = np.sum(list(parts.values()), axis=0, dtype=np.float64)
    seq = candidates.seq[rows]
    order = np.lexsort((seq, -total))[:limit]
    return [_ranked(int(seq[at]), parts, int(at)) for at in order]


def _quick(
    candidates: Candidates, query: Query, meaning: Meaning, eligible: Rows | None, now: datetime
) -> Floats:
    """The strength of every eligible row by what is quick to know of it."""
    every: Rows | slice = slice(None) if eligible is None else eligible
    sums = lexical.sums(candidates, lexical.rarities(candidates))
    best = max(float(sums.max()), 1e-9)
    own = np.maximum(sums[:-1][every], evidence.NEARBY * sums[candidates.previous[every]])
    strength = np.float32(MEANING) * meaning.at(eligible)
    strength += np.float32(WORDS / best) * own
    strength += np.float32(LENGTH) * np.log1p(candidates.words[every])
    if query.spans:
        strength += np.float32(INSIDE) * evidence.inside(candidates.at[every], query.spans)
    if query.asks_latest:
        strength += np.float32(FRESH) * evidence.freshness(candidates.at[every], now)
    return strength


def _parts(
    candidates: Candidates, query: Query, seen: Evidence, rows: Rows, now: datetime
) -> dict[str, Floats]:
    dated = WHEN * candidates.dated[rows] if query.asks_when else 0.0
    importance = candidates.importance[rows].astype(np.float32)
    parts = {
        "words": WORDS * seen.words,
        "meaning": MEANING * seen.meaning,
        "neighbour": WORDS * seen.context
        + ASKED_WORDS * seen.asked_words
        + ASKED_MEANING * seen.asked_meaning,
        "session": SESSION * seen.session,
        "person": NAMED * seen.named,
        "time": INSIDE * seen.inside + dated,
        "importance": IMPORTANCE * (importance - 5),
        "length": LENGTH * (np.log1p(candidates.words[rows]) - MEAN_LENGTH)
        + QUESTION * candidates.question[rows],
        "base": np.full(len(rows), BASE),
    }
    if query.asks_latest:
        parts["recency"] = FRESH * evidence.freshness(candidates.at[rows], now)
    return parts


def _ranked(seq: int, parts: Mapping[str, Floats], at: int) -> Ranked:
    own = {name: value for name, column in parts.items() if (value := float(column[at]))}
    return Ranked(seq=seq, score=1 / (1 + math.exp(-math.fsum(own.values()))), parts=own)
