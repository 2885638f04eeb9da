"""What a context is made of, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Acquaintance
from memory_plugin.truncation import Truncated
from memory_plugin.types import Hit, PerceptionEvent, Place, Source, checked_text, checked_time

Message = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that may go into a context, already allowed to be shown at `place`.

    `identity` is the owner's own text about the agent. `speaker` is who is spoken with, None if
    nobody in particular; `acquaintance` is what is known of them. `window` is the recent
    conversation, `hits` the memories, best first, `missed` what happened since the speaker was
    last here, oldest first. `now` carries the reader's UTC offset: dates are written in it.
    `query_terms` is how many words were looked up, for the trace.
    """

    agent_id: str
    place: Place
    now: datetime
    agent_name: str = ""
    identity: str = ""
    speaker: Source | None = None
    acquaintance: Acquaintance | None = None
    window: Truncated = field(default_factory=lambda: Truncated(kept=()))
    hits: Sequence[Hit] = ()
    missed: Sequence[PerceptionEvent] = ()
    query_terms: int | None = None

    def __post_init__(self) -> None:
        checked_time("now", self.now)
        checked_text("agent_name", self.agent_name)
        checked_text("identity", self.identity)
        if not isinstance(self.window, Truncated):
            raise ValidationError("window", self.window, "must be a Truncated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the agent has in mind, ready for a language model.

    `text` and `messages` say the same. `messages` alternate between ``user`` and ``assistant``
    after one ``system`` message that holds nothing but the owner's identity text and our own
    sentences. `tokens` is the size of the larger of the two. `trace` tells how it came about:
    JSON values, ids and numbers, never text.
    """

    text: str
    messages: Sequence[Message]
    tokens: int
    trace: Mapping[str, Any]
