"""One expression of time in a text, and the arithmetic of days and months behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

Reading = tuple[datetime, datetime]  # the first moment, and the first one after
OfYear = Callable[[int], Reading | None]

# How far back "in May" is looked for.
YEARS_BACK = 20
# In hours after midnight; the night ends on the next day.
_DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
YEAR = r"(?P<year>(?:19|20)\d\d)\b"
PART = r"(?P<part>morning|afternoon|evening|night)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An expression: where it stands in the text, and what it can mean, the likeliest first.

    `of_year` gives the reading in a certain year, for expressions that name none.
    """

    start: int
    end: int
    readings: tuple[Reading, ...]
    of_year: OfYear | None = None


Maker = Callable[[str, re.Match[str], datetime], Iterator[Moment]]


def plain(match: re.Match[str], *readings: Reading) -> Iterator[Moment]:
    """An expression whose readings do not hang on a year that is not said."""
    yield Moment(start=match.start(), end=match.end(), readings=readings)


def yearly(
    match: re.Match[str], of_year: OfYear, now: datetime, *, skip_running: bool = False
) -> Iterator[Moment]:
    """What comes every year: the latest that has begun first, then those before it.

    `skip_running` passes over one that is not over yet.
    """
    years = (of_year(year) for year in range(now.year, max(0, now.year - YEARS_BACK), -1))
    edge = 1 if skip_running else 0
    past = tuple(one for one in years if one is not None and one[edge] <= now)
    yield Moment(start=match.start(), end=match.end(), readings=past, of_year=of_year)


def midnight(day: date, now: datetime) -> datetime:
    """The beginning of a day where the asker is."""
    return datetime.combine(day, time.min, now.tzinfo)


def days(first: date, count: int, now: datetime) -> Reading:
    """So many whole days."""
    return midnight(first, now), midnight(first + timedelta(days=count), now)


def part_of(day: date, part: str | None, now: datetime) -> Reading:
    """The morning, afternoon, evening or night of a day; None is all of it."""
    if part is None:
        return days(day, 1, now)
    begin, end = _DAY_PARTS[part]
    start = midnight(day, now)
    return start + timedelta(hours=begin), start + timedelta(hours=end)


def months(year: int, month: int, now: datetime, count: int = 1) -> Reading:
    """So many whole months."""
    after, index = divmod(year * 12 + month - 1 + count, 12)
    return midnight(date(year, month, 1), now), midnight(date(after, index + 1, 1), now)
