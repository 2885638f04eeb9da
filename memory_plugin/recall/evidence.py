"""What speaks for each row of a pool, in columns that are comparable from query to query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates
from memory_plugin.recall.asking import Query
from memory_plugin.recall.lexical import MOST_TERMS, Lexicon
from memory_plugin.recall.meaning import Meaning
from memory_plugin.recall.neighbours import line_after, lines_before, session_worth, turn_before
from memory_plugin.recall.timing import Span

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

DAY_S: Final = 86_400.0
# A word of the query that stands only in the lines before counts for so much.
NEARBY = np.float32(0.4)
AFTER = np.float32(0.25)
# One full match of words is worth so many spreads of meaning.
WORDS_PER_MEANING = np.float32(3.0)
# Below this, the nearness of two texts is that of any two.
NEAR = 0.1
# A term that stands in all lines of an author, and at least so many, is their name.
NAME_LINES = 3
MOST_NAMES = 4
_LITTLE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Columns over a pool of rows; matches are shares of the best row's, 0 to 1.

    `words` is the row's own match, `context` what the lines before it add to it. `asked_words`
    and `asked_meaning` are those of another's question that the row answers. `session` is the
    mean strength of its session's best rows. `inside`: it lies in a time the query names.
    `named`: the query names its author. `some`: there is any reason at all to recall it.
    `quoted`: it holds every word of the query and is as long. `coverage` is how much of the whole
    query the best row matches, 0 to 1.
    """

    words: Floats
    context: Floats
    meaning: Floats
    asked_words: Floats
    asked_meaning: Floats
    session: Floats
    inside: Marks
    named: Marks
    some: Marks
    quoted: Marks
    coverage: float


def look(
    candidates: Candidates,
    query: Query,
    lexicon: Lexicon,
    meaning: Meaning,
    *,
    eligible: Rows | slice,
    rows: Rows,
) -> Evidence:
    """Gather the evidence for `rows`, some of the eligible, ascending; there is at least one."""
    before = turn_before(candidates, rows)
    before[~candidates.question[before]] = -1
    own = lexicon.signs[rows]
    around = np.bitwise_or.reduce(lexicon.signs[lines_before(candidates, rows)], axis=0) & ~own
    norm = lexicon.norm(candidates.words[rows])
    words = lexicon.value(own) * norm
    after = lexicon.signs[line_after(candidates, rows, eligible)] & ~own & ~around
    context = (NEARBY * lexicon.value(around) + AFTER * lexicon.value(after)) * norm
    whole = words + context
    best = max(float(whole.max()), _LITTLE)
    scale = np.float32(1 / best)
    asked_words = lexicon.value(lexicon.signs[before]) * lexicon.norm(candidates.words[before])
    near = meaning.at(rows)
    strength = near + WORDS_PER_MEANING * scale * whole
    within = inside(candidates.at[rows], query.spans)
    return Evidence(
        words=words * scale,
        context=context * scale,
        meaning=near,
        asked_words=np.minimum(scale * asked_words, np.float32(1)),
        asked_meaning=np.where(before >= 0, meaning.at(before), np.float32(0)),
        session=session_worth(candidates.session[rows], strength),
        inside=within,
        named=named(candidates, lexicon, rows),
        some=within | (whole + asked_words > 0) | (candidates.meaning[rows] >= NEAR),
        quoted=quoted(candidates, query, lexicon, rows),
        coverage=min(1.0, best / max(lexicon.whole, _LITTLE)),
    )


def quoted(candidates: Candidates, query: Query, lexicon: Lexicon, rows: Rows) -> Marks:
    """Which rows the query may quote: as long as it, with every word of it."""
    if not query.quotes or not candidates.terms:
        return np.zeros(len(rows), np.bool_)
    every = lexicon.signs.dtype.type((1 << min(len(candidates.terms), MOST_TERMS)) - 1)
    marks: Marks = (candidates.words[rows] == query.quotes) & (lexicon.signs[rows] == every)
    return marks


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


def named(candidates: Candidates, lexicon: Lexicon, rows: Rows) -> Marks:
    """Which rows are of an author that the query names; none if it is all of them.

    Every line is indexed with its author's name, so a term that stands in all lines of an author
    is the name.
    """
    marks = np.zeros(len(rows), np.bool_)
    order = np.argsort(candidates.author[rows], kind="stable")
    author = candidates.author[rows[order]]
    starts = np.flatnonzero(np.concatenate(([True], author[1:] != author[:-1])))
    if len(starts) == 1:
        return marks
    lines = np.diff(starts, append=len(author))
    common = np.bitwise_and.reduceat(lexicon.signs[rows[order]], starts)
    likely = np.flatnonzero((common != 0) & (lines >= NAME_LINES))
    for at in likely[np.argsort(-lines[likely], kind="stable")][:MOST_NAMES]:
        # The pool holds what matches; the name must stand in the other lines too.
        theirs = lexicon.signs[:-1][candidates.author == author[starts[at]]]
        if np.bitwise_and.reduce(theirs) & common[at]:
            marks[order[starts[at] : starts[at] + lines[at]]] = True
    return marks if not marks.all() else np.zeros(len(rows), np.bool_)


def freshness(at: NDArray[np.float64], now: datetime) -> Floats:
    """1 for the newest row there is, less with every doubling of how much older a row is."""
    newest = min(float(at.max()), now.timestamp())
    age_days = ((newest - at) / DAY_S).astype(np.float32)
    np.maximum(age_days, 0, out=age_days)
    fresh: Floats = 1 / (1 + np.log2(1 + age_days))
    return fresh
