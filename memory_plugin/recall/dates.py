"""Dates as English writes them: "7 May 2023", "in May", "2023-05-07", "the summer of 2022"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

from memory_plugin.recall.moment import (
    YEAR,
    Maker,
    Moment,
    Reading,
    days,
    months,
    plain,
    yearly,
)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The first month of each; a winter begins in the year it is named after.
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
# The other months are also words, or people's names: they count only beside a preposition or a
# number.
_PLAIN_MONTHS = frozenset(
    ["january", "february", "july", "september", "october", "november", "december"]
)
_BESIDE = re.compile(
    r"\b(?:in|of|on|since|until|till|by|before|after|during|last|past|this|from|between|around|"
    r"through|and|to)\s+(?:the\s+)?$"
)
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?!:)"
_LAST = r"(?:\s*(?:-|\u2013|to|and|through|until)\s*(?P<last>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?"
_THIRD = r"(?:(?P<third>early|mid|middle|late|beginning|end|start)[\s-]+(?:(?:of|in)\s+)?)?"


def _iso(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    year, month = int(match["y"]), int(match["m"])
    if match["d"] is None:
        yield from plain(match, months(year, month, now))
    else:
        yield from plain(match, days(date(year, month, int(match["d"])), 1, now))


def _numeric(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """Month first or day first: both are readings where both are dates; with dots, day first."""
    one, two, year = int(match["a"]), int(match["b"]), int(match["y"])
    orders = [(two, one)] if match["dot"] else [(one, two), (two, one)]
    readings = [
        days(date(year, month, day), 1, now)
        for month, day in dict.fromkeys(orders)
        if 1 <= month <= 12
    ]
    yield from plain(match, *readings)


def _month_day(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """One day of a month, or some days in a row."""
    month, first = _number_of(match["month"]), int(match["day"])
    last = max(first, int(match["last"] or first))

    def of_year(year: int) -> Reading | None:
        try:
            return days(date(year, month, first), last - first + 1, now)
        except ValueError:  # the 29th of February
            return None

    if match["year"] is None:
        yield from yearly(match, of_year, now)
    elif (reading := of_year(int(match["year"]))) is not None:
        yield from plain(match, reading)


def _whole_month(text: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    month, name = _number_of(match["month"]), match["month"]

    def of_year(year: int) -> Reading:
        return _third(match["third"], months(year, month, now))

    if match["year"] is not None:
        yield from plain(match, of_year(int(match["year"])))
    elif name in _PLAIN_MONTHS or match["third"] or _BESIDE.search(text[: match.start()]):
        last = text[: match.start()].endswith("last ")
        yield from yearly(match, of_year, now, skip_running=last)


def _season(text: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    first = _SEASONS[match["season"]]

    def of_year(year: int) -> Reading:
        return _third(match["third"], months(year, first, now, count=3))

    if match["year"] is not None:
        yield from plain(match, of_year(int(match["year"])))
    elif match["third"] or _BESIDE.search(text[: match.start()]):
        last = text[: match.start()].endswith("last ")
        yield from yearly(match, of_year, now, skip_running=last)


def _whole_year(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    year = int(match["year"])
    years = max(1, int(match["until"] or year) - year + 1)
    yield from plain(match, _third(match["third"], months(year, 1, now, count=12 * years)))


def _number_of(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _third(word: str | None, whole: Reading) -> Reading:
    """ "Early", "mid" or "late": a third of the whole."""
    if word is None:
        return whole
    third = (whole[1] - whole[0]) / 3
    number = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(word, 2)
    return whole[0] + number * third, whole[0] + (number + 1) * third


DATES: tuple[tuple[re.Pattern[str], Maker], ...] = tuple(
    (re.compile(pattern), maker)
    for pattern, maker in (
        (r"\b(?P<y>(?:19|20)\d\d)[-/](?P<m>\d{1,2})(?:[-/](?P<d>\d{1,2}))?\b(?![-/]\d)", _iso),
        (
            r"(?<![\d.])(?P<a>\d{1,2})(?:/(?=\d{1,2}/)|(?P<dot>\.)(?=\d{1,2}\.))(?P<b>\d{1,2})[/.]"
            r"(?P<y>(?:19|20)\d\d)\b(?!\.\d)",
            _numeric,
        ),
        (rf"\b{_DAY}{_LAST}\s+(?:of\s+)?{_MONTH}(?:,?\s+{YEAR})?", _month_day),
        (rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}{_LAST}(?:,?\s+{YEAR})?", _month_day),
        (rf"\b{_THIRD}{_MONTH}(?:,?\s+(?:of\s+)?{YEAR})?", _whole_month),
        (
            rf"\b{_THIRD}(?:the\s+)?(?P<season>{'|'.join(_SEASONS)})\b(?:,?\s+(?:of\s+)?{YEAR})?",
            _season,
        ),
        (
            rf"(?<![\d$\u20ac\u00a3#.,:/-])\b{_THIRD}{YEAR}"
            r"(?:\s*[-\u2013]\s*(?P<until>(?:19|20)\d\d)\b)?(?![-/:.,]?\d|\s*[%$])",
            _whole_year,
        ),
    )
)
