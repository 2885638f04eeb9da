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


def parsed(text: str) -> Any:
    """The value of a JSON text without lone surrogates; raises `ValueError`, also if too deep."""
    try:
        value = _DECODER.decode(text)
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return _mended(value) if _may_be_torn(text, 0, len(text)) else value


def _may_be_torn(text: str, begin: int, end: int) -> bool:
    """Whether a surrogate is written there; most are in pairs, and no file has many."""
    return text.find("\\ud", begin, end) >= 0 or text.find("\\uD", begin, end) >= 0


def _mended(value: Any) -> Any:
    """`value` with lone surrogates (halves of an emoji cut in two) replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item) for item in value]
    return value


class BadElementError(ValueError):
    """One element that is not JSON; the reading goes on behind it."""


class CutOffError(ValueError):
    """The file ends in the middle, or an element is too long; nothing follows."""


class Window:
    """The part of a text file that is in memory, and how far it was read."""

    def __init__(self, file: TextIO, *, chunk_chars: int = _CHUNK_CHARS) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._first_chunk = self._chunk = chunk_chars

    def _more(self) -> bool:
        """Read on, twice as much each time within one element; False at the end of the file."""
        if len(self._text) - self._at > MAX_ELEMENT_CHARS:
            raise CutOffError(f"holds an element of more than {MAX_ELEMENT_CHARS} characters")
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
        self._chunk = self._first_chunk
        if not self.peek():
            raise CutOffError("it ends in the middle")
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
                length = end - self._at
                # A number at the edge of the window may go on behind it.
                if end == len(self._text) and self._more():
                    continue
                begin = self._at
                self._at += length
                return _mended(made) if _may_be_torn(self._text, begin, self._at) else made
            if not self._more():
                raise CutOffError("it ends in the middle")

    def _end(self) -> int:
        """Where the element that begins here ends, -1 if not within the window."""
        depth = 0
        for found in _TOKEN.finditer(self._text, self._at):
            sign = found.group()
            if sign == '"':
                return -1
            if sign in "[{":
                depth += 1
            elif sign in "]}":
                if depth == 0:
                    return found.start()
                depth -= 1
                if depth == 0:
                    return found.end()
            elif sign == "," and depth == 0:
                return found.start()
        return -1


def header_of(window: Window, array: str) -> dict[str, Any] | None:
    """What an object says before its `array`, which is then read with `elements`.

    None if the file is an array itself. Raises `ImportFileError` if it is neither.
    """
    if window.peek() == "[":
        return None
    if not window.take("{"):
        raise ImportFileError("expected a JSON object or array")
    header: dict[str, Any] = {}
    try:
        while not window.take("}"):
            name = window.value()
            if not isinstance(name, str) or not window.take(":"):
                raise ImportFileError("expected a JSON object, but a key of it is damaged")
            if name == array and window.peek() == "[":
                return header
            header[name] = window.value()
            window.take(",")
    except (BadElementError, CutOffError) as fault:
        raise ImportFileError(f"cannot read the head of the file: {fault}") from fault
    raise ImportFileError(f"expected an array named {array!r}, found {_shown_keys(header)}")


def _shown_keys(header: dict[str, Any]) -> str:
    """The first keys of an object, for a message."""
    return ", ".join(repr(one)[:40] for one in list(header)[:8]) or "an empty object"


def elements(window: Window) -> Iterator[tuple[int, Any]]:
    """The elements of the array that comes next, numbered from 1; a bad one as its fault.

    The last one may be a `CutOffError`; the file ends there.
    """
    window.take("[")
    number = 0
    while not window.take("]"):
        number += 1
        try:
            yield number, window.value()
        except BadElementError as fault:
            yield number, fault
            window.take("}")  # a bracket too many would be met again and again
        except CutOffError as fault:
            yield number, fault
            return
        window.take(",")
