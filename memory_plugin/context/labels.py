"""Who is speaking: one label for each person, which nobody else can take."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from memory_plugin.context.cleaning import clean_name
from memory_plugin.types import Source

# Names that a model takes for a role, or that stand in our own lines.
_RESERVED = (
    *("system", "assistant", "user", "human", "ai", "bot", "developer", "tool", "function"),
    *("model", "instruction", "instructions", "narrator", "you", "me", "memory", "memories"),
    *("channel", "context", "speaking with", "first seen", "last seen", "known from"),
)
_TAIL = 8
# Letters of other alphabets that look like Latin ones.
_TWINS = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
    "\u04cf\u0501\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0131",
    "abekmhopctyxijsldabeikvoptuxi",
)


def _look(label: str) -> str:
    """What a label looks like at a glance: letters in other fonts, widths or cases are the same."""
    plain = unicodedata.normalize("NFKD", label).casefold().translate(_TWINS)
    return "".join(sign for sign in plain if sign.isalnum())


class Labels:
    """Labels for the people of one context.

    A label is the person's cleaned name. Where two people, or a person and the agent, would look
    the same, or a name looks like a role, a part of the entity id is added to it, so that nobody
    speaks under another's name. The same people always get the same labels.
    """

    def __init__(self, agent_name: str, own_ids: Iterable[str], people: Iterable[Source]) -> None:
        self.agent = clean_name(agent_name) if agent_name else "You"
        self._own = set(own_ids)
        looks: dict[str, set[str]] = {}
        for one in people:
            looks.setdefault(_look(clean_name(one.entity_name)), set()).add(one.entity_id)
        self._doubtful = {look for look, ids in looks.items() if len(ids - self._own) > 1}
        self._doubtful |= {_look(word) for word in _RESERVED} | {_look(self.agent), ""}
        self._given: dict[tuple[str, str], str] = {}
        self._taken: dict[str, str] = {}
        unique = {(one.entity_id, one.entity_name) for one in people}
        for entity_id, name in sorted(unique):
            self._given[entity_id, name] = self._made(entity_id, name)

    def _made(self, entity_id: str, name: str) -> str:
        label = clean_name(name)
        if entity_id in self._own:
            return label
        if _look(label) in self._doubtful:
            label = f"{label} ({_tail(entity_id)})"
        number = 1
        unique = label
        while self._taken.setdefault(_look(unique), entity_id) != entity_id:
            number += 1
            unique = f"{label} {number}"
        return unique

    def of(self, source: Source) -> str:
        """The label of somebody who was among the people."""
        return self._given[source.entity_id, source.entity_name]


def _tail(entity_id: str) -> str:
    """The end of an entity id, which is where ids differ: ``discord:user:81234567`` is 1234567."""
    return clean_name(clean_name(entity_id[-64:])[-_TAIL:])
