"""Small memories as columns, made from lines somebody said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from memory_plugin.parts import Candidates, TermMatch
from memory_plugin.text import count_words, is_dated, is_question, query_terms

NOON = datetime(2024, 5, 15, 12, tzinfo=UTC)  # a Wednesday
GAP_S = 3_600


@dataclass(frozen=True, kw_only=True)
class Line:
    text: str
    by: str = "ann"
    hours: float = 0.0  # after NOON
    place: int = 1
    importance: int = 5
    meaning: float = float("nan")
    eligible: bool = True


def linked(place, at):
    """(session, previous) of rows, as a store makes them."""
    session, previous = np.arange(len(at)), np.full(len(at), -1)
    newest: dict[int, int] = {}
    for row in np.lexsort((at, place)).tolist():
        before = newest.get(int(place[row]))
        if before is not None:
            previous[row] = before
            if at[row] - at[before] <= GAP_S:
                session[row] = session[before]
        newest[int(place[row])] = row
    return session.astype(np.int64), previous.astype(np.int64)


def remembered(lines: Sequence[Line], query: str = "") -> Candidates:
    """The columns of lines; the row of a line is its position, its seq ten times that."""
    at = np.array([(NOON + timedelta(hours=one.hours)).timestamp() for one in lines], np.float64)
    place = np.array([one.place for one in lines], np.int32)
    session, previous = linked(place, at)
    names = {name: number for number, name in enumerate(sorted({one.by for one in lines}))}
    return Candidates(
        seq=np.arange(len(lines), dtype=np.int64) * 10,
        at=at,
        author=np.array([names[one.by] for one in lines], np.int32),
        place=place,
        session=session,
        previous=previous,
        importance=np.array([one.importance for one in lines], np.uint8),
        words=np.array([count_words(one.text) for one in lines], np.float32),
        question=np.array([is_question(one.text) for one in lines], np.bool_),
        dated=np.array([is_dated(one.text) for one in lines], np.bool_),
        eligible=np.array([one.eligible for one in lines], np.bool_),
        meaning=np.array([one.meaning for one in lines], np.float32),
        terms=[_match(term, lines) for term in query_terms(query)] if query else [],
    )


def _match(term: str, lines: Sequence[Line]) -> TermMatch:
    bodies = [f"{one.by}: {one.text}".lower() for one in lines]
    whole = [row for row, body in enumerate(bodies) if term in re.findall(r"\w+", body)]
    inside = [row for row, body in enumerate(bodies) if term in body]
    rows = whole or inside
    return TermMatch(term=term, rows=np.array(rows, np.int64), inside=bool(rows) and not whole)


def rearranged(candidates: Candidates, order: np.ndarray) -> Candidates:
    """The same memory with its rows in another order."""
    new = np.empty(len(order) + 1, np.int64)
    new[order], new[-1] = np.arange(len(order)), -1
    columns = {
        name: getattr(candidates, name)[order]
        for name in (
            "seq", "at", "author", "place", "session", "importance", "words", "question",
            "dated", "eligible", "meaning",
        )
    }  # fmt: skip
    return replace(
        candidates,
        **columns,
        previous=new[candidates.previous[order]],
        terms=[replace(term, rows=new[term.rows]) for term in candidates.terms],
    )
