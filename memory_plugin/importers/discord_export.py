"""Exports of DiscordChatExporter in JSON: one channel a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers.json_stream import CutOffError, Window, elements, header_of
from memory_plugin.importers.people import reaction_counts
from memory_plugin.importers.rendering import render
from memory_plugin.importers.text_files import open_text
from memory_plugin.importers.values import File, Skipped, parse_time
from memory_plugin.types import PerceptionEvent, Place, Source, Visibility, checked_id

_DIRECT = frozenset({"DirectTextChat", "DirectGroupTextChat"})
# What the exporter writes for kinds it has no name for, and for those it has.
_SPOKEN = frozenset({"Default", "Reply", "0", "19", "20", "23"})
# The parts of what hangs on a message that are about the thing and name nobody.
_KEPT = {
    "attachments": ("id", "url", "fileName", "fileSizeBytes", "description"),
    "embeds": ("title", "url", "description", "fields"),
    "stickers": ("id", "name", "format"),
}


def read_discord_export(file: File) -> Iterator[PerceptionEvent | Skipped]:
    """The messages of one channel, in the order of the file; a bad one is skipped."""
    head = _head(file)
    place = _place(file, head)
    for number, message in _messages(file):
        where = f"message {number}"
        if isinstance(message, CutOffError):
            # A file that was cut off still gave everything before the cut.
            yield Skipped(
                where=f"after message {number - 1}", reason=f"the file is damaged: {message}"
            )
        elif not isinstance(message, dict):
            reason = str(message) if isinstance(message, ValueError) else "is not a JSON object"
            yield Skipped(where=where, reason=reason)
        else:
            try:
                yield _event(message, place, file)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
                yield Skipped(where=where, reason=_reason(fault))


def _messages(file: File) -> Iterator[tuple[int, Any]]:
    with open_text(file.path) as stream:
        window = Window(stream)
        header_of(window, "messages")
        yield from elements(window)


def _reason(fault: Exception) -> str:
    if isinstance(fault, KeyError):
        return f"has no {fault.args[0]}"
    return f"cannot be read: {fault}"


def _head(file: File) -> Mapping[str, Any]:
    """Guild and channel, as the file says before its messages."""
    try:
        with open_text(file.path) as stream:
            found = header_of(Window(stream), "messages") or {}
    except ImportFileError as fault:
        raise ImportFileError(f"{file.path} is not a DiscordChatExporter file: {fault}") from fault
    for key in ("guild", "channel"):
        if not isinstance(found.get(key), dict):
            raise ImportFileError(f"{file.path} has no {key!r}: not a DiscordChatExporter file")
    return found


def _people(file: File) -> tuple[str, ...]:
    """Everybody who wrote."""
    people: set[str] = set()
    for _, message in _messages(file):
        author = message.get("author") if isinstance(message, dict) else None
        if isinstance(author, dict) and "id" in author:
            try:
                people.add(checked_id("author", f"discord:user:{author['id']}"))
            except ValidationError:
                # Their messages are skipped for the same reason.
                continue
    return tuple(sorted(people))


def _place(file: File, head: Mapping[str, Any]) -> Place:
    options, channel, guild = file.options, head["channel"], head["guild"]
    direct = str(guild.get("id")) == "0" or str(channel.get("type")) in _DIRECT
    visibility: Visibility = options.visibility or ("direct" if direct else "restricted")
    people = _people(file) if visibility == "direct" else ()
    if visibility == "direct" and not people:
        visibility = "restricted"
    try:
        return Place(
            platform=options.platform or "discord",
            space=options.space or (None if direct else str(guild["id"])),
            channel=options.channel or str(channel["id"]),
            name=str(channel.get("name") or ""),
            visibility=visibility,
            participants=people,
        )
    except (KeyError, ValidationError) as fault:
        raise ImportFileError(f"{file.path}: the channel cannot be read: {fault}") from fault


def _event(message: Mapping[str, Any], place: Place, file: File) -> PerceptionEvent:
    author = message["author"]
    spoken = str(message.get("type", "Default")) in _SPOKEN
    reference = message.get("reference") or {}
    replied = reference.get("messageId") if reference.get("type", "Default") != "Forward" else None
    text = render(message)
    metadata = _metadata(message, file)
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


def _metadata(message: Mapping[str, Any], file: File) -> dict[str, Any]:
    zone, author = file.options.zone, message["author"]
    made: dict[str, Any] = {
        "type": str(message.get("type", "Default")),
        "username": str(author.get("name") or ""),
    }
    for key, parts in _KEPT.items():
        hanging = [one for one in message.get(key) or () if isinstance(one, dict)]
        if hanging:
            made[key] = [{part: one[part] for part in parts if one.get(part)} for one in hanging]
    if counts := reaction_counts(message.get("reactions")):
        made["reactions"] = counts
    if mentioned := message.get("mentions"):
        made["mentions"] = len(mentioned)
    if author.get("isBot"):
        made["is_bot"] = True
    if message.get("isPinned"):
        made["is_pinned"] = True
    if message.get("timestampEdited"):
        made["edited_at"] = parse_time(message["timestampEdited"], zone).isoformat()
    forwarded = message.get("forwardedMessage")
    if isinstance(forwarded, dict):
        # Whoever forwards did not say it, and the export does not tell who did.
        made["forwarded"] = True
        if forwarded.get("timestamp"):
            made["original_timestamp"] = parse_time(forwarded["timestamp"], zone).isoformat()
    return made
