"""Plain text logs of chats: ``[time] name: text`` and its many relatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock

from memory_plugin.errors import ValidationError
from memory_plugin.importers.values import File, Numbering, Skipped
from memory_plugin.types import PerceptionEvent, Place, Source

_DATE = r"(?P<date>\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,6})?)?)\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
_OFFSET = r"(?P<offset>Z|[+-]\d{2}:?\d{2})?"
_STAMP = re.compile(rf"\[?(?:{_DATE}(?:[T ,]\s*|\s+))?{_CLOCK}\s*{_OFFSET}\]?(?:\s*[-\u2013|](?=\s))?\s*")
_SAID = re.compile(
    r"<[ @+%&~]?(?P<angled>[^<>\n]{1,64})>\s?(?P<text1>.*)"
    r"|\*\s+(?P<actor>\S{1,64})\s(?P<action>.*)"
    r"|(?P<plain>[^:<>\[\]*\n]{1,64}?)(?::\s|:$|\t)(?P<text2>.*)",
    re.DOTALL,
)
# As irssi writes it: Day changed Mon May 08 2023; and as weechat does: Mon, 08 May 2023.
_DAY = re.compile(
    r"^-{2,3}\s*(?:Day changed|Log opened)?\s*\w{3},?\s+"
    r"(?:(?P<d1>\d{1,2})\s+(?P<m1>\w{3})|(?P<m2>\w{3})\s+(?P<d2>\d{1,2}))(?:\s+[\d:]+)?\s+(?P<y>\d{4})"
)
_NOTICE = re.compile(r"^(?:-{2,3}|-!-|===|\*{3}|<--|-->|\u2190|\u2192)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UTC_ZONE = timezone(timedelta(0))
LONGEST_LINE = 4 * 1024 * 1024


@dataclass(slots=True)
class _Line:
    """A message in the making: lines that continue it are added."""

    number: int
    said: datetime
    estimated: bool
    who: str
    text: str
    action: bool


class _Days:
    """The date that a clock time without one belongs to, and the time for lines without any.

    Logs run forward: a clock that falls back by hours has passed midnight.
    """

    def __init__(self, file: File) -> None:
        self._zone = file.options.zone
        modified = datetime.fromtimestamp(file.path.stat().st_mtime, UTC).astimezone(self._zone)
        self.day: date = modified.date()
        self.known = False
        self.last: datetime | None = None

    def begin(self, day: date) -> None:
        """A line of the log said which day it is."""
        self.day, self.known, self.last = day, True, None

    def at(self, stamp: re.Match[str]) -> tuple[datetime, bool]:
        """The time of a stamp, and whether its date had to be guessed."""
        moment = _clock(stamp["clock"], stamp["half"])
        if stamp["date"]:
            self.day, self.known = _date(stamp["date"]), True
        zone = _offset(stamp["offset"]) or self._zone
        said = datetime.combine(self.day, moment, zone)
        fell_back = self.last is not None and said < self.last - timedelta(hours=6)
        if not stamp["date"] and fell_back:
            self.day += timedelta(days=1)
            said = datetime.combine(self.day, moment, zone)
        self.last = said
        return said, not self.known

    def next(self) -> datetime:
        """A second after the last line, for one that has no time."""
        start = datetime.combine(self.day, clock(), self._zone)
        self.last = start if self.last is None else self.last + timedelta(seconds=1)
        return self.last


def read_plain_log(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """One event for each message; lines that begin with no name continue the one before."""
    days, numbering = _Days(file), Numbering("log")
    open_line: _Line | None = None
    for number, text in _lines(file):
        day = _DAY.match(text)
        if day is not None or not text.strip():
            made = _change_day(days, day, number) if day is not None else None
            if made is not None:
                yield made
            continue
        try:
            begun = _begin(text, number, days)
        except ValueError as fault:
            yield Skipped(where=f"line {number}", reason=str(fault))
            continue
        if isinstance(begun, _Line):
            if open_line is not None:
                yield _event(open_line, file, numbering)
            open_line = begun
        elif begun is not None:
            yield begun
        elif open_line is not None:
            open_line.text += "\n" + text
        else:
            yield Skipped(where=f"line {number}", reason="names no speaker")
    if open_line is not None:
        yield _event(open_line, file, numbering)


def _lines(file: File) -> Iterator[tuple[int, str]]:
    with file.path.open("rb") as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE):
            number += 1
            # A log has no declared encoding; what is not UTF-8 keeps its readable part.
            yield number, line.decode("utf-8-sig", "replace").rstrip("\r\n")


def _change_day(days: _Days, day: re.Match[str], number: int) -> Skipped | None:
    month = (day["m1"] or day["m2"]).lower()
    try:
        days.begin(date(int(day["y"]), _MONTHS.index(month) + 1, int(day["d1"] or day["d2"])))
    except ValueError:
        return Skipped(where=f"line {number}", reason="is a day that does not exist")
    return None


def _begin(text: str, number: int, days: _Days) -> _Line | Skipped | None:
    """The message that a line begins, None if it continues one; notices are skipped."""
    stamp = _STAMP.match(text)
    rest = text[stamp.end() :] if stamp is not None else text
    if _NOTICE.match(rest):
        return Skipped(where=f"line {number}", reason="is a notice of the program")
    said = _SAID.fullmatch(rest)
    if said is None:
        if stamp is None:
            return None
        return Skipped(where=f"line {number}", reason="names no speaker")
    if stamp is None and text[0].isspace():
        return None
    when, estimated = days.at(stamp) if stamp is not None else (days.next(), True)
    who = said["angled"] or said["actor"] or said["plain"]
    return _Line(
        number=number,
        said=when,
        estimated=estimated,
        who=who.strip(),
        text=said["text1"] or said["action"] or said["text2"] or "",
        action=said["actor"] is not None,
    )


def _event(line: _Line, file: File, numbering: Numbering) -> PerceptionEvent | Skipped:
    options = file.options
    platform = options.platform or "log"
    channel = options.channel or file.path.stem
    # Without a time of its own a line is known by what it says and where it stands.
    known_time = "" if line.estimated else line.said.astimezone(UTC).isoformat()
    try:
        return PerceptionEvent(
            agent_id=options.agent_id,
            place=Place(
                platform=platform,
                space=options.space,
                channel=channel,
                name=channel,
                visibility=options.visibility or "restricted",
            ),
            source=Source(
                entity_id=f"{platform}:user:{line.who}",
                entity_name=line.who,
                source_type="pose" if line.action else "say",
            ),
            content=line.text,
            timestamp=line.said,
            external_id=numbering.id_of(channel, known_time, line.who, line.text),
            metadata={"time_estimated": True} if line.estimated else {},
        )
    except ValidationError as fault:
        return Skipped(where=f"line {line.number}", reason=str(fault))


def _clock(text: str, half: str | None) -> clock:
    hours, minutes, *seconds = text.replace(",", ".").split(":")
    hour = int(hours)
    if half:
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    whole, _, part = (seconds[0] if seconds else "0").partition(".")
    return clock(hour, int(minutes), int(whole), int(part.ljust(6, "0")) if part else 0)


def _date(text: str) -> date:
    if "-" in text:
        return date.fromisoformat(text)
    first, second, third = (int(one) for one in re.split(r"[./]", text))
    year = third + 2000 if third < 100 else third
    # 31.12.2023 and 31/12/2023 are day first unless that is no date; 12/31/2023 is month first.
    day, month = (first, second) if "." in text or first > 12 else (second, first)
    return date(year, month, day)


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text == "Z":
        return UTC_ZONE
    hours, minutes = int(text[1:3]), int(text[-2:])
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if text[0] == "-" else delta)
