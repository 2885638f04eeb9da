"""How long ago something was, as a person would say it."""

from __future__ import annotations

from datetime import datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
# Each unit counts from where its plural begins to sound right: 13 days, then 2 weeks.
_UNITS = (
    ("year", 365.25 * _DAY, 2 * 365.25 * _DAY),
    ("month", 30.44 * _DAY, 60 * _DAY),
    ("week", 7 * _DAY, 14 * _DAY),
    ("day", _DAY, _DAY),
    ("hour", _HOUR, _HOUR),
    ("minute", _MINUTE, _MINUTE),
)


def age_in_words(age: timedelta) -> str:
    """``3 weeks ago``; ``just now`` below a minute and for what clocks put into the future."""
    seconds = age.total_seconds()
    for unit, length, from_ in _UNITS:
        if seconds >= from_:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def date_of(at: datetime, now: datetime) -> str:
    """The day of `at` as the reader's calendar has it, in the UTC offset of `now`."""
    try:
        return at.astimezone(now.tzinfo).date().isoformat()
    except OverflowError:
        return at.date().isoformat()
