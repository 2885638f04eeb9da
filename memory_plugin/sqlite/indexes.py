"""The two text indexes and the shelves of an event: what is written beside its row.

`words` holds stemmed words, each with the number of a shelf in front: a look-up costs what it finds
on that shelf, and what stands on others has no influence on it. `inside` holds all runs of three
letters. Neither keeps the text itself, so what is taken out must be given again exactly as it was
put in: a change of what is made here needs a migration that builds both anew.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory_plugin.text import WORD, folded, spaced

# Numbers of shelves stand in `inside` as three signs of this private area each; the same signs in
# a message are blanked, so that no message can put itself on a shelf.
_FIRST, _LAST = 0xE000, 0xF8FE
_BASE = _LAST - _FIRST + 1
_PRIVATE = re.compile(f"[{chr(_FIRST)}-{chr(_LAST + 1)}\0]")

_PUT_WORDS = "insert into words (rowid, body) values (?, ?)"
_PUT_INSIDE = "insert into inside (rowid, body) values (?, ?)"
_TAKE_WORDS = "insert into words (words, rowid, body) values ('delete', ?, ?)"
_TAKE_INSIDE = "insert into inside (inside, rowid, body) values ('delete', ?, ?)"
_PUT_SHELF = "insert into event_shelf (shelf, seq) values (?, ?)"
_TAKE_SHELF = "delete from event_shelf where shelf = ? and seq = ?"


def body(name: str, content: str, narrative_text: str | None) -> str:
    """What of an event is looked up by words: the speaker's name, what was said, its prose form."""
    text = f"{name}: {content}" if narrative_text is None else f"{name}: {content} {narrative_text}"
    if text.isascii():
        # The trigram index takes a NUL for the end of the text.
        return text.replace("\0", " ")
    return spaced(folded(_PRIVATE.sub(" ", text)))


def shelf_word(shelf: int, word: str) -> str:
    """A word as it stands in `words` for a shelf; the empty word stands there for every event."""
    return f"{shelf}x{word}"


def scope_sign(shelf: int) -> str:
    """The three signs that stand for a shelf in `inside`."""
    high, low = divmod(shelf, _BASE)
    top, middle = divmod(high, _BASE)
    return "".join(chr(_FIRST + digit) for digit in (top, middle, low))


@dataclass(frozen=True, slots=True)
class OnShelves:
    """The shelves of an event by number: those its words are looked up on, and the others."""

    worded: tuple[int, ...]
    wordless: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> OnShelves:
        """From the ``shelves`` column of an event."""
        numbers = text.split()
        return cls(
            worded=tuple(int(one) for one in numbers if one[0] != "+"),
            wordless=tuple(int(one[1:]) for one in numbers if one[0] == "+"),
        )

    @property
    def all(self) -> tuple[int, ...]:
        """Every shelf."""
        return self.worded + self.wordless

    def __str__(self) -> str:
        """The ``shelves`` column of an event."""
        return " ".join([*map(str, self.worded), *(f"+{one}" for one in self.wordless)])


def put_text(connection: sqlite3.Connection, seq: int, text: str, on: OnShelves) -> None:
    """Make an event's `body` text findable on its shelves."""
    connection.execute(_PUT_WORDS, (seq, _words(text, on.worded)))
    connection.execute(_PUT_INSIDE, (seq, text + _signs(on.worded)))


def take_text(connection: sqlite3.Connection, seq: int, text: str, on: OnShelves) -> None:
    """Undo `put_text`; everything must be as it was given there."""
    connection.execute(_TAKE_WORDS, (seq, _words(text, on.worded)))
    connection.execute(_TAKE_INSIDE, (seq, text + _signs(on.worded)))


def put_shelves(connection: sqlite3.Connection, events: Sequence[tuple[int, OnShelves]]) -> None:
    """Put events, each a number and its shelves, on their shelves."""
    # In the order of the table, so that each of its pages is visited once.
    taken = sorted((shelf, seq) for seq, on in events for shelf in on.all)
    connection.executemany(_PUT_SHELF, taken)


def take_shelves(connection: sqlite3.Connection, seq: int, on: OnShelves) -> None:
    """Take an event off its shelves."""
    connection.executemany(_TAKE_SHELF, [(shelf, seq) for shelf in on.all])


def _words(text: str, shelves: Sequence[int]) -> str:
    """The body of `words`: every word of a text for every shelf."""
    words = ["", *dict.fromkeys(WORD.findall(text.lower()))]
    return " ".join([f"{shelf}x{word}" for shelf in shelves for word in words])


@lru_cache(1_000)
def _signs(shelves: tuple[int, ...]) -> str:
    """Shelves as the end of the body of `inside`."""
    # The blanks keep the signs of one shelf from running into those of the next.
    return "".join(f" {scope_sign(one)}" for one in shelves)
