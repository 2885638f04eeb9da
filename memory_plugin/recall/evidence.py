"""What speaks for each row of a pool: one column of numbers for each part of a score."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall.lexical import Words
from memory_plugin.recall.timing import Span

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

DAY_S: Final = 86_400.0
# People write in bursts: so many messages back, each at most so long before the next, are still
# the same turn of the same person.
BURST = 4
BURST_GAP_S = 180.0
# One full match of words is worth so many standard deviations of meaning.
WORDS_PER_MEANING = np.float32(3.0)
# A session is as good as its best rows.
SESSION_BEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Cosines in standard deviations from the mean of the eligible rows; 0 where unknown."""

    cosines: NDArray[np.float32]
    mean: float
    spread: float

    def at(self, rows: Rows) -> Floats:
        """The standardised cosines of some rows."""
        if not self.spread:
            return np.zeros(len(rows), np.float32)
        scaled: Floats = (self.cosines[rows] - np.float32(self.mean)) / np.float32(self.spread)
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def measure_meaning(candidates: Candidates, eligible: Rows) -> Meaning:
    """Mean and spread over the eligible rows that have a vector."""
    cosines = candidates.meaning[eligible]
    mean = float(cosines.mean(dtype=np.float64)) if len(cosines) else float("nan")
    if np.isnan(mean):
        cosines = cosines[~np.isnan(cosines)]
        if not len(cosines):
            return Meaning(cosines=candidates.meaning, mean=0.0, spread=0.0)
        mean = float(cosines.mean(dtype=np.float64))
    spread = float(cosines.std(dtype=np.float64))
    # Equal cosines tell nothing apart.
    return Meaning(cosines=candidates.meaning, mean=mean, spread=spread if spread > 1e-6 else 0.0)


def matched(words: Words) -> Floats:
    """BM25 as a share of the best row's; zeros where nothing matches."""
    best = float(words.score.max(initial=0.0))
    return words.score / np.float32(best) if best > 0 else words.score


def turn_before(candidates: Candidates, rows: Rows) -> Rows:
    """The last row before each that is another author's, -1 for none in the same session.

    What the author wrote in the same burst is passed over.
    """
    before = candidates.previous[rows]
    at, author = candidates.at[rows], candidates.author[rows]
    for _ in range(BURST):
        own = np.flatnonzero((before >= 0) & (candidates.author[before] == author))
        if not len(own):
            break
        mine = before[own]
        near = at[own] - candidates.at[mine] <= BURST_GAP_S
        before[own] = np.where(near, candidates.previous[mine], -1)
        at[own] = candidates.at[mine]
    stray = (before >= 0) & (
        (candidates.author[before] == author)
        | (candidates.session[before] != candidates.session[rows])
    )
    before[stray] = -1
    return before


def answers(candidates: Candidates, rows: Rows, strength: Floats, before: Rows) -> Floats:
    """The strength of the question that a row follows; 0 where it follows none."""
    asked = (before >= 0) & candidates.question[before]
    return np.where(asked, strength, np.float32(0))


def session_worth(session: NDArray[np.int64], strength: Floats) -> Floats:
    """For each row the mean strength of its session's best rows, missing ones counted as 0."""
    if not len(session):
        return np.zeros(0, np.float32)
    order = np.lexsort((-strength, session))
    names = session[order]
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    counts = np.diff(np.append(starts, len(names)))
    total = np.concatenate(([0.0], np.cumsum(strength[order], dtype=np.float64)))
    ends = starts + np.minimum(counts, SESSION_BEST)
    best = (total[ends] - total[starts]) / SESSION_BEST
    worth = np.empty(len(session), np.float32)
    worth[order] = np.repeat(best, counts)
    return worth


def inside(at: NDArray[np.float64], spans: tuple[Span, ...]) -> Marks:
    """Which times lie in a time that the query names; of several readings the first that hits."""
    marks = np.zeros(len(at), np.bool_)
    for span in spans:
        for window in span:
            hits = np.ones(len(at), np.bool_)
            if window.since is not None:
                hits &= at >= window.since.timestamp()
            if window.until is not None:
                hits &= at < window.until.timestamp()
            if hits.any():
                marks |= hits
                break
    return marks


def freshness(at: NDArray[np.float64], now: datetime, newest: float) -> Floats:
    """1 for the newest row, halved by every doubling of its age beyond a day."""
    since = min(newest, now.timestamp())
    age_days = np.maximum(0.0, since - at) / DAY_S
    return (1 / (1 + np.log2(1 + age_days))).astype(np.float32)
