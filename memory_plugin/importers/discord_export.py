"""Exports of DiscordChatExporter in JSON: one channel a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ijson

from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers.rendering import render
from memory_plugin.importers.values import File, Skipped, one_line, parse_time
from memory_plugin.types import PerceptionEvent, Place, Source, Visibility

_DIRECT = frozenset({"DirectTextChat", "DirectGroupTextChat"})
# What the exporter writes for kinds it has no name for, and for those it has.
_SPOKEN = frozenset({"Default", "Reply", "0", "19", "20", "23"})
_KEPT = ("attachments", "embeds", "stickers", "reactions", "mentions", "poll", "interaction")
_PARTS = (
    ijson.JSONError,
    UnicodeDecodeError,
    OSError,
)


def read_discord_export(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """The messages of one channel, in the order of the file; a bad one is skipped."""
    head = _head(file)
    place = _place(file, head)
    number = 0
    try:
        with file.path.open("rb") as stream:
            for message in ijson.items(stream, "messages.item", use_float=True):
                number += 1
                where = f"message {number}"
                try:
                    yield _event(message, place, file)
                except (ValidationError, ValueError, KeyError, TypeError, AttributeError) as fault:
                    yield Skipped(where=where, reason=_reason(fault))
    except _PARTS as fault:
        # A file that was cut off still gave everything before the cut.
        yield Skipped(
            where=f"after message {number}", reason=f"the file is damaged: {one_line(fault)}"
        )


def _reason(fault: Exception) -> str:
    if isinstance(fault, KeyError):
        return f"has no {fault.args[0]}"
    return f"cannot be read: {fault}"


def _head(file: File) -> Mapping[str, Any]:
    """Guild and channel, and for a direct channel everybody who wrote in it."""
    found: dict[str, Any] = {}
    try:
        for key in ("guild", "channel"):
            with file.path.open("rb") as stream:
                found[key] = next(ijson.items(stream, key, use_float=True))
        if _is_direct(found):
            with file.path.open("rb") as stream:
                found["people"] = _people(stream)
    except StopIteration as fault:
        raise ImportFileError(
            f"{file.path} has no {key!r}: not a DiscordChatExporter file"
        ) from fault
    except _PARTS as fault:
        if "channel" not in found:
            raise ImportFileError(f"cannot read {file.path}: {one_line(fault)}") from fault
    if not isinstance(found["channel"], dict) or not isinstance(found["guild"], dict):
        raise ImportFileError(f"{file.path}: guild and channel must be objects")
    return found


def _people(stream: Any) -> list[str]:
    people: dict[str, None] = {}
    try:
        for author in ijson.items(stream, "messages.item.author.id"):
            people[f"discord:user:{author}"] = None
    except _PARTS:
        # Whoever wrote before the damage is still a participant.
        return list(people)
    return list(people)


def _is_direct(head: Mapping[str, Any]) -> bool:
    return str(head["guild"].get("id")) == "0" or head["channel"].get("type") in _DIRECT


def _place(file: File, head: Mapping[str, Any]) -> Place:
    options, channel, guild = file.options, head["channel"], head["guild"]
    direct = _is_direct(head)
    visibility: Visibility = options.visibility or ("direct" if direct else "restricted")
    people = tuple(head.get("people", ()))
    if visibility == "direct" and not people:
        visibility = "restricted"
    try:
        return Place(
            platform=options.platform or "discord",
            space=options.space or (None if direct else str(guild["id"])),
            channel=options.channel or str(channel["id"]),
            name=str(channel.get("name") or ""),
            visibility=visibility,
            participants=people if visibility == "direct" else (),
        )
    except (KeyError, ValidationError) as fault:
        raise ImportFileError(f"{file.path}: the channel cannot be read: {fault}") from fault


def _event(message: Mapping[str, Any], place: Place, file: File) -> PerceptionEvent:
    author = message["author"]
    spoken = str(message.get("type", "Default")) in _SPOKEN
    edited = message.get("timestampEdited")
    reference = message.get("reference") or {}
    replied = reference.get("messageId") if reference.get("type", "Default") != "Forward" else None
    metadata: dict[str, Any] = {key: message[key] for key in _KEPT if message.get(key)}
    metadata["type"] = str(message.get("type", "Default"))
    metadata["username"] = str(author.get("name") or "")
    if author.get("isBot"):
        metadata["is_bot"] = True
    if message.get("isPinned"):
        metadata["is_pinned"] = True
    if edited:
        metadata["edited_at"] = parse_time(edited, file.options.zone).isoformat()
    text = render(message)
    if text != (message.get("content") or ""):
        metadata["raw_content"] = str(message.get("content") or "")
    return PerceptionEvent(
        agent_id=file.options.agent_id,
        place=place,
        source=Source(
            entity_id=f"discord:user:{author['id']}",
            entity_name=str(author.get("nickname") or author.get("name") or ""),
            source_type=("page" if place.visibility == "direct" else "channel")
            if spoken
            else "system",
        ),
        content=text,
        timestamp=parse_time(message["timestamp"], file.options.zone),
        external_id=f"discord:{message['id']}",
        reply_to=f"discord:{replied}" if replied else None,
        metadata=metadata,
    )
