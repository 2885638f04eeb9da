"""Which format a chat export has, seen from what is in it, never from its name."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from memory_plugin.errors import ImportFileError
from memory_plugin.importers.json_stream import Window, header_of
from memory_plugin.importers.log_lines import NotSaid, Said, said_in, without_style
from memory_plugin.importers.text_files import lines_of, open_text

_LOOKED_AT_CHARS = 64 * 1024
_LOOKED_AT_LINES = 200
# Prose shows a piece of a log now and then, and "Note: this" stands in it too. In a log at least
# this part of the lines is of messages and notices, and more of it if nothing has a time.
_STAMPED_PART = 0.1
_NAMED_PART = 0.3
_MOST_WORDS_OF_A_NAME = 3
_EXPECTED = (
    "expected a DiscordChatExporter JSON file, a Discord data package, JSON lines, or a text log "
    "with lines like '[2023-05-07 14:03] name: text'"
)


def detect(path: Path) -> str:
    """The format of a file or folder by what is in it; raises `ImportFileError` if it is none."""
    if path.is_dir():
        return "discord-package"
    with open_text(path) as stream:
        head = stream.read(_LOOKED_AT_CHARS)
    text = head.lstrip("\ufeff \t\r\n")
    if not text:
        raise ImportFileError(f"{path} is empty")
    if head.startswith("PK\x03\x04"):
        return "discord-package"
    if text.startswith("{"):
        if _is_discord_export(path):
            return "discord-exporter"
        if _has_json_line(path):
            return "jsonl"
    if text.startswith("[") and text[1:].lstrip()[:1] in {"{", "]"}:
        return "jsonl"
    if "\0" not in head and _is_log(path):
        return "log"
    raise ImportFileError(f"{path} is no chat log: {_EXPECTED}")


def _is_discord_export(path: Path) -> bool:
    with open_text(path) as stream:
        try:
            head = header_of(Window(stream), "messages")
        except ImportFileError:
            return False
    return head is not None and isinstance(head.get("channel"), dict)


def _has_json_line(path: Path) -> bool:
    """Whether a line near the beginning may be a record; the first one may be broken."""
    with open_text(path) as stream:
        return any(
            line.startswith("{") and line.rstrip().endswith("}")
            for line in islice(lines_of(stream), _LOOKED_AT_LINES)
            if line is not None
        )


def _is_log(path: Path) -> bool:
    filled = stamped = named = notices = 0
    with open_text(path) as stream:
        for line in islice(lines_of(stream), _LOOKED_AT_LINES):
            text = without_style(line or "")
            if not text.strip():
                continue
            filled += 1
            try:
                said = said_in(text)
            except ValueError:
                continue
            notices += isinstance(said, NotSaid)
            if isinstance(said, Said):
                stamped += said.stamp is not None
                named += said.stamp is None and _names_somebody(said)
    if stamped:
        return stamped + notices >= filled * _STAMPED_PART
    return named > 0 and named + notices >= filled * _NAMED_PART


def _names_somebody(said: Said) -> bool:
    """Whether a line without a time may be of a chat, not the beginning of a list or a tag."""
    few_words = len(said.who.split()) <= _MOST_WORDS_OF_A_NAME
    return few_words and bool(said.text.strip()) and "</" not in said.text
