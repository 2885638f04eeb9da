"""The words of the house as values: events, places, scopes, hits.

Everything here is frozen, checks itself when made, and raises `ValidationError` naming the field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from ulid import ULID

from memory_plugin.errors import ValidationError

EventType = Literal["external", "self_action", "self_speech", "tool_result", "tick"]
SourceType = Literal["say", "pose", "page", "whisper", "channel", "system"]
Visibility = Literal["public", "restricted", "direct"]

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
SOURCE_TYPES: tuple[SourceType, ...] = get_args(SourceType)
VISIBILITIES: tuple[Visibility, ...] = get_args(Visibility)

# A metadata value nested deeper than this cannot be written as JSON without exhausting the stack
# of some reader.
MAX_METADATA_DEPTH = 32
MAX_ID_CHARS = 512
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """The time now, aware, in UTC; the clock a `Memory` uses unless it is handed another."""
    return datetime.now(UTC)


def new_event_id(timestamp: datetime) -> str:
    """A fresh event id (a ULID, 26 characters) that sorts by the event's own time."""
    return str(ULID.from_datetime(max(timestamp, EPOCH)))


def checked_id(name: str, value: object) -> str:
    """`value` if it can name something: text, 1 to 512 characters, no control characters.

    ``%_*[]`` and other signs are ordinary characters here: ids are only ever compared whole.
    """
    if not isinstance(value, str):
        raise ValidationError(name, value, "must be text")
    if not value or value.isspace():
        raise ValidationError(name, value, "must not be empty")
    if len(value) > MAX_ID_CHARS:
        raise ValidationError(name, value, f"must not be longer than {MAX_ID_CHARS} characters")
    if not value.isprintable():
        raise ValidationError(name, value, "must not hold control characters or lone surrogates")
    return value


