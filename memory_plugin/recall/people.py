"""Recall without words: what of a person's past is worth having now."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall.ranking import Ranked

# An event of importance 5, a day old: even odds against being worth it.
_BASE = -1.5
_PER_IMPORTANCE = 0.45
_PER_AGE_DOUBLING = 0.22
_LENGTH = 0.5
# What one more event of the same session is worth less.
_REPEATED = 0.5
_DAY_S = 86_400.0
_POOL = 512


def rank_person(candidates: Candidates, *, now: datetime, limit: int) -> list[Ranked]:
    """The `limit` eligible rows most worth remembering someone by, best first.

    Importance, recency and length weigh; every further event of the same session weighs less,
    so that the answer does not come from one evening. Questions say little of who asked them.
    """
    rows = np.flatnonzero(candidates.eligible)
    if not len(rows) or limit < 1:
        return []
    age = np.maximum(0.0, now.timestamp() - candidates.at[rows]) / _DAY_S
    parts = {
        "importance": _PER_IMPORTANCE * (candidates.importance[rows].astype(np.float64) - 5),
        "recency": -_PER_AGE_DOUBLING * np.log2(1 + age),
        "length": _LENGTH * (np.log1p(np.minimum(candidates.words[rows], 40.0)) - 2.5)
        - 0.5 * candidates.question[rows],
    }
    total: NDArray[np.float64] = np.sum(list(parts.values()), axis=0) + _BASE
    order = np.lexsort((candidates.seq[rows], -total))[: max(_POOL, 4 * limit)]
    session = candidates.session[rows]
    # Of each session the best row stands first, so its rank within the session is its penalty.
    by_session = order[np.argsort(session[order], kind="stable")]
    names = session[by_session]
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    within = np.arange(len(names)) - np.repeat(starts, np.diff(np.append(starts, len(names))))
    penalty = np.zeros(len(rows))
    penalty[by_session] = -_REPEATED * within
    total = total + penalty
    best = order[np.lexsort((candidates.seq[rows[order]], -total[order]))][:limit]
    found = []
    for at in best.tolist():
        own = {name: float(column[at]) for name, column in parts.items()}
        own |= {"session": float(penalty[at]), "base": _BASE}
        score = float(1 / (1 + np.exp(-sum(own.values()))))
        found.append(Ranked(seq=int(candidates.seq[rows[at]]), score=score, parts=own))
    return found
