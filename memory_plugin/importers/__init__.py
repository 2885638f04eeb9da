"""Chat logs as perception events: `read` a file, in whichever format it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from memory_plugin.errors import ImportFileError
from memory_plugin.importers.discord_export import read_discord_export
from memory_plugin.importers.discord_package import read_discord_package
from memory_plugin.importers.json_records import read_json_records
from memory_plugin.importers.plain_logs import read_plain_log
from memory_plugin.importers.values import File, Options, Skipped
from memory_plugin.types import PerceptionEvent

Reader = Callable[[File], Iterator[PerceptionEvent | Skipped]]

FORMATS: dict[str, Reader] = {
    "discord-exporter": read_discord_export,
    "discord-package": read_discord_package,
    "jsonl": read_json_records,
    "log": read_plain_log,
}
_LOOKED_AT = 64 * 1024


def detect(path: Path) -> str:
    """The format of a file or folder by what is in it; raises `ImportFileError` if it is none."""
    if path.is_dir():
        return "discord-package"
    try:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT)
    except OSError as fault:
        raise ImportFileError(f"cannot read {path}: {fault.strerror or fault}") from fault
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise ImportFileError(f"{path} is empty")
    if head.startswith(b"PK\x03\x04"):
        return "discord-package"
    if text.startswith(b"{"):
        first_line = text.split(b"\n", 1)[0]
        export = b'"guild"' in text and b'"channel"' in text and not first_line.endswith(b"}")
        return "discord-exporter" if export or b'"dateRange"' in text else "jsonl"
    if text.startswith(b"[") and text[1:].lstrip()[:1] in (b"{", b"]"):
        return "jsonl"
    if b"\0" in head:
        raise ImportFileError(
            f"{path} is no chat log: expected a DiscordChatExporter JSON file, a Discord data "
            "package, JSON lines or a text log"
        )
    return "log"


def read(
    path: Path,
    options: Options,
    format: str | None = None,  # noqa: A002 - the word users say
) -> Iterator[PerceptionEvent | Skipped]:
    """Every message of a file as an event, or the reason why it is none.

    Lazy, so a file of any size takes little memory. External ids are the same in every reading,
    so importing twice adds nothing. Raises `ImportFileError` for a file that cannot be read at
    all; a single bad message is answered as `Skipped`.
    """
    if format is not None and format not in FORMATS:
        raise ImportFileError(f"unknown format {format!r}; known are {', '.join(FORMATS)}")
    return FORMATS[format or detect(path)](File(path=path, options=options))


__all__ = ["FORMATS", "Options", "Skipped", "detect", "read"]
