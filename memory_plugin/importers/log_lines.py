"""One line of a plain chat log taken apart: its time, who speaks, and what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, timedelta, timezone, tzinfo
from datetime import time as clock

_DATE = r"(?P<date>\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,6})?)?)\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
_OFFSET = r"(?P<offset>Z|[+-]\d{2}:?\d{2})?"
_STAMP = re.compile(
    rf"\[?(?:{_DATE}(?:[T ,]\s*|\s+))?{_CLOCK}\s*{_OFFSET}\]?(?:\s*[-\u2013|](?=\s))?\s*"
)
_SAID = re.compile(
    r"<[ @+%&~]?(?P<angled>[^<>\n]{1,64})>\s?(?P<text1>.*)"
    r"|\*\s+(?P<actor>\S{1,64})\s(?P<action>.*)"
    r"|(?P<plain>[^:<>\[\]*\n]{1,64}?)(?::\s|:$|\t)(?P<text2>.*)",
    re.DOTALL,
)
# irssi writes "Day changed Mon May 08 2023", weechat "Mon, 08 May 2023".
_DAY = re.compile(
    r"^-{2,3}\s*(?:Day changed|Log opened)?\s*\w{3},?\s+"
    r"(?:(?P<d1>\d{1,2})\s+(?P<m1>\w{3})|(?P<m2>\w{3})\s+(?P<d2>\d{1,2}))(?:\s+[\d:]+)?\s+(?P<y>\d{4})"
)
_NOTICE = re.compile(r"^(?:-{2,3}|-!-|===|\*{3}|<--|-->|\u2190|\u2192)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Colors and styles of IRC (mIRC codes) and of terminals (ANSI).
_STYLE = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?"
    r"|\x1b\[[0-9;]*[A-Za-z]|[\x02\x0f\x11\x16\x1d\x1e\x1f]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The time a line states: a clock time, with a day and an offset where it has them."""

    clock: clock
    day: date | None
    offset: tzinfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Who says what in a line; an action is ``* ann waves``."""

    stamp: Stamp | None
    who: str
    text: str
    action: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSaid:
    """A line that is no message and continues none, and why."""

    reason: str


def without_style(line: str) -> str:
    """A line without codes for color and style."""
    return _STYLE.sub("", line)


def day_of(line: str) -> date | None:
    """The day that a line of the program announces; None for every other line.

    Raises `ValueError` for a day that does not exist.
    """
    found = _DAY.match(line)
    if found is None:
        return None
    month = (found["m1"] or found["m2"]).lower()
    if month not in _MONTHS:
        raise ValueError("is a day that does not exist")
    return date(int(found["y"]), _MONTHS.index(month) + 1, int(found["d1"] or found["d2"]))


def said_in(line: str) -> Said | NotSaid | None:
    """The message that a line begins, None if it begins none and so may continue one.

    Raises `ValueError` for a time that does not exist.
    """
    found = _STAMP.match(line)
    rest = line[found.end() :] if found is not None else line
    if _NOTICE.match(rest):
        return NotSaid(reason="is a notice of the program")
    said = _SAID.fullmatch(rest)
    if said is None:
        return None if found is None else NotSaid(reason="names no speaker")
    if found is None and line[0].isspace():
        return None
    return Said(
        stamp=_stamp_of(found) if found is not None else None,
        who=(said["angled"] or said["actor"] or said["plain"]).strip(),
        text=said["text1"] or said["action"] or said["text2"] or "",
        action=said["actor"] is not None,
    )


def _stamp_of(found: re.Match[str]) -> Stamp:
    return Stamp(
        clock=_clock_of(found["clock"], found["half"]),
        day=_date_of(found["date"]) if found["date"] else None,
        offset=_offset_of(found["offset"]),
    )


def _clock_of(text: str, half: str | None) -> clock:
    hours, minutes, *seconds = text.replace(",", ".").split(":")
    hour = int(hours)
    if half:
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    whole, _, part = (seconds[0] if seconds else "0").partition(".")
    return clock(hour, int(minutes), int(whole), int(part.ljust(6, "0")) if part else 0)


def _date_of(text: str) -> date:
    if "-" in text:
        return date.fromisoformat(text)
    first, second, third = (int(one) for one in re.split(r"[./]", text))
    year = third + 2000 if third < 100 else third
    # 31.12.2023 and 31/12/2023 are day first unless that is no date; 12/31/2023 is month first.
    day, month = (first, second) if "." in text or first > 12 else (second, first)
    return date(year, month, day)


def _offset_of(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if text[0] == "-" else delta)
