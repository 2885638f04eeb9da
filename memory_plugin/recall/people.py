"""Recall without words: what of a person's past is worth having now."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall.pool import top
from memory_plugin.recall.ranking import Ranked, logistic

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]

# By taste, not fitted: an ordinary statement of twelve words, said today, has even odds. One
# importance more outweighs an age eight times as high.
PER_IMPORTANCE: Final = np.float32(0.45)
PER_AGE_DOUBLING: Final = np.float32(-0.15)
PER_LENGTH: Final = np.float32(0.5)
# A question tells little of who asks it.
QUESTION: Final = np.float32(-0.5)
# What each further event of the same session is worth less, so that the hits are not all from
# one evening.
REPEATED: Final = np.float32(-0.5)
ORDINARY_WORDS: Final = np.float32(math.log1p(12))
# Beyond this, a text is long because it was pasted.
LONG: Final = np.float32(40)
POOL: Final = 512
_DAY_S: Final = 86_400.0


def rank_person(candidates: Candidates, *, now: datetime, limit: int) -> list[Ranked]:
    """The `limit` eligible rows most worth remembering someone by, best first.

    Importance, recency and length weigh, and that they come from different sessions. The score is
    the logistic function of the sum of `parts`, as in `rank`, but no probability: nobody asked.
    """
    rows = np.flatnonzero(candidates.eligible)
    if limit < 1 or not len(rows):
        return []
    if len(rows) > (size := max(POOL, 4 * limit)):
        strength = np.stack(list(_parts(candidates, rows, now).values())).sum(axis=0)
        rows = rows[top(strength, candidates.seq[rows], size)]
    # By seq, so that everything that follows is the same for any order of the candidates.
    rows = rows[np.argsort(candidates.seq[rows])]
    parts = _parts(candidates, rows, now)
    alone = np.stack(list(parts.values())).sum(axis=0, dtype=np.float64)
    parts["session"] = REPEATED * _repeats(candidates.session[rows], alone)
    order = np.argsort(-(alone + parts["session"]), kind="stable")[:limit]
    return [_ranked(int(candidates.seq[rows[at]]), parts, int(at)) for at in order]


def _parts(candidates: Candidates, rows: Rows, now: datetime) -> dict[str, Floats]:
    age_days = np.maximum(0.0, now.timestamp() - candidates.at[rows]) / _DAY_S
    length = np.log1p(np.minimum(candidates.words[rows], LONG)) - ORDINARY_WORDS
    return {
        "importance": PER_IMPORTANCE * (candidates.importance[rows].astype(np.float32) - 5),
        "recency": PER_AGE_DOUBLING * np.log2(1 + age_days.astype(np.float32)),
        "length": PER_LENGTH * length + QUESTION * candidates.question[rows],
    }


def _repeats(session: NDArray[np.int64], strength: Floats) -> Floats:
    """How many stronger rows of the same session each row has."""
    order = np.lexsort((-strength, session))
    names = session[order]
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    counts = np.diff(starts, append=len(names))
    repeats = np.empty(len(names), np.float32)
    repeats[order] = np.arange(len(names)) - np.repeat(starts, counts)
    return repeats


def _ranked(seq: int, parts: dict[str, Floats], at: int) -> Ranked:
    own = {name: value for name, column in parts.items() if (value := float(column[at]))}
    return Ranked(seq=seq, score=logistic(math.fsum(own.values())), parts=own)
