"""Times as chat exports write them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo

from memory_plugin.types import EPOCH

_FRACTION = re.compile(r"[.,](\d+)")
_NUMBER = re.compile(r"-?\d{1,19}(?:\.\d+)?")
# A unix time in seconds passes this bound in the year 5138, one in milliseconds did in 1973.
_SECONDS_BELOW = 1e11
_MILLISECONDS_BELOW = 1e14


def time_of(value: object, zone: tzinfo) -> datetime:
    """An ISO 8601 text, or unix seconds, milliseconds or microseconds, as an aware UTC datetime.

    A text without an offset is read in `zone`. Digits behind the microsecond are dropped. Raises
    `ValueError` for anything else.
    """
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text) and len(text) > 8:
            # Shorter ones are dates in ISO's basic form: 20230507.
            return _from_number(float(text))
        return _from_text(text, zone)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    raise ValueError(f"{_shown(value)} is no time")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _from_text(text: str, zone: tzinfo) -> datetime:
    if text.upper().endswith(" UTC"):
        text, zone = text[:-4], UTC
    plain = _FRACTION.sub(lambda found: "." + found.group(1)[:6].ljust(6, "0"), text, count=1)
    try:
        parsed = datetime.fromisoformat(plain)
        return aware(parsed, zone)
    except (ValueError, OverflowError) as fault:
        raise ValueError(f"{_shown(text)} is no ISO 8601 time") from fault


def aware(time: datetime, zone: tzinfo) -> datetime:
    """`time` in UTC, read in `zone` where it has no offset; raises `ValueError` out of range."""
    if time.utcoffset() is None:
        time = time.replace(tzinfo=zone)
    try:
        return time.astimezone(UTC)
    except OverflowError as fault:
        raise ValueError(f"{time} is outside the years 1 to 9999") from fault


def _from_number(number: float) -> datetime:
    try:
        # A whole number of any length may stand in a file; not all of them are a float.
        seconds = float(number)
        if not math.isfinite(seconds):
            raise ValueError(f"{_shown(number)} is no unix time")
        if abs(seconds) >= _MILLISECONDS_BELOW:
            seconds /= 1e6
        elif abs(seconds) >= _SECONDS_BELOW:
            seconds /= 1e3
        return EPOCH + timedelta(seconds=seconds)
    except OverflowError as fault:
        raise ValueError("a number is no unix time: it is too large") from fault
