"""Which rows are worth a closer look: all of a small memory, the likeliest of a large one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall import weights
from memory_plugin.recall.asking import Query
from memory_plugin.recall.evidence import NEARBY, freshness, inside
from memory_plugin.recall.lexical import Lexicon
from memory_plugin.recall.meaning import Meaning

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]


def likeliest(
    candidates: Candidates,
    query: Query,
    lexicon: Lexicon,
    meaning: Meaning,
    *,
    eligible: Rows | slice,
    size: int,
    now: datetime,
) -> Rows:
    """The `size` eligible rows that are the likeliest by what is quick to know, ascending.

    Of a large memory only rows that something speaks for, so there may be fewer or none.
    """
    count = len(candidates.seq[eligible])
    if count <= size:
        return np.arange(count) if isinstance(eligible, slice) else eligible
    found = np.flatnonzero(_spoken_for(candidates, query, lexicon, eligible, size))
    rows = found if isinstance(eligible, slice) else eligible[found]
    if len(rows) > size:
        strength = _by_words(candidates, lexicon, rows)
        strength += weights.MEANING * meaning.at(rows)
        strength += weights.LENGTH * np.log1p(candidates.words[rows])
        _add_time(strength, candidates, query, rows, now)
        rows = rows[np.sort(top(strength, candidates.seq[rows], size))]
    return rows


def _spoken_for(
    candidates: Candidates, query: Query, lexicon: Lexicon, eligible: Rows | slice, size: int
) -> Marks:
    """Eligible rows with a word of the query, after such a row, near to it, or at its time."""
    spoken: Marks = lexicon.signs[:-1][eligible] != 0
    spoken |= lexicon.signs[candidates.previous[eligible]] != 0
    spoken |= _highest(candidates.meaning[eligible], size)
    if query.spans:
        spoken |= inside(candidates.at[eligible], query.spans)
    if query.asks_latest:
        spoken |= _highest(candidates.at[eligible], size)
    return spoken


def _highest(column: NDArray[np.floating[Any]], count: int) -> Marks:
    """The `count` highest of a longer column and their equals, none of which is NaN."""
    least = np.partition(column, len(column) - count)[len(column) - count]
    if np.isnan(least):
        # NaN stands behind all numbers, so it is to be counted from the other end.
        least = -np.partition(-column, count - 1)[count - 1]
        if np.isnan(least):
            least = -np.inf
    highest: Marks = column >= least
    return highest


def _by_words(candidates: Candidates, lexicon: Lexicon, rows: Rows) -> Floats:
    """What rows are worth by their own words and those of the line before."""
    words = lexicon.value(lexicon.signs[rows])
    before = candidates.previous[rows]
    earlier = lexicon.value(lexicon.signs[before])
    asked = weights.ASKED_WORDS * earlier * candidates.question[before]
    scale = np.float32(1 / max(float(words.max()), 1e-9))
    both: Floats = weights.WORDS * np.maximum(words, NEARBY * earlier) + asked
    return both * scale


def _add_time(
    strength: Floats, candidates: Candidates, query: Query, rows: Rows, now: datetime
) -> None:
    if query.spans:
        strength += weights.INSIDE * inside(candidates.at[rows], query.spans)
    if query.asks_when:
        strength += weights.WHEN * candidates.dated[rows]
    if query.asks_latest:
        strength += weights.FRESH * freshness(candidates.at[rows], now)


def top(strength: Floats, seq: NDArray[np.int64], count: int) -> Rows:
    """Where the `count` strongest stand, in no order; of equals those with the highest `seq`.

    Which are chosen hangs on the numbers alone, never on the order of the rows.
    """
    if len(strength) <= count:
        return np.arange(len(strength))
    least = np.partition(strength, len(strength) - count)[len(strength) - count]
    chosen = np.flatnonzero(strength > least)
    equal = np.flatnonzero(strength == least)
    wanted = count - len(chosen)
    if len(equal) > wanted:
        newest = np.argpartition(seq[equal], len(equal) - wanted)[len(equal) - wanted :]
        equal = equal[newest]
    return np.concatenate((chosen, equal))
