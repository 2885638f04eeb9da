"""Plain text logs of chats: ``[time] name: text`` and its many relatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock
from pathlib import Path

from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers.log_lines import (
    NotSaid,
    Said,
    Stamp,
    day_of,
    said_in,
    without_style,
)
from memory_plugin.importers.text_files import lines_of, open_text
from memory_plugin.importers.values import File, Numbering, Skipped
from memory_plugin.types import PerceptionEvent, Place, Source, checked_id

# Where a log without a day seems to begin while its length is measured; any day will do.
_NOWHEN = datetime(2000, 1, 1, tzinfo=UTC)
# A clock that goes back this far has passed midnight; less is a clock that was set.
_PASSED_MIDNIGHT = timedelta(hours=6)
# A message with its continuations; what would make it longer is left out.
_LONGEST_MESSAGE_CHARS = 1 << 22


@dataclass(slots=True, kw_only=True)
class _Message:
    """A message in the making: lines that continue it are added."""

    number: int
    said: Said
    at: datetime
    estimated: bool
    more: list[str]

    @property
    def text(self) -> str:
        return "\n".join((self.said.text, *self.more))


class _Days:
    """The date that a clock time without one belongs to, and the time for lines without any.

    Logs run forward: a clock that falls back by hours has passed midnight.
    """

    def __init__(self, begin: datetime, zone: tzinfo) -> None:
        self._zone = zone
        self._next = begin
        self._day: date = begin.date()
        self._known = False
        self._last: datetime | None = None

    def begin(self, day: date) -> None:
        """A line of the log said which day it is."""
        self._day, self._known, self._last = day, True, None
        self._next = datetime.combine(day, clock(), self._zone)

    def at(self, stamp: Stamp | None) -> tuple[datetime, bool]:
        """When a line was said, and whether that is a guess; raises `OverflowError`.

        A line without a time comes a second after the one before.
        """
        if stamp is None:
            said = self._next
        else:
            if stamp.day is not None:
                self._day, self._known = stamp.day, True
            zone = stamp.offset or self._zone
            said = datetime.combine(self._day, stamp.clock, zone)
            if stamp.day is None and self._last and said < self._last - _PASSED_MIDNIGHT:
                self._day += timedelta(days=1)
                said = datetime.combine(self._day, stamp.clock, zone)
            self._last = said
        self._next = said + timedelta(seconds=1)
        return said, stamp is None or not self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """What must be known of a whole log before its first message."""

    stamped: bool
    begin: datetime
    authors: tuple[str, ...]


def read_plain_log(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """One event for each message; lines that begin with no name continue the one before.

    In a log with times a line without one always continues. A log without days ends when the file
    was last written.
    """
    survey = _survey(file)
    place = _place(file, survey.authors)
    numbering = Numbering("log")
    days = _Days(survey.begin, file.options.zone)
    with open_text(file.path) as stream:
        for one in _messages(lines_of(stream), days, stamped=survey.stamped):
            yield one if isinstance(one, Skipped) else _event(one, place, file, numbering)


def _survey(file: File) -> _Survey:
    zone = file.options.zone
    direct = file.options.visibility == "direct"
    authors: set[str] = set()
    begin = _NOWHEN.replace(tzinfo=zone)
    last: _Message | None = None
    end: datetime | None = None
    stamped = _has_stamps(file.path)
    with open_text(file.path) as stream:
        for one in _messages(lines_of(stream), _Days(begin, zone), stamped=stamped):
            if isinstance(one, Skipped):
                continue
            if one.estimated and end is None:
                last = one
            else:
                end = end or one.at
                if not direct:
                    break
            authors.add(one.said.who)
    if last is not None:
        begin += _shift(last, end or _written(file))
    return _Survey(stamped=stamped, begin=begin, authors=tuple(sorted(authors)))


def _shift(last: _Message, end: datetime) -> timedelta:
    """How much later a log was than it seemed, if its `last` message was said by `end`.

    Clock times are kept: only their day is a guess.
    """
    shift = end.replace(microsecond=0) - last.at
    return timedelta(days=shift.days) if last.said.stamp is not None else shift


def _written(file: File) -> datetime:
    try:
        modified = datetime.fromtimestamp(file.path.stat().st_mtime, UTC)
        return modified.astimezone(file.options.zone)
    except (OSError, OverflowError, ValueError) as fault:
        raise ImportFileError(
            f"{file.path} names no day and has no usable date: {fault}"
        ) from fault


def _has_stamps(path: Path) -> bool:
    with open_text(path) as stream:
        for line in lines_of(stream):
            try:
                said = said_in(without_style(line or "") or " ")
            except ValueError:
                continue
            if isinstance(said, Said) and said.stamp is not None:
                return True
    return False


def _messages(
    lines: Iterable[str | None], days: _Days, *, stamped: bool
) -> Iterator[_Message | Skipped]:
    """The messages of a log with what continues them, and the lines that are neither."""
    open_message: _Message | None = None
    length = 0
    for number, line in enumerate(lines, 1):
        text = "" if line is None else without_style(line)
        if line is not None and not text.strip():
            continue
        read = (
            NotSaid(reason="is too long")
            if line is None
            else _read(text, number, days, stamped=stamped)
        )
        if read is None and open_message is not None:
            length += len(text)
            if length < _LONGEST_MESSAGE_CHARS:
                open_message.more.append(text)
            continue
        if open_message is not None and isinstance(read, _Message | date):
            yield open_message
            open_message = None
        if isinstance(read, _Message):
            open_message, length = read, 0
        elif not isinstance(read, date):
            reason = read.reason if read is not None else "names no speaker"
            yield Skipped(where=f"line {number}", reason=reason)
    if open_message is not None:
        yield open_message


def _read(
    text: str, number: int, days: _Days, *, stamped: bool
) -> _Message | NotSaid | date | None:
    """What a line is: a message, a notice, a new day, or None if it may continue a message."""
    try:
        day = day_of(text)
        if day is not None:
            days.begin(day)
            return day
        said = said_in(text)
        if not isinstance(said, Said):
            return said
        if stamped and said.stamp is None:
            return None
        at, estimated = days.at(said.stamp)
    except (ValueError, OverflowError) as fault:
        return NotSaid(reason=str(fault))
    return _Message(number=number, said=said, at=at, estimated=estimated, more=[])


def _place(file: File, authors: Iterable[str]) -> Place:
    options = file.options
    platform = options.platform or "log"
    channel = options.channel or file.path.stem
    visibility = options.visibility or "restricted"
    people = []
    for who in authors if visibility == "direct" else ():
        try:
            people.append(checked_id("author", f"{platform}:user:{who}"))
        except ValueError:
            # Their messages are skipped for the same reason.
            continue
    if not people and visibility == "direct":
        raise ImportFileError(f"{file.path} names nobody who could take part in a direct place")
    try:
        return Place(
            platform=platform,
            space=options.space,
            channel=channel,
            name=channel,
            visibility=visibility,
            participants=tuple(people),
        )
    except ValidationError as fault:
        raise ImportFileError(f"{file.path} cannot name a channel, state one: {fault}") from fault


def _event(
    message: _Message, place: Place, file: File, numbering: Numbering
) -> PerceptionEvent | Skipped:
    said = message.said
    try:
        file.guesses.zoneless += said.stamp is not None and said.stamp.offset is None
        # Without a time of its own a line is known by what it says and where it stands.
        known_time = "" if message.estimated else message.at.astimezone(UTC).isoformat()
        return PerceptionEvent(
            agent_id=file.options.agent_id,
            place=place,
            source=Source(
                entity_id=f"{place.platform}:user:{said.who}",
                entity_name=said.who,
                source_type="pose" if said.action else "say",
            ),
            content=message.text,
            timestamp=message.at,
            external_id=numbering.id_of(place.channel, known_time, said.who, message.text),
            metadata={"time_estimated": True} if message.estimated else {},
        )
    except (ValueError, OverflowError) as fault:
        return Skipped(where=f"line {message.number}", reason=str(fault))
