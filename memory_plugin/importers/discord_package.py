"""The data package that Discord sends a person who asks for it: their own messages only."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path
from typing import Any

from memory_plugin.errors import ImportFileError
from memory_plugin.importers.json_stream import Window, elements
from memory_plugin.importers.rendering import render
from memory_plugin.importers.values import File, Skipped, parse_time
from memory_plugin.types import PerceptionEvent, Place, Source

# The folder's name is in the person's language: Messages, Nachrichten, ...
_CHANNEL = re.compile(r"(?:^|.*/)([^/]+)/c?(\d{5,25})/channel\.json$")
_DIRECT_KINDS = frozenset({"DM", "GROUP_DM", "1", "3"})
# Ways to pack whose faults are known; Discord uses no other.
_UNPACKED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# A member that unpacks to more than this was made to do harm.
_MAX_BYTES = 1 << 30
# Encrypted is a RuntimeError, and so is a way of packing from a later version.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
# Reads one file of the package; raises `ValueError` if it is damaged.
Reader = Callable[[str], bytes]


def read_discord_package(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """The messages of every channel of a package, a ZIP file or the folder it unpacks to."""
    with ExitStack() as stack:
        names, read = _opened(file, stack)
        channels = [match for name in sorted(names) if (match := _CHANNEL.match(name))]
        if not channels:
            raise ImportFileError(f"{file.path} has no c<number>/channel.json: not a data package")
        owner = _owner(names, read)
        for match in channels:
            folder = match.string.removesuffix("channel.json")
            try:
                channel = json.loads(read(match.string))
                place = _place(file, channel, match.group(2), owner)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
                yield Skipped(where=match.string, reason=f"cannot be read: {fault}")
                continue
            yield from _messages(file, _rows(names, read, folder), place, owner)


def _opened(file: File, stack: ExitStack) -> tuple[set[str], Reader]:
    path = file.path
    if path.is_dir():
        inside = {str(one.relative_to(path).as_posix()) for one in path.rglob("*") if one.is_file()}
        return inside, lambda name: _from_folder(path, name)
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except (*_DAMAGE, ValueError) as fault:
        raise ImportFileError(f"cannot read {path} as a ZIP file: {fault}") from fault
    return set(archive.namelist()), lambda name: _from_zip(archive, name)


def _from_folder(path: Path, name: str) -> bytes:
    try:
        return (path / name).read_bytes()
    except OSError as fault:
        raise ValueError(fault.strerror or str(fault)) from fault


def _from_zip(archive: zipfile.ZipFile, name: str) -> bytes:
    member = archive.getinfo(name)
    if member.compress_type not in _UNPACKED:
        raise ValueError(f"it is packed in a way that is not read ({member.compress_type})")
    if member.file_size > _MAX_BYTES:
        raise ValueError(f"it unpacks to more than {_MAX_BYTES} bytes")
    try:
        return archive.read(member)
    except _DAMAGE as fault:
        raise ValueError(f"it is damaged: {fault}") from fault


def _owner(names: set[str], read: Reader) -> tuple[str, str]:
    """Id and name of the person whose package it is."""
    for name in sorted(names):
        if name.endswith("/user.json") or name == "user.json":
            try:
                user = json.loads(read(name))
                return str(user["id"]), str(user.get("global_name") or user.get("username") or "")
            except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
                break
    return "owner-of-the-package", "me"


def _place(file: File, channel: Mapping[str, Any], number: str, owner: tuple[str, str]) -> Place:
    options = file.options
    guild = channel.get("guild") or {}
    kind = str(channel.get("type"))
    others = [
        f"discord:user:{one}" for one in channel.get("recipients") or () if one != "Deleted User"
    ]
    direct = (kind in _DIRECT_KINDS or bool(others)) and options.visibility in (None, "direct")
    people = (f"discord:user:{owner[0]}", *others)
    name = channel.get("name") or guild.get("name") or ""
    return Place(
        platform=options.platform or "discord",
        space=options.space or (str(guild["id"]) if guild.get("id") else None),
        channel=options.channel or number,
        name=str(name),
        visibility="direct" if direct else options.visibility or "restricted",
        participants=people if direct else (),
    )


def _rows(names: set[str], read: Reader, folder: str) -> list[Any] | Skipped:
    """The messages of one channel as they stand in the file; old packages have CSV files.

    A message that is not JSON stands there as its fault.
    """
    try:
        if folder + "messages.json" in names:
            raw = io.BytesIO(read(folder + "messages.json"))
            window = Window(io.TextIOWrapper(raw, "utf-8-sig", "replace"))
            if window.peek() == "[":
                return [row for _, row in elements(window)]
            return Skipped(where=folder, reason="cannot be read: expected a JSON list")
        if folder + "messages.csv" in names:
            text = read(folder + "messages.csv").decode("utf-8-sig", "replace")
            return list(csv.DictReader(io.StringIO(text)))
    except (ValueError, csv.Error) as fault:
        return Skipped(where=folder, reason=f"cannot be read: {fault}")
    return []


def _messages(
    file: File, rows: list[Any] | Skipped, place: Place, owner: tuple[str, str]
) -> Iterator[PerceptionEvent | Skipped]:
    if isinstance(rows, Skipped):
        yield rows
        return
    # The package lists the newest message first.
    for number, row in reversed(list(enumerate(rows, 1))):
        where = f"channel {place.channel}, message {number}"
        if not isinstance(row, dict):
            reason = str(row) if isinstance(row, ValueError) else "is not a JSON object"
            yield Skipped(where=where, reason=reason)
            continue
        try:
            yield _event(file, row, place, owner)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
            reason = f"has no {fault.args[0]}" if isinstance(fault, KeyError) else str(fault)
            yield Skipped(where=where, reason=reason)


def _event(
    file: File, row: Mapping[str, Any], place: Place, owner: tuple[str, str]
) -> PerceptionEvent:
    links = str(row.get("Attachments") or "").split()
    text = str(row.get("Contents") or "")
    shown = render({"content": text, "attachments": [{"url": one.split("?")[0]} for one in links]})
    return PerceptionEvent(
        agent_id=file.options.agent_id,
        place=place,
        source=Source(
            entity_id=f"discord:user:{owner[0]}",
            entity_name=owner[1],
            source_type="page" if place.visibility == "direct" else "channel",
        ),
        content=shown,
        # The package writes UTC and does not say so.
        timestamp=parse_time(str(row["Timestamp"]), UTC),
        external_id=f"discord:{row['ID']}",
        metadata={"attachments": links} if links else {},
    )
