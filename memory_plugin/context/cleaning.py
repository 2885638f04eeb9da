"""Strangers' text made harmless to show: it can say anything, but it cannot pretend to be ours.

What a person wrote or is called may hold line breaks, terminal codes, invisible signs, marks that
turn the reading direction, tags that a model takes for its own, or a call to everybody. All of
these are taken out or made plain; the words stay as they are.
"""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 64
MAX_TEXT = 4000
MAX_LINES = 60
# Room for the mark that says that a text was cut.
_MARK_ROOM = 40
NAMELESS = "somebody"
INDENT = "  "

# Whatever Python, a terminal or a tokenizer may take for the end of a line.
_LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_TERMINAL_CODE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # titles
    "|\x1b[ -/]*[0-~]?"
)
# Invisible, and not in the category of controls and formats.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_SPACES = re.compile(r"[^\S\n]+")
# More marks on one letter than any language needs climb over the neighbouring lines.
_MOST_MARKS = 4
# <|im_start|>, </memory>, <<SYS>>, <!everyone>, but not <3, <@123> nor a < b.
_TAG = re.compile(r"<(?=[|<\uff5c]|[/!]?[A-Za-z_][^>\n]{0,80}>)")
_TAG_END = re.compile(r"(?<=[|\uff5c])>")
_BRACKET_TAG = re.compile(
    r"\[(?=/?(?:INST|SYS|SYSTEM|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]+|THINK|ARGS|CALL_ID"
    r"|MODEL_SETTINGS|PREFIX|MIDDLE|SUFFIX)\])"
)
_MASS_MENTION = re.compile(
    r"@(?=(?:everyone|here)\b)|(?<!\w)@(?=(?:channel|all)\b)|(?<=<)@(?=&)", re.IGNORECASE
)
_COLONS = re.compile("[:\u02d0\u02f8\u0589\u05c3\u2236\ua789\ufe13\ufe30\ufe52\ufe55\uff1a]")
_EDGE = " #>|*_~=+`'\"\\/.,;!-\u2022\u2013\u2014"


def clean_text(text: str, most: int = MAX_TEXT) -> str:
    """`text` as it may be shown: lines parted by ``\\n`` alone, nothing invisible, tags made plain.

    Longer than `most` characters it is cut, with a mark that says how much is missing. Cleaning
    what is clean changes nothing.
    """
    cut = len(text) - most
    if cut > 0:
        cut += _MARK_ROOM
        text = text[: most - _MARK_ROOM]
    text = _LINE_BREAK.sub("\n", _TERMINAL_CODE.sub("", text))
    if not text.isascii() or not text.isprintable():
        text = _visible(text)
    text = _SPACES.sub(" ", text)
    text = "\n".join(line.strip() for line in text.split("\n")).strip("\n")
    lines = re.sub("\n{3,}", "\n\n", text).split("\n")
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"[+{len(lines) - MAX_LINES} lines]"]
    text = _plain("\n".join(lines))
    return f"{text} [+{cut} characters]" if cut > 0 else text


def _plain(text: str) -> str:
    """Tags and mass mentions that no model or chat server takes for such any more."""
    text = _MASS_MENTION.sub("@ ", text)
    text = _TAG.sub("\u2039", text)
    text = _TAG_END.sub("\u203a", text)
    return _BRACKET_TAG.sub("(", text)


def _visible(text: str) -> str:
    """`text` without what cannot be seen; a joiner stays between signs that it joins."""
    kept: list[str] = []
    marks = 0
    for position, sign in enumerate(text):
        kind = unicodedata.category(sign)
        if sign in _JOINERS:
            after = text[position + 1 : position + 2]
            if not (kept and _is_joined(kept[-1]) and _is_joined(after)):
                continue
        elif sign not in "\n\t" and (kind in ("Cc", "Cf", "Cs") or sign in _BLANKS):
            continue
        elif "\U000e0100" <= sign <= "\U000e01ef":
            # Two hundred invisible variants of nothing: a place to hide a message in.
            continue
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS:
            kept.append(sign)
    return "".join(kept)


def _is_joined(sign: str) -> bool:
    """Whether a joiner beside this sign can mean something: letters beyond ASCII, emoji."""
    return bool(sign) and not sign.isascii() and unicodedata.category(sign)[0] in "LMS"


def clean_name(name: str) -> str:
    """`name` on one line, without the signs that build our own lines, at most 64 characters.

    Colons become dashes, square brackets round ones, and signs at the front that could make it a
    heading or a quotation go. A name of which nothing is left is ``somebody``.
    """
    line = _on_one_line(name)
    return line.strip(_EDGE) or NAMELESS


def clean_place(name: str) -> str:
    """The name of a place, cleaned like a person's, but a ``#`` in front stays; may be empty."""
    line = _on_one_line(name)
    bare = line.strip(_EDGE)
    return f"#{bare}" if bare and line.startswith("#") else bare


def _on_one_line(name: str) -> str:
    text = " ".join(clean_text(name[: 4 * MAX_NAME]).split())
    text = _COLONS.sub("-", text).translate(_ROUND)
    if len(text) > MAX_NAME:
        text = f"{text[: MAX_NAME - 1].rstrip()}\u2026"
    return text.strip()


_ROUND = str.maketrans("[]\u2039\u203a<>\uff3b\uff3d", "()()()()")


def clean_block(text: str, most: int) -> str:
    """The owner's own text (an identity): cleaned, but with its lines and its tags left alone."""
    text = _LINE_BREAK.sub("\n", _TERMINAL_CODE.sub("", text[:most]))
    return _visible(text).strip()
