"""The lines of a context: what begins at the margin is ours, strangers' text never does.

    ## Heading
    Label: value
    [... 12 earlier events left out ...]
    Bob: the first line of what Bob said
      and the next one, indented
    Bob [pose]: Bob waves.
    [2024-04-10, 3 weeks ago, in #general] Bob: something from the past

A label holds no colon and no square bracket, so it ends where the first colon stands.
"""

from __future__ import annotations

from typing import Final

from memory_plugin.context.ages import age_in_words, date_of
from memory_plugin.context.cleaning import INDENT, MAX_TEXT, clean_place, clean_text
from memory_plugin.context.labels import Labels
from memory_plugin.context.values import Material
from memory_plugin.truncation import shown_text
from memory_plugin.types import EventType, PerceptionEvent, Place, SourceType, age_between

HEADINGS: Final = {
    "identity": "## Identity",
    "place": "## Current Conversation",
    "person": "## About This Person",
    "memories": "## Memories",
    "missed": "## Since They Were Last Here",
    "recent": "## Recent Conversation",
}
KINDS: Final[dict[EventType | SourceType, str]] = {
    "self_action": "action",
    "tool_result": "tool result",
    "tick": "tick",
    "pose": "pose",
    "page": "page",
    "whisper": "whisper",
    "system": "notice",
}
NO_TEXT = "(no text)"
# Of one memory so much is shown; it is there to remind, the store has the rest.
MEMORY_CHARS = 800


def kind_of(event: PerceptionEvent) -> str | None:
    """What the label says beside the name: None for plain speech."""
    if event.event_type in KINDS:
        return KINDS[event.event_type]
    return KINDS.get(event.source.source_type)


def text_of(event: PerceptionEvent, most: int = MAX_TEXT) -> str:
    """The text of an event as it may be shown."""
    return clean_text(shown_text(event), most) or NO_TEXT


def spoken(label: str, kind: str | None, text: str, when: str | None = None) -> str:
    """One event as a line, and indented lines if its (clean) text has several."""
    head = f"[{when}] " if when is not None else ""
    mark = f" [{kind}]" if kind is not None else ""
    return f"{head}{label}{mark}: {text}".replace("\n", f"\n{INDENT}")


def event_line(event: PerceptionEvent, labels: Labels) -> str:
    """An event of the recent conversation."""
    return spoken(label_of(event, labels), kind_of(event), text_of(event))


def dated_line(event: PerceptionEvent, labels: Labels, material: Material) -> str:
    """An event from the past, with its day, its age and where it was."""
    age = age_in_words(age_between(event.timestamp, material.now))
    where = place_phrase(event.place, material.place)
    when = f"{date_of(event.timestamp, material.now)}, {age}, {where}"
    text = text_of(event, MEMORY_CHARS)
    return spoken(label_of(event, labels), kind_of(event), text, when)


def label_of(event: PerceptionEvent, labels: Labels) -> str:
    """The label of who caused an event; all the agent's own doings carry its name."""
    if event.event_type in ("external", "tick"):
        return labels.of(event.source)
    return labels.agent


def place_phrase(place: Place, here: Place) -> str:
    """``here``, ``in #general`` or ``in private``."""
    if place.key == here.key:
        return "here"
    if place.visibility == "direct":
        return "in private"
    return f"in {place_name(place)}"


def place_name(place: Place) -> str:
    """The readable name of a place; where it has none, its channel."""
    fallback = "private conversation" if place.visibility == "direct" else "somewhere"
    return clean_place(place.name) or clean_place(place.channel) or fallback
