"""JSON lines (or one JSON list): perception events as they are, or simple chat records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import ijson

from memory_plugin.codec import event_from_json
from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers.values import File, Numbering, Skipped, one_line, parse_time
from memory_plugin.types import PerceptionEvent, Place, Source

_WHO = ("author", "user", "name", "speaker", "from", "sender", "nick", "username", "role")
_WHO_ID = ("author_id", "user_id", "sender_id", "id", "name", "username", "nick")
_TEXT = ("content", "text", "message", "body", "msg")
_TIME = ("timestamp", "time", "date", "created_at", "ts", "datetime")
_CHANNEL = ("channel", "room", "channel_name", "conversation", "thread")
_ID = ("id", "message_id", "msg_id", "uuid")
# Seconds since 1970 reach this in the year 5138; milliseconds passed it in 1973.
_MILLISECONDS = 1e11
LONGEST_LINE = 16 * 1024 * 1024


def read_json_records(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """One event for each record; a bad one is skipped."""
    numbering = Numbering("jsonl")
    for where, record in _records(file):
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            if "agent_id" in record and "source" in record and "place" in record:
                yield event_from_json(record)
            else:
                yield _simple(record, file, numbering)
        except (ValidationError, ValueError, OverflowError, OSError) as fault:
            yield Skipped(where=where, reason=str(fault))


def _records(file: File) -> Iterator[tuple[str, Mapping[str, Any] | Skipped]]:
    with file.path.open("rb") as stream:
        first = stream.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")
    if first.startswith(b"["):
        yield from _listed(file)
        return
    with file.path.open("rb") as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE):
            number += 1
            where = f"line {number}"
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                _pass_over_line(stream)
                yield where, Skipped(where=where, reason=f"is longer than {LONGEST_LINE} bytes")
                continue
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text:
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as fault:
                yield where, Skipped(where=where, reason=f"is not JSON: {fault}")
                continue
            yield where, _as_record(where, record)


def _pass_over_line(stream: Any) -> None:
    while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
        pass


def _listed(file: File) -> Iterator[tuple[str, Mapping[str, Any] | Skipped]]:
    number = 0
    try:
        with file.path.open("rb") as stream:
            for record in ijson.items(stream, "item", use_float=True):
                number += 1
                where = f"record {number}"
                yield where, _as_record(where, record)
    except (ijson.JSONError, UnicodeDecodeError) as fault:
        if not number:
            raise ImportFileError(
                f"cannot read {file.path} as a JSON list: {one_line(fault)}"
            ) from fault
        where = f"after record {number}"
        yield where, Skipped(where=where, reason=f"the file is damaged: {one_line(fault)}")


def _as_record(where: str, record: Any) -> Mapping[str, Any] | Skipped:
    if isinstance(record, dict):
        return record
    return Skipped(where=where, reason="is not a JSON object")


def _simple(record: Mapping[str, Any], file: File, numbering: Numbering) -> PerceptionEvent:
    """A record of somebody saying something, with the usual names for its parts."""
    used: set[str] = set()

    def first(names: tuple[str, ...]) -> Any:
        for name in names:
            if record.get(name) not in (None, ""):
                used.add(name)
                return record[name]
        return None

    who, text, time = first(_WHO), first(_TEXT), first(_TIME)
    if who is None or not isinstance(text, str) or time is None:
        missing = [
            names[0]
            for names, value in ((_WHO, who), (_TEXT, text), (_TIME, time))
            if value is None or (names is _TEXT and not isinstance(value, str))
        ]
        raise ValidationError("record", sorted(record), f"has no {' and no '.join(missing)}")
    name, person = _person(who, record)
    options = file.options
    platform = options.platform or "jsonl"
    channel = str(options.channel or first(_CHANNEL) or file.path.stem)
    said = _time(time, file)
    own_id = first(_ID)
    external = (
        f"{platform}:{channel}:{own_id}"
        if own_id is not None
        else numbering.id_of(channel, said.isoformat(), person, text)
    )
    rest = {key: value for key, value in record.items() if key not in used}
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
            entity_id=f"{platform}:user:{person}", entity_name=name, source_type="channel"
        ),
        content=text,
        timestamp=said,
        event_type="self_speech" if record.get("role") == "assistant" else "external",
        external_id=external,
        metadata=rest,
    )


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
            return parse_time(value, file.options.zone)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValidationError("time", value, "is not a time")
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    return datetime.fromtimestamp(seconds, UTC)
