"""What speaks for each row of a pool, in columns that are comparable from query to query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall import lexical
from memory_plugin.recall.asking import Query
from memory_plugin.recall.neighbours import lines_before, session_worth, turn_before
from memory_plugin.recall.timing import Span

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

DAY_S: Final = 86_400.0
# A word of the query that stands only in the lines before counts for so much.
NEARBY = np.float32(0.4)
# One full match of words is worth so many standard deviations of meaning.
WORDS_PER_MEANING = np.float32(3.0)
# A term that nearly all lines of an author hold, and at least so many, is their name.
NAME_SHARE = 0.95
NAME_LINES = 3
MOST_NAMES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Cosines in standard deviations from the mean of the eligible rows; 0 where unknown."""

    cosines: Floats
    mean: np.float32
    spread: np.float32

    def at(self, rows: Rows | None) -> Floats:
        """The standardised cosines of some rows, None for all."""
        cosines = self.cosines if rows is None else self.cosines[rows]
        if not self.spread:
            return np.zeros(len(cosines), np.float32)
        scaled: Floats = (cosines - self.mean) / self.spread
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def measure_meaning(candidates: Candidates, eligible: Rows | None) -> Meaning:
    """Mean and spread over the eligible rows that have a vector."""
    cosines = candidates.meaning if eligible is None else candidates.meaning[eligible]
    mean = cosines.mean()
    if np.isnan(mean):
        cosines = cosines[~np.isnan(cosines)]
        mean = cosines.mean() if len(cosines) else np.float32(0)
    if len(cosines):
        spread = np.sqrt(
            max(0.0, float(np.dot(cosines, cosines)) / len(cosines) - float(mean) ** 2)
        )
    else:
        spread = 0.0
    # Equal cosines tell nothing apart.
    known = np.float32(spread) if spread > 1e-4 else np.float32(0)
    return Meaning(cosines=candidates.meaning, mean=np.float32(mean), spread=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Columns over a pool of rows; shares are of the best row's match, 0 to 1.

    `words` is the row's own match, `context` what the lines before it add, `asked_words` and
    `asked_meaning` are those of another's question that the row answers. `session` is the mean
    strength of its session's best rows. `inside`: it lies in a time the query names. `named`: the
    query names its author. `coverage` is how much of the whole query the best row matches, 0 to 1.
    """

    words: Floats
    context: Floats
    meaning: Floats
    asked_words: Floats
    asked_meaning: Floats
    session: Floats
    inside: Marks
    named: Marks
    coverage: float


def look(candidates: Candidates, query: Query, meaning: Meaning, rows: Rows) -> Evidence:
    """Gather the evidence for a pool of eligible rows; there is at least one."""
    before = turn_before(candidates, rows)
    before[~candidates.question[before]] = -1
    held = lexical.holds(candidates, np.vstack((rows, before, lines_before(candidates, rows))))
    worth = lexical.rarities(candidates)
    norm = lexical.length_norm(candidates, rows)
    own = (worth @ held[:, 0]) * norm
    nearby = NEARBY * held[:, 2:].max(axis=1, initial=0)
    whole = (worth @ np.maximum(held[:, 0], nearby)) * norm
    best = max(float(whole.max()), 1e-9)
    near = meaning.at(rows)
    asked = before >= 0
    asked_words = (worth @ held[:, 1]) * lexical.length_norm(candidates, before) / best
    return Evidence(
        words=own / np.float32(best),
        context=(whole - own) / np.float32(best),
        meaning=near,
        asked_words=np.where(asked, np.minimum(asked_words, 1), 0).astype(np.float32),
        asked_meaning=np.where(asked, meaning.at(before), 0).astype(np.float32),
        session=session_worth(
            candidates.session[rows], near + WORDS_PER_MEANING * whole / np.float32(best)
        ),
        inside=inside(candidates.at[rows], query.spans),
        named=named(candidates, rows, held[:, 0]),
        coverage=min(1.0, best / max(float(worth.sum()), 1e-9)) if len(worth) else 0.0,
    )


def inside(at: NDArray[np.float64], spans: Sequence[Span]) -> Marks:
    """Which times lie in a time that the query names; of several readings the first that hits."""
    marks = np.zeros(len(at), np.bool_)
    for span in spans:
        for window in span:
            since = -np.inf if window.since is None else window.since.timestamp()
            until = np.inf if window.until is None else window.until.timestamp()
            hits = (at >= since) & (at < until)
            if hits.any():
                marks |= hits
                break
    return marks


def named(candidates: Candidates, rows: Rows, held: Floats) -> Marks:
    """Which rows are of an author that the query names; none if all or nothing would be.

    Every line is indexed with its author's name, so a term that stands in all lines of an author
    is the name.
    """
    marks = np.zeros(len(rows), np.bool_)
    authors, of = np.unique(candidates.author[rows], return_inverse=True)
    lines = np.bincount(of)
    for number, term in enumerate(candidates.terms):
        share = np.bincount(of, held[number]) / lines
        likely = np.flatnonzero((share >= NAME_SHARE) & (lines >= NAME_LINES))
        for author in likely[np.argsort(-lines[likely], kind="stable")][:MOST_NAMES]:
            everywhere = np.count_nonzero(candidates.author == authors[author])
            found = np.count_nonzero(candidates.author[term.rows] == authors[author])
            if found >= NAME_SHARE * everywhere:
                marks |= of == author
    return marks if not marks.all() else np.zeros(len(rows), np.bool_)


def freshness(at: NDArray[np.float64], now: datetime) -> Floats:
    """1 for the newest row there is, less with every doubling of how much older a row is."""
    age_days = np.maximum(0.0, min(float(at.max()), now.timestamp()) - at) / DAY_S
    return (1 / (1 + np.log2(1 + age_days))).astype(np.float32)
