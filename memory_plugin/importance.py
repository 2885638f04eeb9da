"""How much an event matters, 1 to 10, by rules: what it tells, and whom it is for.

Only what a text is like counts, never what it says about itself: a speaker who writes IMPORTANT,
in capitals or with ten exclamation marks, gains nothing by it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from memory_plugin.text import STOPWORDS, WORD, is_dated, is_question, spaced
from memory_plugin.types import PerceptionEvent

# What is said at the beginning of a text is enough to judge it by.
_LOOKED_AT = 600
# Words that pass between people without telling anything: greetings, thanks, agreement, laughter.
FILLER: Final = frozenset(
    """hey hi hello hiya yo bye goodbye cya morning evening night gm gn welcome thanks thank thx ty
    please sorry ok okay k kk yes yeah yep yup no nope nah sure fine alright right well wow oh ooh
    ah aww hmm hm uh um er lol lmao rofl xd haha hahaha hehe heh omg wtf idk brb afk gg nice cool
    great good awesome amazing lovely sweet neat wonderful glad true same agreed indeed totally
    absolutely definitely really very pretty like just got get know think see say said thing things
    lot stuff way one also still even much many man dude guys everyone important urgent attention
    remember critical always never""".split()  # noqa: SIM905 - one block reads better
)
_LAUGHTER = re.compile(r"(?:ha|he|hi|ho|lo|ja|xa|ah|eh)+[a-z]?|[jkxd]+|w+|f+|5{3,}")
# A capital inside a sentence, after a word in lower case or a comma: a name. A word all in capitals
# is shouting or an acronym, and which of the two cannot be told here.
_NAME = re.compile(r"(?<=[^\W\d_A-Z][ ,]) ?[A-Z][^\W\d_A-Z]+")
_FIRST_PERSON: Final = frozenset(("i", "me", "my", "mine", "myself", "we", "our", "ours"))
_NUMBER = re.compile(r"\d")
# How many telling words make one, two, three points more.
_STEPS = (4, 8, 16)
# What people tell of themselves, and when something was or will be, is what they later expect to
# be remembered; a name or a number makes a text less general, but not as much.
_STRONG, _WEAK = 2, 1
_OWN_KINDS: Final = {"self_action": 3, "tool_result": 3, "tick": 1}
_MOST_BY_RULE = 9


def score_importance(event: PerceptionEvent) -> int:
    """The importance of an event by rules: 1 is noise, 5 an ordinary statement, 10 not to be lost.

    Points for telling words, the first person, times, names and numbers; more when the agent is
    addressed, when it is asked something, and when a response is required. A question to others
    gains nothing: it asks for what it does not tell. Greetings, thanks and laughter alone are 1.
    The agent's own speech scores lower, since it knows what it says. `event.importance` is
    ignored.
    """
    kind = _OWN_KINDS.get(event.event_type)
    text = event.narrative_text or event.content
    points = kind if kind is not None else _points(text)
    if event.event_type == "self_speech":
        points -= 2
    elif event.event_type == "external" and _is_for_agent(event):
        points += 2 + is_question(text)
    if event.requires_response:
        points += 2
    return max(1, min(points, 10))


def _is_for_agent(event: PerceptionEvent) -> bool:
    if event.addressing is not None:
        return event.addressing == event.agent_id
    return event.place.visibility == "direct"


def _points(text: str) -> int:
    if len(text) > _LOOKED_AT:
        text = text[:_LOOKED_AT]
    lower = text.lower()
    words = WORD.findall(spaced(lower))
    telling = {word for word in words if word not in STOPWORDS and word not in FILLER}
    if len(words) <= 3:
        telling = {word for word in telling if _LAUGHTER.fullmatch(word) is None}
    if not telling:
        return 1
    points = 2 + bisect_right(_STEPS, len(telling))
    points += 0 if _FIRST_PERSON.isdisjoint(words) else _STRONG
    points += _STRONG if is_dated(text) else 0
    points += _WEAK if _NAME.search(text) is not None else 0
    points += _WEAK if _NUMBER.search(text) is not None else 0
    return min(points, _MOST_BY_RULE)
