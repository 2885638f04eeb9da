"""Which rows are worth a closer look: all of a small memory, the likeliest of a large one."""

from __future__ import annotations

from datetime import datetime

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
    """The `size` eligible rows that are the likeliest by what is quick to know, ascending."""
    seq = candidates.seq[eligible]
    chosen = np.arange(len(seq))
    if len(seq) > size:
        strength = _by_words(candidates, lexicon, eligible)
        # In place: at a million rows a new column costs more than what is done with it.
        part = meaning.at(eligible)
        part *= weights.MEANING
        strength += part
        np.log1p(candidates.words[eligible], out=part)
        part *= weights.LENGTH
        strength += part
        _add_time(strength, candidates, query, eligible, now)
        chosen = np.sort(top(strength, seq, size))
    return chosen if isinstance(eligible, slice) else eligible[chosen]


def _by_words(candidates: Candidates, lexicon: Lexicon, eligible: Rows | slice) -> Floats:
    """What rows are worth by their own words and those of the line before."""
    signs = lexicon.signs[:-1][eligible]
    before = candidates.previous[eligible]
    earlier_signs = lexicon.signs[before]
    # Most rows of a large memory hold no word of the query.
    own, follows = np.flatnonzero(signs != 0), np.flatnonzero(earlier_signs != 0)
    words = np.zeros(len(signs), np.float32)
    words[own] = lexicon.value(signs[own])
    scale = np.float32(1 / max(float(words.max()), 1e-9))
    words *= scale
    earlier = lexicon.value(earlier_signs[follows]) * scale
    asked = earlier * candidates.question[before[follows]]
    words[follows] = np.maximum(words[follows], NEARBY * earlier)
    words *= weights.WORDS
    words[follows] += weights.ASKED_WORDS * asked
    return words


def _add_time(
    strength: Floats, candidates: Candidates, query: Query, rows: Rows | slice, now: datetime
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