def checked_text(name: str, value: object) -> str:
    """`value` if it is text that can be written as UTF-8; any length, NUL included."""
    if not isinstance(value, str):
        raise ValidationError(name, value, "must be text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as fault:
            problem = f"holds a lone surrogate at position {fault.start}"
            raise ValidationError(name, value, problem) from fault
    return value


def checked_time(name: str, value: object) -> datetime:
    """`value` as an aware UTC datetime; a naive one is refused, since nobody knows its offset."""
    if not isinstance(value, datetime):
        raise ValidationError(name, value, "must be a datetime")
    if value.tzinfo is None or value.utcoffset() is None:
        raise ValidationError(name, value, "must carry a UTC offset")
    try:
        return value.astimezone(UTC)
    except OverflowError as fault:
        raise ValidationError(name, value, "is outside the years 1 to 9999 in UTC") from fault


def _checked_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValidationError(name, value, f"must be one of {', '.join(allowed)}")


def _checked_json(name: str, value: object, depth: int = 0) -> Any:
    """A deep copy of `value` made of JSON's own types, so that nobody can change it afterwards."""
    if depth > MAX_METADATA_DEPTH:
        raise ValidationError(name, value, f"is nested deeper than {MAX_METADATA_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValidationError(name, "a huge number", "must fit into 64 bits")
        return value
    if isinstance(value, str):
        return checked_text(name, value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(name, value, "must be a finite number")
        return value
    if isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValidationError(name, key, "has a key that is not text")
            checked_text(name, key)
            copy[key] = _checked_json(f"{name}.{key}", item, depth + 1)
        return copy
    if isinstance(value, list | tuple):
        return [_checked_json(f"{name}[{i}]", item, depth + 1) for i, item in enumerate(value)]
    raise ValidationError(name, value, "is not a JSON value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Who caused an event, and by what kind of utterance.

    `entity_id` carries platform and kind (``discord:user:123``, ``evennia:object:#5``), because
    bare numbers collide between platforms.
    """

    entity_id: str
    entity_name: str
    source_type: SourceType = "say"

    def __post_init__(self) -> None:
        checked_id("source.entity_id", self.entity_id)
        checked_text("source.entity_name", self.entity_name)
        _checked_one_of("source.source_type", self.source_type, SOURCE_TYPES)


def _key_part(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something happens: a channel, thread, room, page or direct message.

    `space` is the guild or game the channel belongs to, None where there is none (a direct
    message). `participants` are the entity ids, other than the agent, that could perceive what
    happens here; a direct place must name them, a restricted one may, a public one does not.
    """

    platform: str
    channel: str
    space: str | None = None
    name: str = ""
    visibility: Visibility = "restricted"
    participants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked_id("place.platform", self.platform)
        checked_id("place.channel", self.channel)
        if self.space is not None:
            checked_id("place.space", self.space)
        checked_text("place.name", self.name)
        _checked_one_of("place.visibility", self.visibility, VISIBILITIES)
        if isinstance(self.participants, str):
            raise ValidationError("place.participants", self.participants, "must be a list of ids")
        people = {checked_id("place.participants", one) for one in self.participants}
        if self.visibility == "direct" and not people:
            raise ValidationError(
                "place.participants",
                self.participants,
                "must name who takes part in a direct place",
            )
        if self.visibility == "public" and people:
            raise ValidationError(
                "place.participants", self.participants, "must be empty for a public place"
            )
        object.__setattr__(self, "participants", tuple(sorted(people)))

    @property
    def key(self) -> str:
        """One text that names this place: ``platform/space/channel``, slashes escaped as %2F.

        A direct place goes on with ``/with/`` and its participants: what two whisper in a room is
        not said in the room, whatever the host calls its channel.
        """
        parts = [self.platform, self.space or "", self.channel]
        if self.visibility == "direct":
            parts += ["with", *self.participants]
        return "/".join(_key_part(part) for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptionEvent:
    """One thing an agent perceived: somebody spoke, it spoke or acted, a tool answered, a tick.

    `importance` is 1 to 10, or None until a scorer has spoken; it is the host's or a scorer's
    word, never the speaker's. `addressing` is the entity id the event is directed at.
    `external_id` is the platform's own message id: the same agent and external id is the same
    event. `reply_to` is the external id (or event id) of what this answers. `metadata` holds JSON
    values only and is copied.
    """

    agent_id: str
    place: Place
    source: Source
    content: str
    timestamp: datetime
    event_type: EventType = "external"
    id: str = ""
    narrative_text: str | None = None
    importance: int | None = None
    requires_response: bool = False
    addressing: str | None = None
    external_id: str | None = None
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_id("agent_id", self.agent_id)
        if not isinstance(self.place, Place):
            raise ValidationError("place", self.place, "must be a Place")
        if not isinstance(self.source, Source):
            raise ValidationError("source", self.source, "must be a Source")
        checked_text("content", self.content)
        object.__setattr__(self, "timestamp", checked_time("timestamp", self.timestamp))
        _checked_one_of("event_type", self.event_type, EVENT_TYPES)
        if self.id == "":
            object.__setattr__(self, "id", new_event_id(self.timestamp))
        else:
            checked_id("id", self.id)
        if self.narrative_text is not None:
            checked_text("narrative_text", self.narrative_text)
        if self.importance is not None:
            checked_importance("importance", self.importance)
        if not isinstance(self.requires_response, bool):
            raise ValidationError(
                "requires_response", self.requires_response, "must be true or false"
            )
        for name in ("addressing", "external_id", "reply_to"):
            value = getattr(self, name)
            if value is not None:
                checked_id(name, value)
        if not isinstance(self.metadata, Mapping):
            raise ValidationError("metadata", self.metadata, "must be an object")
        if self.metadata:
            object.__setattr__(self, "metadata", _checked_json("metadata", self.metadata))
        else:
            object.__setattr__(self, "metadata", {})


def with_importance(event: PerceptionEvent, importance: int) -> PerceptionEvent:
    """The same event with this importance; twice as quick as `dataclasses.replace`."""
    checked_importance("importance", importance)
    copy = object.__new__(PerceptionEvent)
    for name in _EVENT_FIELDS:
        object.__setattr__(copy, name, getattr(event, name))
    object.__setattr__(copy, "importance", importance)
    return copy


def checked_importance(name: str, value: object) -> int:
    """`value` if it is a whole number from 1 to 10."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10:
        raise ValidationError(name, value, "must be a whole number from 1 to 10")
    return value


_EVENT_FIELDS = tuple(one.name for one in fields(PerceptionEvent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory is asked, where the answer will be shown, and which events count.

    `place` is where the hits will be shown and `audience` the entity ids present there besides
    the place's own participants; together they decide what may be seen. Without a place nothing
    may be seen, unless `everything` is set: the view of the owner of the file, for the command
    line and for tests, never for an answer to a person.

    The other fields only narrow: None means "no limit", an empty tuple matches nothing.
    `entities` are the authors, `places` are `Place.key` texts, `since` is included and `until` is
    not. `event_types` None means everything but the agent's own speech and ticks, because an
    agent's own words are no facts about others.
    """

    agent_id: str
    place: Place | None = None
    audience: tuple[str, ...] = ()
    everything: bool = False
    entities: tuple[str, ...] | None = None
    places: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    event_types: tuple[EventType, ...] | None = None

    def __post_init__(self) -> None:
        checked_id("agent_id", self.agent_id)
        if self.place is not None and not isinstance(self.place, Place):
            raise ValidationError("place", self.place, "must be a Place")
        if self.place is None and not self.everything:
            raise ValidationError(
                "place",
                None,
                "say where the hits will be shown, or ask for everything as the owner",
            )
        for name in ("audience", "entities", "places", "event_types"):
            values = getattr(self, name)
            if values is None:
                continue
            if isinstance(values, str):
                raise ValidationError(name, values, "must be a list")
            object.__setattr__(self, name, tuple(values))
        for one in (*self.audience, *(self.entities or ()), *(self.places or ())):
            checked_id("scope", one)
        for kind in self.event_types or ():
            _checked_one_of("event_types", kind, EVENT_TYPES)
        for name in ("since", "until"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checked_time(name, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One recalled event, how well it fits (0 to 1), and what made it so.

    `parts` are addends: their sum, put through the logistic function, is `score`.
    """

    event: PerceptionEvent
    score: float
    parts: Mapping[str, float]

    def __post_init__(self) -> None:
        if not isinstance(self.event, PerceptionEvent):
            raise ValidationError("hit.event", self.event, "must be a PerceptionEvent")
        if not isinstance(self.score, int | float) or not 0 <= self.score <= 1:
            raise ValidationError("hit.score", self.score, "must be a number from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A reason to look into memory: a text, a person, or both; at least one of them."""

    text: str | None = None
    entity_id: str | None = None

    def __post_init__(self) -> None:
        if self.text is None and self.entity_id is None:
            raise ValidationError("cue", None, "needs a text or an entity id")
        if self.text is not None:
            checked_text("cue.text", self.text)
        if self.entity_id is not None:
            checked_id("cue.entity_id", self.entity_id)


def age_between(earlier: datetime, later: datetime) -> timedelta:
    """How long ago `earlier` was at `later`; never negative, clocks differ."""
    return max(later - earlier, timedelta(0))
