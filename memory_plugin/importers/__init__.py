"""Chat logs as perception events: `read` a file, in whichever format it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from memory_plugin.errors import ImportFileError
from memory_plugin.importers.detection import detect
from memory_plugin.importers.discord_export import read_discord_export
from memory_plugin.importers.discord_package import read_discord_package
from memory_plugin.importers.json_records import read_json_records
from memory_plugin.importers.plain_logs import read_plain_log
from memory_plugin.importers.values import File, Guesses, Options, Skipped
from memory_plugin.types import PerceptionEvent

Reader = Callable[[File], Iterator[PerceptionEvent | Skipped]]

FORMATS: dict[str, Reader] = {
    "discord-exporter": read_discord_export,
    "discord-package": read_discord_package,
    "jsonl": read_json_records,
    "log": read_plain_log,
}


def read(
    path: Path,
    options: Options,
    format: str | None = None,  # noqa: A002 - the word users say
    guesses: Guesses | None = None,
) -> Iterator[PerceptionEvent | Skipped]:
    """Every message of a file as an event, or the reason why it is none.

    Lazy, so a file of any size takes little memory. External ids are the same in every reading,
    so importing twice adds nothing. Raises `ImportFileError` for a file that cannot be read at
    all; a single bad message is answered as `Skipped`. What had to be guessed is counted in
    `guesses`.
    """
    if format is not None and format not in FORMATS:
        raise ImportFileError(f"unknown format {format!r}; known are {', '.join(FORMATS)}")
    file = File(path=path, options=options, guesses=guesses or Guesses())
    return FORMATS[format or detect(path)](file)


__all__ = ["FORMATS", "Guesses", "Options", "Skipped", "detect", "read"]
