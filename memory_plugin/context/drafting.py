"""From material to tiers: which lines there could be, and which of them are wanted most."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory_plugin.context.ages import age_in_words, date_of
from memory_plugin.context.cleaning import clean_block, clean_name
from memory_plugin.context.labels import Labels
from memory_plugin.context.lines import dated_line, event_line, place_name, text_of
from memory_plugin.context.tiers import Piece, Recent, Tier, piece_of
from memory_plugin.context.values import Material
from memory_plugin.parts import Acquaintance
from memory_plugin.truncation import Count
from memory_plugin.types import PerceptionEvent, age_between

# Of the tokens that the frame leaves. What one tier does not need flows on to the others.
SHARES = {"identity": 0.15, "person": 0.05, "recent": 0.5, "memories": 0.2, "missed": 0.1}
MOST_IDENTITY_CHARS = 20_000
MOST_OTHER_NAMES = 5


def labels_of(material: Material) -> Labels:
    """The labels of everybody who may appear."""
    events = [
        *material.window.kept,
        *(hit.event for hit in material.hits),
        *material.missed,
    ]
    people = [one.source for one in events if one.event_type in ("external", "tick")]
    if material.speaker is not None:
        people.append(material.speaker)
    own_ids = {one.source.entity_id for one in events if one.event_type.startswith("self_")}
    return Labels(material.agent_name, own_ids, people)


def frame_lines(material: Material, labels: Labels) -> list[str]:
    """Where this is and who is spoken with."""
    lines = [f"Channel: {place_name(material.place)}"]
    if material.speaker is not None:
        lines.append(f"Speaking with: {labels.of(material.speaker)}")
    return lines


def identity_text(material: Material, labels: Labels) -> str:
    """What the owner says about the agent; failing that, its name."""
    text = clean_block(material.identity, MOST_IDENTITY_CHARS)
    return text or (f"You are {labels.agent}." if material.agent_name else "")


def identity_tier(text: str, count: Count) -> Tier:
    """Tier 1: one piece. A line that looks like one of our headings is marked as none."""
    shown = "\n".join(f"\\{one}" if one.startswith("## ") else one for one in text.split("\n"))
    pieces = [piece_of(shown, count, own=text)] if text else []
    return Tier("identity", SHARES["identity"], pieces, _each(pieces), count)


def person_tier(material: Material, count: Count) -> Tier:
    """Tier 2: what is known of the person spoken with."""
    lines: list[str] = []
    if material.acquaintance is not None:
        lines = _known(material.acquaintance, material)
    elif material.speaker is not None:
        lines = ["First seen: never before now"]
    pieces = [piece_of(line, count) for line in lines]
    return Tier("person", SHARES["person"], pieces, _each(pieces), count)


def _known(known: Acquaintance, material: Material) -> list[str]:
    def seen(label: str, when: datetime) -> str:
        age = age_in_words(age_between(when, material.now))
        return f"{label}: {date_of(when, material.now)} ({age})"

    lines = [
        seen("First seen", known.first_seen),
        seen("Last seen", known.last_seen),
        f"Known from: {_number(known.events, 'event')} on {_number(known.days, 'day')}"
        f" in {_number(known.places, 'place')}",
    ]
    current = "" if material.speaker is None else clean_name(material.speaker.entity_name)
    others = [name for one in known.names if (name := clean_name(one)) != current]
    if others:
        lines.append(f"Also called: {', '.join(dict.fromkeys(others[:MOST_OTHER_NAMES]))}")
    return lines


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def recent_tier(material: Material, labels: Labels, count: Count) -> Recent:
    """Tier 3: the recent conversation."""
    pieces = [_recent_piece(event, labels, count) for event in material.window.kept]
    return Recent(SHARES["recent"], material.window, pieces, count)


def _recent_piece(event: PerceptionEvent, labels: Labels, count: Count) -> Piece:
    own = text_of(event) if event.event_type == "self_speech" else None
    return piece_of(event_line(event, labels), count, id_=event.id, own=own)


def memories_tier(material: Material, labels: Labels, count: Count) -> Tier:
    """Tier 4: recalled events, read in the order they happened, the best wanted first."""
    best = list({hit.event.id: hit for hit in reversed(material.hits)}.values())[::-1]
    events = sorted((hit.event for hit in best), key=lambda one: (one.timestamp, one.id))
    rank = {hit.event.id: number for number, hit in enumerate(best)}
    order = sorted(range(len(events)), key=lambda position: rank[events[position].id])
    pieces = _dated_pieces(events, material, labels, count)
    return Tier("memories", SHARES["memories"], pieces, [(one,) for one in order], count)


def missed_tier(material: Material, labels: Labels, count: Count) -> Tier:
    """Tier 5: what happened since the person was last here, the most important wanted first."""
    events = list({one.id: one for one in material.missed}.values())
    order = sorted(range(len(events)), key=lambda one: (-(events[one].importance or 0), one))
    pieces = _dated_pieces(events, material, labels, count)
    return Tier("missed", SHARES["missed"], pieces, [(one,) for one in order], count)


def _dated_pieces(
    events: Sequence[PerceptionEvent], material: Material, labels: Labels, count: Count
) -> list[Piece]:
    return [piece_of(dated_line(one, labels, material), count, id_=one.id) for one in events]


def _each(pieces: Sequence[Piece]) -> list[tuple[int]]:
    return [(position,) for position in range(len(pieces))]
