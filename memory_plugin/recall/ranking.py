"""The best rows of a memory for a query, each with a score and the parts that made it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall import weights
from memory_plugin.recall.asking import Query
from memory_plugin.recall.evidence import Evidence, freshness, look
from memory_plugin.recall.lexical import read_terms
from memory_plugin.recall.meaning import Meaning, measure_meaning
from memory_plugin.recall.pool import likeliest

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]

# So many rows are looked at closely; more changed nothing that could be measured.
POOL: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A row that became a hit: its number in the store, its score in [0, 1], its addends."""

    seq: int
    score: float
    parts: Mapping[str, float]


def rank(candidates: Candidates, query: Query, *, now: datetime, limit: int) -> list[Ranked]:
    """The `limit` best eligible rows, best first; equal ones in order of `seq`.

    The score is about the probability that the event answers the query: the logistic function of
    the sum of `parts`. Rows that nothing speaks for are no hits.
    """
    count = int(np.count_nonzero(candidates.eligible))
    if limit < 1 or not count:
        return []
    # A whole column is looked at where it is, without a copy.
    every = count == len(candidates)
    eligible = slice(0, count) if every else np.flatnonzero(candidates.eligible)
    meaning = measure_meaning(candidates, eligible)
    lexicon = read_terms(candidates, float(candidates.words[eligible].mean(dtype=np.float64)))
    rows = likeliest(
        candidates, query, lexicon, meaning, eligible=eligible, size=max(POOL, 4 * limit), now=now
    )
    if not len(rows):
        return []
    seen = look(candidates, query, lexicon, meaning, eligible=eligible, rows=rows)
    parts = _parts(candidates, query, seen, rows, now)
    addends = np.stack(list(parts.values()))
    total = addends.sum(axis=0, dtype=np.float64)
    seq = candidates.seq[rows]
    order = np.lexsort((seq, -total))
    if not query.asks_latest:
        order = order[seen.some[order]]
    best = order[:limit]
    base = _base(total, seen, meaning)
    return [
        _ranked(one, dict(zip(parts, own, strict=True)), base)
        for one, own in zip(seq[best].tolist(), addends[:, best].T.tolist(), strict=True)
    ]


def _parts(
    candidates: Candidates, query: Query, seen: Evidence, rows: Rows, now: datetime
) -> dict[str, Floats]:
    """The addends of every row of the pool, all but the base."""
    importance = candidates.importance[rows].astype(np.float32)
    length = weights.LENGTH * np.log1p(candidates.words[rows])
    parts: dict[str, Floats] = {
        "words": weights.WORDS * seen.words + weights.QUOTED * seen.quoted,
        "meaning": weights.MEANING * seen.meaning,
        "neighbour": weights.WORDS * seen.context
        + weights.ASKED_WORDS * seen.asked_words
        + weights.ASKED_MEANING * seen.asked_meaning,
        "session": weights.SESSION * seen.session,
        "length": length + weights.QUESTION * candidates.question[rows],
        "person": weights.NAMED * seen.named,
        "importance": weights.IMPORTANCE * (importance - np.float32(5)),
        "time": weights.INSIDE * seen.inside,
    }
    if query.asks_when:
        parts["time"] += weights.WHEN * candidates.dated[rows]
    if query.asks_latest:
        parts["recency"] = weights.FRESH * freshness(candidates.at[rows], now)
    return parts


def _base(total: Floats, seen: Evidence, meaning: Meaning) -> float:
    """What turns the sum of a row's parts into the logarithm of its odds; one for all rows."""
    few = weights.COMPETITORS
    best = total if len(total) <= few else np.partition(total, -few)[-few:]
    # Sorted, so that the sum does not hang on the order of the rows.
    rivals = np.append(np.sort(best).astype(np.float64), weights.NOTHING)
    crest = float(rivals.max())
    competition = crest + math.log(math.fsum(np.exp(rivals - crest)))
    known = 0.0 if meaning.best is None else weights.WITH_MODEL + weights.NEAREST * meaning.best
    return weights.ANSWERED + weights.COVERED * seen.coverage + known - competition


def _ranked(seq: int, parts: Mapping[str, float], base: float) -> Ranked:
    said = {name: value for name, value in parts.items() if value} | {"base": base}
    return Ranked(seq=seq, score=logistic(math.fsum(said.values())), parts=said)


def logistic(logit: float) -> float:
    """The probability with these logarithmic odds; never overflows."""
    small = math.exp(-abs(logit))
    return 1 / (1 + small) if logit >= 0 else small / (1 + small)
