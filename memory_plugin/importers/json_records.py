"""JSON lines (or one JSON list): perception events as they are, or simple chat records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory_plugin.codec import event_from_json
from memory_plugin.errors import ValidationError
from memory_plugin.importers.json_stream import CutOffError, Window, elements, parsed
from memory_plugin.importers.people import without_others
from memory_plugin.importers.text_files import LONGEST_LINE_CHARS, lines_of, open_text
from memory_plugin.importers.values import File, Numbering, Skipped
from memory_plugin.types import PerceptionEvent, Place, Source, checked_id

_WHO = ("author", "user", "name", "speaker", "from", "sender", "nick", "username", "role")
_WHO_ID = ("author_id", "user_id", "sender_id", "id", "name", "username", "nick")
_TEXT = ("content", "text", "message", "body", "msg")
_TIME = ("timestamp", "time", "date", "created_at", "ts", "datetime")
_CHANNEL = ("channel", "room", "channel_name", "conversation", "thread")
_ID = ("id", "message_id", "msg_id", "uuid")
# Seconds since 1970 reach this in the year 5138; milliseconds passed it in 1973.
_MILLISECONDS = 1e11


def read_json_records(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """One event for each record; a bad one is skipped."""
    direct = file.options.visibility == "direct"
    reader = _Reader(file, _speakers(file) if direct else {})
    for where, record in _records(file):
        try:
            yield reader.event(record)
        except CutOffError as fault:
            yield Skipped(where=where, reason=f"the file is damaged: {fault}")
        except (ValueError, OverflowError, OSError) as fault:
            yield Skipped(where=where, reason=str(fault))


def _speakers(file: File) -> dict[str, set[str]]:
    """Who speaks in each channel: the participants, if the channels are said to be direct."""
    found: dict[str, set[str]] = {}
    reader = _Reader(file, found)
    for _, record in _records(file):
        if isinstance(record, dict):
            try:
                channel, person = reader.speaker(record)
                found.setdefault(channel, set()).add(checked_id("author", person))
            except ValueError:
                continue
    return found


def _records(file: File) -> Iterator[tuple[str, Any]]:
    """Where each value of the file stands, and the value, or what is wrong with it."""
    with open_text(file.path) as stream:
        window = Window(stream)
        if window.peek() == "[":
            for number, value in elements(window):
                cut = isinstance(value, CutOffError)
                yield f"after record {number - 1}" if cut else f"record {number}", value
            return
    with open_text(file.path) as stream:
        for number, line in enumerate(lines_of(stream), 1):
            where = f"line {number}"
            if line is None:
                yield where, ValueError(f"is longer than {LONGEST_LINE_CHARS} characters")
            elif line.strip():
                try:
                    yield where, parsed(line)
                except ValueError as fault:
                    yield where, ValueError(f"is not JSON: {fault}")


class _Reader:
    """Records made events, for one file; `people` are the participants of direct channels."""

    def __init__(self, file: File, people: Mapping[str, set[str]]) -> None:
        self._file = file
        self._people = people
        self._numbering = Numbering("jsonl")

    def event(self, record: object) -> PerceptionEvent:
        """The event of one record; raises `ValueError` that says what it lacks."""
        if isinstance(record, ValueError):
            raise record
        if not isinstance(record, dict):
            raise ValidationError("record", record, "is not a JSON object")
        if "agent_id" in record and "source" in record and "place" in record:
            return self._whole(record)
        return self._simple(record)

    def _whole(self, record: Mapping[str, Any]) -> PerceptionEvent:
        """A perception event in its own JSON form."""
        event, options = event_from_json(record), self._file.options
        changed: dict[str, Any] = {}
        if event.external_id is None and not record.get("id"):
            changed["external_id"] = self._numbering.id_of(
                event.place.key, event.timestamp.isoformat(), event.source.entity_id, event.content
            )
        if options.overrule_agent and event.agent_id != options.agent_id:
            # In two memories it is two events, yet still the same message.
            changed |= {"agent_id": options.agent_id, "id": ""}
            changed.setdefault("external_id", event.external_id or event.id)
        return replace(event, **changed) if changed else event

    def speaker(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """Channel and entity id of the speaker of a simple record; raises `ValueError`."""
        taken = _Parts(record)
        platform = self._file.options.platform or "jsonl"
        who = taken.first(_WHO)
        if who is None:
            raise ValidationError("record", sorted(record), f"has no {_WHO[0]}")
        _, person = _person(who, record)
        return self._channel(taken), f"{platform}:user:{person}"

    def _channel(self, taken: _Parts) -> str:
        return str(self._file.options.channel or taken.first(_CHANNEL) or self._file.path.stem)

    def _simple(self, record: Mapping[str, Any]) -> PerceptionEvent:
        """A record of somebody saying something, with the usual names for its parts."""
        taken = _Parts(record)
        who, text, time = taken.first(_WHO), taken.first(_TEXT), taken.first(_TIME)
        if who is None or not isinstance(text, str) or time is None:
            parts = {_WHO[0]: who, _TEXT[0]: text if isinstance(text, str) else None}
            parts[_TIME[0]] = time
            missing = " and no ".join(name for name, value in parts.items() if value is None)
            raise ValidationError("record", sorted(record), f"has no {missing}")
        name, person = _person(who, record)
        options = self._file.options
        platform, channel = options.platform or "jsonl", self._channel(taken)
        said, own_id = _time(time, self._file), taken.first(_ID)
        return PerceptionEvent(
            agent_id=options.agent_id,
            place=self._place(platform, channel),
            source=Source(
                entity_id=f"{platform}:user:{person}", entity_name=name, source_type="channel"
            ),
            content=text,
            timestamp=said,
            event_type="self_speech" if record.get("role") == "assistant" else "external",
            external_id=f"{platform}:{channel}:{own_id}"
            if own_id is not None
            else self._numbering.id_of(channel, said.isoformat(), person, text),
            metadata=without_others(taken.rest()),
        )

    def _place(self, platform: str, channel: str) -> Place:
        options = self._file.options
        return Place(
            platform=platform,
            space=options.space,
            channel=channel,
            name=channel,
            visibility=options.visibility or "restricted",
            participants=tuple(self._people.get(channel, ())),
        )


class _Parts:
    """The parts of a record by their usual names, and what is left when they are taken."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record
        self._used: set[str] = set()

    def first(self, names: tuple[str, ...]) -> Any:
        """The value of the first of `names` that the record has; None without one."""
        for name in names:
            if self._record.get(name) not in (None, ""):
                self._used.add(name)
                return self._record[name]
        return None

    def rest(self) -> dict[str, Any]:
        """What nobody asked for."""
        return {key: value for key, value in self._record.items() if key not in self._used}


def _person(who: Any, record: Mapping[str, Any]) -> tuple[str, str]:
    """Name and id of who spoke; an object may carry both."""
    if isinstance(who, Mapping):
        name = next((str(who[key]) for key in _WHO if who.get(key)), "")
        person = next((str(who[key]) for key in _WHO_ID if who.get(key)), name)
        if not person:
            raise ValidationError("author", who, "names nobody")
        return name or person, person
    for key in ("author_id", "user_id", "sender_id"):
        if record.get(key):
            return str(who), str(record[key])
    return str(who), str(who)


def _time(value: Any, file: File) -> datetime:
    if isinstance(value, bool):
        raise ValidationError("time", value, "is not a time")
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return file.time_of(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValidationError("time", value, "is not a time")
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    return datetime.fromtimestamp(seconds, UTC)
