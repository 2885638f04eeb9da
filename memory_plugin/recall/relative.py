"""Times told from now: "yesterday", "last week", "three days ago", "on Friday"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from memory_plugin.recall.moment import PART, Maker, Moment, Reading, days, months, part_of, plain

_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = {
    "half": 0.5, "half an": 0.5, "half a": 0.5, "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2,
    "couple of": 2, "three": 3, "few": 3, "several": 4, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_VAGUE = frozenset(["couple", "couple of", "few", "several"])
_UNIT_DAYS = {
    "minute": 1 / 1440, "min": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0,
    "fortnight": 14.0, "weekend": 7.0, "month": 30.44, "year": 365.25,
}  # fmt: skip
_UNIT = rf"(?P<unit>{'|'.join(_UNIT_DAYS)})s?"
_COUNT = (
    r"(?P<count>\d{1,4}|half\s+an?|(?:a\s+)?(?:couple(?:\s+of)?|few)|"
    + "|".join(word for word in _NUMBERS if " " not in word)
    + r")\s+"
)

# "Two weeks before", at the end of what stands in front of another expression.
OFFSET = re.compile(
    rf"\b(?:{_COUNT}|the\s+|last\s+)(?P<unit>day|week|weekend|month|year)s?\s+"
    r"(?P<side>before|prior\s+to|after|following)\s+(?:the\s+)?$"
)


def offset(match: re.Match[str], reading: Reading) -> Reading:
    """So many units before or after another time, half a unit more, for people round."""
    unit = timedelta(days=_UNIT_DAYS[match["unit"]])
    amount = _amount(match["count"])
    near, far = max(0.0, amount - 1) * unit, (amount + 0.5) * unit
    since, until = reading
    if match["side"] in {"after", "following"}:
        return until + near, until + far
    return since - far, since - near


def _day_word(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    word = match["word"]
    back = 2 if "before" in word else 1 if word == "yesterday" else 0
    part = "night" if word == "tonight" else match["part"]
    yield from plain(match, part_of(now.date() - timedelta(days=back), part, now))


def _this_part(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """This morning; last night."""
    back = 1 if match["which"] == "last" else 0
    yield from plain(match, part_of(now.date() - timedelta(days=back), match["part"], now))


def _weekday(text: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """The latest such day; today only as "on Friday" or "this Friday"."""
    back = (now.weekday() - _WEEKDAYS.index(match["weekday"])) % 7
    if back == 0 and not text[: match.start()].endswith(("on ", "this ")):
        back = 7
    yield from plain(match, part_of(now.date() - timedelta(days=back), match["part"], now))


def _unit(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """This week, last month, the year before last."""
    back = 0 if match["which"] == "this" else 2 if match["before"] or match["two"] else 1
    unit = match["unit"] or match["two"]
    if unit == "year":
        yield from plain(match, months(now.year - back, 1, now, count=12))
        return
    if unit == "month":
        year, month = divmod(now.year * 12 + now.month - 1 - back, 12)
        yield from plain(match, months(year, month + 1, now))
        return
    monday = now.date() - timedelta(days=now.weekday())
    if unit == "week":
        yield from plain(match, days(monday - timedelta(weeks=back), 7, now))
        return
    # From Monday to Friday this weekend is still to come, and the last one was five days ago.
    saturday = monday + timedelta(days=5)
    yield from plain(match, days(saturday - timedelta(weeks=back), 2, now))


def _ago(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """People round: "three weeks ago" is half a week to either side, whole days at least."""
    amount, unit_days = _amount(match["count"]), _UNIT_DAYS[match["unit"]]
    middle = now - timedelta(days=amount * unit_days)
    vague = _bare(match["count"]) in _VAGUE
    if unit_days < 1:
        # The larger the number, the rounder it is.
        slack = timedelta(days=max(unit_days, amount * unit_days / 3))
        yield from plain(match, (middle - slack, middle + slack))
        return
    around = int(unit_days / 2 + (unit_days if vague else 0))
    yield from plain(match, days(middle.date() - timedelta(days=around), 2 * around + 1, now))


def _past(_: str, match: re.Match[str], now: datetime) -> Iterator[Moment]:
    """The past two weeks: up to now, which is in it."""
    length = timedelta(days=_amount(match["count"]) * _UNIT_DAYS[match["unit"]])
    yield from plain(match, (now - length, now + timedelta(seconds=1)))


def _bare(count: str | None) -> str:
    return " ".join((count or "one").removeprefix("a ").split())


def _amount(count: str | None) -> float:
    word = _bare(count)
    return float(word) if word.isdigit() else _NUMBERS[word]


RELATIVES: tuple[tuple[re.Pattern[str], Maker], ...] = tuple(
    (re.compile(pattern), maker)
    for pattern, maker in (
        (
            rf"\b(?P<word>today|tonight|(?:the\s+)?day\s+before\s+yesterday|yesterday)"
            rf"(?:\s+{PART})?\b",
            _day_word,
        ),
        (r"\b(?P<which>this)\s+(?P<part>morning|afternoon|evening)\b", _this_part),
        (r"\b(?P<which>last)\s+(?P<part>night|evening)\b", _this_part),
        (rf"\b(?P<weekday>{'|'.join(_WEEKDAYS)})(?:\s+{PART})?\b", _weekday),
        (
            r"\b(?:(?P<which>this|last|previous|past)\s+(?P<unit>week|weekend|month|year)|"
            r"the\s+(?P<two>week|weekend|month|year)\s+(?P<before>before\s+last))\b(?!\s+ago)",
            _unit,
        ),
        (rf"\b{_COUNT}{_UNIT}\s+(?:ago|back|earlier)\b", _ago),
        (rf"\b(?:past|last|previous)\s+(?:{_COUNT}){_UNIT}\b", _past),
        (
            r"\b(?:in|over|during|within)\s+the\s+(?:past|last)\s+(?P<count>)"
            r"(?P<unit>hour|day|week|month|year)\b",
            _past,
        ),
    )
)
