"""A long JSON array read piece by piece, where one broken element costs only itself.

The streaming parsers at hand give up at the first fault (half an emoji, a number too long), and
one of them takes memory with the square of the nesting; an export must survive both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

from memory_plugin.errors import ImportFileError

_CHUNK_CHARS = 1 << 18
# An element longer than this is no message; the rest of such a file is given up.
MAX_ELEMENT_CHARS = 1 << 24
_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


# Not strict: some tools write line ends and tabs into texts as they are.
_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


class BadElementError(ValueError):
    """One element that is not JSON; the reading goes on behind it."""


class _CutOffError(ValueError):
    """The file ends in the middle, or an element is too long; nothing follows."""


class Window:
    """The part of a text file that is in memory, and how far it was read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._chunk = _CHUNK_CHARS

    def _more(self) -> bool:
        """Read on, twice as much each time within one element; False at the end of the file."""
        if len(self._text) - self._at > MAX_ELEMENT_CHARS:
            raise _CutOffError(f"holds an element of more than {MAX_ELEMENT_CHARS} characters")
        new = self._file.read(self._chunk)
        self._chunk *= 2
        self._text = self._text[self._at :] + new
        self._at = 0
        return bool(new)

    def peek(self) -> str:
        """The next sign that is not space, "" at the end of the file."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, sign: str) -> bool:
        """Step over `sign` if it comes next."""
        if self.peek() != sign:
            return False
        self._at += 1
        return True

    def value(self) -> Any:
        """The JSON value that comes next; raises `BadElementError` and steps over it if bad."""
        self._chunk = _CHUNK_CHARS
        if not self.peek():
            raise _CutOffError("the file ends early")
        while True:
            try:
                made, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as fault:
                end = self._end()
                if end >= 0:
                    self._at = end
                    reason = "nested too deeply" if isinstance(fault, RecursionError) else fault
                    raise BadElementError(f"is not JSON: {reason}") from fault
            else:
                # A number at the edge of the window may go on behind it.
                if end < len(self._text) or not self._more():
                    self._at = self._at + end - self._at if end < len(self._text) else end
                    return made
                continue
            if not self._more():
                raise _CutOffError("the file ends early")

    def _end(self) -> int:
        """Where the element that begins here ends, -1 if not within the window."""
        depth = 0
        for found in _TOKEN.finditer(self._text, self._at):
            token = found.group()
            if token == '"':
                return -1
            if token in "[{":
                depth += 1
            elif token in "]}":
                if depth == 0:
                    return found.start()
                depth -= 1
                if depth == 0:
                    return found.end()
            elif token == "," and depth == 0:
                return found.start()
        return -1
