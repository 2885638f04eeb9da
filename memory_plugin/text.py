"""What can be seen in a text without a model: words, questions, time expressions."""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"[^\W_]+")
# Scripts that write without spaces (Han, kana, Thai, Lao, Khmer, Myanmar), and Hangul, whose words
# end in many ways. The index holds their pairs of neighbouring signs, as search engines do.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
STOPWORDS = frozenset(
    # One block reads better than a list of a hundred literals.
    """a about am an and any are as at be been being but by can could did do does doing for from
    had has have he her hers him his how i if in into is it its just may me might mine my no nor
    not of on or our ours shall she should so some than that the their theirs them then there these
    they this those to too us very was we were what when where which who whom whose why will with
    would you your yours s t d ll m re ve""".split()  # noqa: SIM905
)
_QUESTION_TAIL = 60
_TIME_WORDS = re.compile(
    # The look ahead at the first letter and the lower case make it more than three times as fast.
    r"""\b(?=[abdefjlmnostwy\d])(?:
        yesterday|today|tonight|tomorrow|ago|last|next|since|week(?:end)?s?|month|months|years?|
        monday|tuesday|wednesday|thursday|friday|saturday|sunday|
        january|february|march|april|may|june|july|august|september|october|november|december|
        morning|afternoon|evening|night|noon|midnight|birthday|anniversary|
        spring|summer|autumn|fall|winter|[12][0-9]{3}|\d{1,2}(?:st|nd|rd|th)|
        \d{1,2}(?::\d\d)?\s?(?:am|pm)|\d{1,2}:\d\d
    )\b""",
    re.VERBOSE,
)


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    # The last sign stands alone too, so that "sign and anything after it" finds every sign.
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def folded(text: str) -> str:
    """`text` as it is compared: small letters, and one way of writing for what reads alike.

    Composed and decomposed accents, full-width letters, and sharp s beside double s are the same
    then (Unicode NFKC and case folding).
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def spaced(text: str) -> str:
    """`text` with runs of unspaced script cut into overlapping pairs; other text as it is."""
    if text.isascii():
        return text
    return _UNSPACED.sub(_pairs, text)


def query_terms(text: str, limit: int = 32) -> list[str]:
    """The words of a query worth looking up: `folded`, no stopwords, each once, in order.

    A query of stopwords only keeps them all. A single sign of an unspaced script ends in ``*``:
    anything that begins with it counts.
    """
    words = WORD.findall(spaced(folded(text)))
    unique = list(dict.fromkeys(f"{one}*" if _is_lone_sign(one) else one for one in words))
    # "fish*" is implied by its own pairs, unless the query is that one sign.
    pairs = [word for word in unique if not word.endswith("*")]
    unique = pairs or unique
    return ([word for word in unique if word not in STOPWORDS] or unique)[:limit]


def _is_lone_sign(word: str) -> bool:
    return len(word) == 1 and _UNSPACED.match(word) is not None


def count_words(text: str) -> int:
    """How many words the index sees in `text`."""
    return len(WORD.findall(spaced(folded(text))))


def is_question(text: str) -> bool:
    """Whether the text asks something near its end."""
    tail = text[-_QUESTION_TAIL:]
    return "?" in tail or "\uff1f" in tail or "\u061f" in tail


def is_dated(text: str) -> bool:
    """Whether the text says when something was or will be."""
    return _TIME_WORDS.search(text.lower()) is not None


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model makes of `text`: one for every four characters.

    Used where no tokenizer is at hand; for English chat it is within a tenth of the model's count.
    """
    return (len(text) + 3) // 4
