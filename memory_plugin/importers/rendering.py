"""What a reader would see of an exported Discord message, as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

_KINDS = {
    "image": {".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".heic"},
    "video": {".mp4", ".mov", ".webm", ".mkv", ".avi"},
    "audio": {".mp3", ".ogg", ".wav", ".flac", ".m4a", ".opus"},
}


def render(message: Mapping[str, Any]) -> str:
    """The text of a message with what hangs on it: forwards, embeds, files, stickers, polls."""
    parts = [str(message.get("content") or "")]
    forwarded = message.get("forwardedMessage")
    if isinstance(forwarded, Mapping):
        parts.append(f"[forwarded] {render(forwarded)}".rstrip())
    # Link previews repeat what the link says; a bot's own embeds are what it said.
    if _is_bot(message):
        parts += [_embed(one) for one in _list(message, "embeds")]
    parts += [_attachment(one) for one in _list(message, "attachments")]
    parts += [f"[sticker: {one.get('name') or '?'}]" for one in _list(message, "stickers")]
    parts.append(_poll(message.get("poll")))
    return "\n".join(part for part in parts if part.strip())


def _list(message: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = message.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _is_bot(message: Mapping[str, Any]) -> bool:
    author = message.get("author")
    return isinstance(author, Mapping) and bool(author.get("isBot"))


def _attachment(one: Mapping[str, Any]) -> str:
    name = str(
        one.get("fileName") or one.get("filename") or PurePosixPath(str(one.get("url"))).name
    )
    ending = PurePosixPath(name.split("?", maxsplit=1)[0]).suffix.lower()
    kind = next((kind for kind, endings in _KINDS.items() if ending in endings), "file")
    if name.startswith("voice-message"):
        kind = "voice message"
    told = one.get("description")
    return f"[{kind}: {name}, {told}]" if isinstance(told, str) and told else f"[{kind}: {name}]"


def _embed(one: Mapping[str, Any]) -> str:
    lines = [one.get("title"), one.get("description")]
    lines += [f"{field.get('name')}: {field.get('value')}" for field in _list(one, "fields")]
    return "\n".join(str(line) for line in lines if line)


def _poll(poll: object) -> str:
    if not isinstance(poll, Mapping):
        return ""
    question = poll.get("question")
    asked = question.get("text") if isinstance(question, Mapping) else question
    answers = [str(one.get("text") or "") for one in _list(poll, "answers")]
    return f"[poll] {asked or ''} {' / '.join(answers)}".strip()
