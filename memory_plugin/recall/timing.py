"""When a query means: "last week", "in May", "on 7 May 2023" as windows of time.

Words are English. Weeks begin on Monday and seasons are those of the northern half of the earth,
each three whole calendar months.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memory_plugin.recall.dates import DATES
from memory_plugin.recall.moment import Moment, Reading
from memory_plugin.recall.relative import OFFSET, RELATIVES, offset

# Times are named near the beginning of a query; what is longer than this is no question.
_LOOKED_AT = 1_000
MOST_SPANS = 8
# How far before an expression the words stand that belong to it.
_NEAR = 60
# No expression is without one of these; most queries end here.
_HINT = re.compile(
    r"\d|day|night|week|month|year|ago|back|earlier|this|past|last|spring|summer|autumn|fall|winter|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
)
# Between the ends of "between June and August".
_JOIN = re.compile(r"\s*(?:,\s*)?(?:and|to|until|till|through|[-\u2013\u2014])\s*(?:the\s+)?")
_DASH = re.compile(r"\s*[-\u2013\u2014]\s*")
_OPENS = re.compile(r"\b(?:between|from)\s+(?:the\s+)?$")
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?$")
_AFTER = re.compile(r"\bafter\s+(?:the\s+)?$")
_BEFORE = re.compile(r"\b(?:before|until|till|up\s+to|prior\s+to)\s+(?:the\s+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time; `since` is included, `until` is not, None leaves that side open."""

    since: datetime | None
    until: datetime | None


# What one expression can mean, the likeliest first: "in May" is the latest May that has begun,
# else the one before it, and so on.
Span = tuple[Window, ...]


def find_spans(text: str, now: datetime) -> tuple[Span, ...]:
    """The times a text names, as seen from `now` (the asker's clock, with their UTC offset).

    One span for each expression, in the order of the text; a range is one expression.
    """
    lower = text[:_LOOKED_AT].lower()
    if not _HINT.search(lower):
        return ()
    found = _moments(lower, now)
    spans: list[Span] = []
    while found:
        first, *rest = found
        if rest and _is_range(lower, first, rest[0]):
            spans.append(_range(first, rest[0]))
            found = rest[1:]
        else:
            # "Last weekend" in "last weekend before April 10" is no time of its own.
            if not (rest and _leads_to(lower, first, rest[0])):
                with suppress(OverflowError):
                    spans.append(tuple(_bounded(_before(lower, first), first.readings)))
            found = rest
    return tuple(span for span in spans if span)[:MOST_SPANS]


def _before(text: str, moment: Moment) -> str:
    return text[max(0, moment.start - _NEAR) : moment.start]


def _leads_to(text: str, first: Moment, second: Moment) -> bool:
    match = OFFSET.search(_before(text, second))
    return match is not None and second.start - len(match.group()) <= first.end


def _moments(text: str, now: datetime) -> list[Moment]:
    """All expressions in the order of the text, none inside another: the longer one wins.

    What lies outside the years 1 to 9999 is left out.
    """
    every: list[Moment] = []
    for pattern, maker in (*DATES, *RELATIVES):
        for match in pattern.finditer(text):
            with suppress(ValueError, OverflowError):
                every.extend(maker(text, match, now))
    every.sort(key=lambda one: (one.start, -one.end))
    found: list[Moment] = []
    for one in every:
        if not found or one.start >= found[-1].end:
            found.append(one)
    return found


def _is_range(text: str, first: Moment, second: Moment) -> bool:
    between = text[first.end : second.start]
    if not _JOIN.fullmatch(between):
        return False
    return bool(_DASH.fullmatch(between) or _OPENS.search(_before(text, first)))


def _range(first: Moment, second: Moment) -> Span:
    """From the beginning of the first to the end of the second, for each reading of the second."""
    windows = []
    for end in second.readings:
        starts = [start for start in _starts(first, end) if start[0] < end[1]]
        if starts:
            windows.append(Window(since=max(starts)[0], until=end[1]))
    return tuple(windows)


def _starts(first: Moment, end: Reading) -> Sequence[Reading]:
    """ "Between June and August 2022": the June of that year, or of the one before."""
    if first.of_year is None:
        return first.readings
    years = (end[1].year, end[1].year - 1)
    return [one for one in map(first.of_year, years) if one is not None]


def _bounded(before: str, readings: Iterable[Reading]) -> Iterator[Window]:
    """The readings as windows, moved or open as the words in front of them say."""
    moved = OFFSET.search(before)
    for since, until in readings:
        if moved is not None:
            begin, end = offset(moved, (since, until))
            yield Window(since=begin, until=end)
        elif _SINCE.search(before):
            yield Window(since=since, until=None)
        elif _AFTER.search(before):
            yield Window(since=until, until=None)
        elif _BEFORE.search(before):
            yield Window(since=None, until=since)
        else:
            yield Window(since=since, until=until)
