"""What every importer hands over: one line somebody wrote, or what could not be read, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory_plugin.errors import ValidationError
from memory_plugin.types import VISIBILITIES, SourceType, Visibility, checked_id, checked_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line or message that gave no event: `where` it stands in the file, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For whom to import, and what the file itself does not say.

    `platform`, `space`, `channel` and `visibility` win over what the file says; None leaves it to
    the file. In a Discord data package `channel` picks one of its channels. `timezone` is a
    zoneinfo name for times without an offset (None: UTC). `start` is when an undated log begins.
    `agent_entity` is the entity id under which the agent itself speaks in the file
    (``discord:user:123``), None where it does not; its lines become its own speech, and it is no
    participant.
    """

    agent_id: str
    platform: str | None = None
    space: str | None = None
    channel: str | None = None
    visibility: Visibility | None = None
    timezone: str | None = None
    start: datetime | None = None
    agent_entity: str | None = None

    def __post_init__(self) -> None:
        checked_id("agent_id", self.agent_id)
        for name in ("platform", "space", "channel", "agent_entity"):
            value = getattr(self, name)
            if value is not None:
                checked_id(name, value)
        if self.visibility is not None and self.visibility not in VISIBILITIES:
            problem = f"must be one of {', '.join(VISIBILITIES)}"
            raise ValidationError("visibility", self.visibility, problem)
        if self.start is not None:
            object.__setattr__(self, "start", checked_time("start", self.start))
        _ = self.zone

    @property
    def zone(self) -> tzinfo:
        """The zone of times without an offset; raises `ValidationError` for an unknown name."""
        if self.timezone is None:
            return UTC
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as fault:
            problem = "is no time zone known here; try a name like Europe/Paris"
            raise ValidationError("timezone", self.timezone, problem) from fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One line of a chat, in the words of the file, before it becomes an event.

    `author` is an entity id. `stamp` is the time as far as the file itself states it ("" where it
    does not), `estimated` whether `at` is a guess built on it. `external_id` is the platform's
    message id, None where it has none. `people` are the entity ids of a direct place, None where
    only the authors tell.
    """

    where: str
    author: str
    name: str
    text: str
    at: datetime
    platform: str
    channel: str
    stamp: str = ""
    estimated: bool = False
    channel_name: str = ""
    space: str | None = None
    direct: bool = False
    people: tuple[str, ...] | None = None
    source_type: SourceType = "say"
    external_id: str | None = None
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
