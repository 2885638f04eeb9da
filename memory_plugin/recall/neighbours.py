"""Who stands beside a row: the lines before it, the turn it answers, the session it is part of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]

# What a line is about is often said in the lines just before it.
CONTEXT = 3
# People write in bursts: so many lines back, each at most so long before the next, are still the
# same turn of the same person.
BURST = 4
BURST_GAP_S = 180.0
# A session is as good as its best rows.
SESSION_BEST = 3
STRONG = 200


def lines_before(candidates: Candidates, rows: Rows) -> Rows:
    """The last lines before each row in its session, nearest first: shape (CONTEXT, len(rows)).

    -1 where there is none.
    """
    session = candidates.session[rows]
    before = np.empty((CONTEXT, len(rows)), np.int64)
    at = rows
    for back in range(CONTEXT):
        # What follows on -1 is another session, or -1 again.
        at = np.where(at >= 0, candidates.previous[at], -1)
        before[back] = at
    before[(before >= 0) & (candidates.session[before] != session)] = -1
    return before


def line_after(candidates: Candidates, rows: Rows, eligible: Rows | slice) -> Rows:
    """The next eligible line right after each row in its session, -1 where there is none.

    `rows` ascend.
    """
    wanted = np.zeros(len(candidates) + 1, np.bool_)
    wanted[rows] = True
    before = candidates.previous[eligible]
    found = np.flatnonzero(wanted[before])
    later = found if isinstance(eligible, slice) else eligible[found]
    after = np.full(len(rows), -1, np.int64)
    after[np.searchsorted(rows, before[found])] = later
    after[candidates.session[after] != candidates.session[rows]] = -1
    return after


def turn_before(candidates: Candidates, rows: Rows) -> Rows:
    """The last line before each row that is another's, -1 for none in the same session.

    What the author wrote in the same burst is passed over.
    """
    before = candidates.previous[rows]
    author, at = candidates.author[rows], candidates.at[rows]
    for _ in range(BURST):
        own = np.flatnonzero((before >= 0) & (candidates.author[before] == author))
        if not len(own):
            break
        mine = before[own]
        near = at[own] - candidates.at[mine] <= BURST_GAP_S
        before[own] = np.where(near, candidates.previous[mine], -1)
        at[own] = candidates.at[mine]
    stray = candidates.author[before] == author
    stray |= candidates.session[before] != candidates.session[rows]
    before[stray & (before >= 0)] = -1
    return before


def session_worth(session: NDArray[np.int64], strength: Floats) -> Floats:
    """For each row the mean strength of the best rows of its session, missing ones counted as 0.

    Only the `STRONG` strongest rows of all count (and their equals), and none below 0.
    """
    worth = np.zeros(len(session), np.float32)
    least = np.partition(strength, -STRONG)[-STRONG] if len(strength) > STRONG else 0
    strong = np.flatnonzero((strength > 0) & (strength >= least))
    if not len(strong):
        return worth
    order = strong[np.lexsort((-strength[strong], session[strong]))]
    names = session[order]
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    total = np.concatenate(([0.0], np.cumsum(strength[order], dtype=np.float64)))
    ends = np.minimum(starts + SESSION_BEST, np.append(starts[1:], len(names)))
    best = ((total[ends] - total[starts]) / SESSION_BEST).astype(np.float32)
    at = np.searchsorted(names[starts], session)
    at[at == len(starts)] = 0
    known = names[starts[at]] == session
    worth[known] = best[at[known]]
    return worth
