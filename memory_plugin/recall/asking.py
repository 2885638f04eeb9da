"""What a query asks besides its words: a time, a date as answer, the latest news."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from memory_plugin.recall.timing import Span, find_spans
from memory_plugin.text import count_words, is_question

_WHEN = re.compile(
    r"\b(?:when|how\s+long(?:\s+ago)?|since\s+when|what\s+(?:date|day|month|year|time)|"
    r"(?:in\s+)?which\s+(?:day|month|year|season|week))\b"
)
_LATEST = re.compile(
    r"\b(?:recent(?:ly)?|lately|latest|newest|now(?:adays)?|current(?:ly)?|these\s+days|"
    r"at\s+the\s+moment|just\s+(?:now|said?|talk\w*)|last(?:\s+time)?)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A text to recall by, and what it asks for besides its words.

    `spans` are the times it names. `asks_when`: the answer is a time. `asks_latest`: the newer an
    event, the better it answers. `quotes` is the number of words of a text that is no question,
    and so may be meant as a quote; 0 for a question, which its own repetition does not answer.
    """

    text: str
    spans: tuple[Span, ...] = ()
    asks_when: bool = False
    asks_latest: bool = False
    quotes: int = 0


def parse_query(text: str, now: datetime) -> Query:
    """Read a query as asked at `now`, the asker's clock (aware)."""
    lower = text.lower()
    spans = find_spans(text, now)
    return Query(
        text=text,
        spans=spans,
        asks_when=_WHEN.match(lower.lstrip()) is not None,
        # "Last week" names a time; that is asked for, not the newest there is.
        asks_latest=not spans and _LATEST.search(lower) is not None,
        quotes=0 if is_question(text) else count_words(text),
    )
