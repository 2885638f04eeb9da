"""Text files as people have them: any encoding mark, any line end, lines without end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from memory_plugin.errors import ImportFileError

LONGEST_LINE_CHARS = 16 * 1024 * 1024
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def open_text(path: Path) -> TextIO:
    """`path` opened as text: UTF-16 if it is marked so, else UTF-8; bad bytes become U+FFFD.

    Raises `ImportFileError` if it cannot be opened.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        return path.open(encoding=encoding, errors="replace")
    except OSError as fault:
        raise ImportFileError(f"cannot read {path}: {fault.strerror or fault}") from fault


def lines_of(file: TextIO) -> Iterator[str | None]:
    """The lines of a file without their ends; None for one that is too long to be read."""
    while line := file.readline(LONGEST_LINE_CHARS + 1):
        if len(line) <= LONGEST_LINE_CHARS or line.endswith("\n"):
            yield line.removesuffix("\n")
            continue
        while line and not line.endswith("\n"):
            line = file.readline(LONGEST_LINE_CHARS)
        yield None
