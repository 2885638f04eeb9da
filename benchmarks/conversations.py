"""Labelled conversations for measuring recall and truncation, from a file given by path.

The shape: a list of ``{name, turns: [{id, speaker, text, image_caption, session, timestamp}],
questions: [{question, category, evidence: [turn ids]}]}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memory_plugin.types import PerceptionEvent, Place, Source

AGENT = "listener"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, its category, and the ids of the events that answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation at a place of its own, as the agent that listened perceived it."""

    name: str
    place: Place
    events: tuple[PerceptionEvent, ...]
    questions: tuple[Question, ...]

    @property
    def end(self) -> datetime:
        """When the last turn was said: the time at which the questions are asked."""
        return self.events[-1].timestamp


def load(path: Path) -> list[Conversation]:
    """All conversations of a file; questions without evidence in it are left out."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return [_conversation(one) for one in data]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise SystemExit(f"cannot read conversations from {path}: {fault!r}") from fault


def _conversation(data: Mapping[str, Any]) -> Conversation:
    name = data["name"]
    # Not public: one conversation must not be seen from another.
    place = Place(platform="bench", channel=name, name=name, visibility="restricted")
    events = _events(name, place, data["turns"])
    known = {event.id for event in events}
    questions = []
    for one in data["questions"]:
        evidence = frozenset(f"{name}/{turn}" for turn in one["evidence"]) & known
        if evidence:
            questions.append(
                Question(text=one["question"], category=one["category"], evidence=evidence)
            )
    return Conversation(name=name, place=place, events=events, questions=tuple(questions))


def _events(
    name: str, place: Place, turns: Sequence[Mapping[str, Any]]
) -> tuple[PerceptionEvent, ...]:
    events: list[PerceptionEvent] = []
    for turn in turns:
        said = datetime.fromisoformat(turn["timestamp"])
        # The turns of a session share one time; a second apart they keep their order.
        if events and said <= events[-1].timestamp:
            said = events[-1].timestamp + timedelta(seconds=1)
        caption = turn.get("image_caption")
        text = turn["text"] + (f" [photo: {caption}]" if caption else "")
        speaker = turn["speaker"]
        events.append(
            PerceptionEvent(
                id=f"{name}/{turn['id']}",
                agent_id=AGENT,
                place=place,
                source=Source(entity_id=f"bench:user:{speaker}", entity_name=speaker),
                content=text,
                timestamp=said,
            )
        )
    return tuple(events)
