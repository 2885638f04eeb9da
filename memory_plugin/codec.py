"""A perception event as JSON and back, without loss.

The keys are a public contract: the event's own, plus ``agent_id``, ``place``, ``external_id`` and
``reply_to`` on the same level. Keys nobody knows are kept in ``metadata``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.types import PerceptionEvent, Place, Source, checked_time

_EVENT_KEYS = frozenset(one.name for one in fields(PerceptionEvent))
_SOURCE_KEYS = frozenset(one.name for one in fields(Source))
_PLACE_KEYS = frozenset(one.name for one in fields(Place))
_REQUIRED = ("agent_id", "place", "source", "content", "timestamp")


def event_to_json(event: PerceptionEvent) -> dict[str, Any]:
    """The JSON form of an event: plain dicts, lists, text, numbers; times as ISO 8601 in UTC."""
    source, place = event.source, event.place
    return {
        "id": event.id,
        "timestamp": event.timestamp.isoformat(),
        "event_type": event.event_type,
        "source": {
            "entity_id": source.entity_id,
            "entity_name": source.entity_name,
            "source_type": source.source_type,
        },
        "content": event.content,
        "narrative_text": event.narrative_text,
        "importance": event.importance,
        "requires_response": event.requires_response,
        "addressing": event.addressing,
        "metadata": event.metadata,
        "agent_id": event.agent_id,
        "place": place_to_json(place),
        "external_id": event.external_id,
        "reply_to": event.reply_to,
    }


def place_to_json(place: Place) -> dict[str, Any]:
    """The JSON form of a place."""
    return {
        "platform": place.platform,
        "space": place.space,
        "channel": place.channel,
        "name": place.name,
        "visibility": place.visibility,
        "participants": list(place.participants),
    }


def time_from_text(name: str, value: object) -> datetime:
    """An ISO 8601 time with an offset (``Z`` is one) as an aware UTC datetime."""
    if not isinstance(value, str):
        raise ValidationError(name, value, "must be an ISO 8601 text")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError as fault:
        raise ValidationError(name, value, "is not an ISO 8601 time") from fault
    return checked_time(name, parsed)


def _object(name: str, value: object, known: frozenset[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValidationError(name, value, "must be an object")
    for key in value:
        if key not in known:
            raise ValidationError(f"{name}.{key}", value[key], "is not a known key")
    return dict(value)


def _made(name: str, kind: type[Source | Place], values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except TypeError as fault:
        missing = [
            key
            for key in ("platform", "channel", "entity_id", "entity_name")
            if repr(key) in str(fault)
        ]
        raise ValidationError(name, values, f"lacks {', '.join(missing) or fault}") from fault


def place_from_json(value: object) -> Place:
    """A place from its JSON form."""
    values = _object("place", value, _PLACE_KEYS)
    people = values.get("participants", ())
    if not isinstance(people, list | tuple):
        raise ValidationError("place.participants", people, "must be a list of ids")
    values["participants"] = tuple(people)
    made: Place = _made("place", Place, values)
    return made


def event_from_json(value: object) -> PerceptionEvent:
    """An event from its JSON form; raises `ValidationError` naming the field.

    ``id`` may be missing (one is made), as may everything that has a default. An unknown key goes
    into ``metadata`` unless another value stands there already.
    """
    if not isinstance(value, Mapping):
        raise ValidationError("event", value, "must be an object")
    for name in _REQUIRED:
        if value.get(name) is None:
            raise ValidationError(name, None, "is missing")
    known = {key: item for key, item in value.items() if key in _EVENT_KEYS}
    metadata = known.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, Mapping):
        raise ValidationError("metadata", metadata, "must be an object")
    known["metadata"] = dict(metadata)
    for key in value.keys() - _EVENT_KEYS:
        kept = known["metadata"].setdefault(key, value[key])
        if kept != value[key]:
            raise ValidationError(str(key), value[key], "stands in metadata with another value")
    for key in ("id", "event_type", "requires_response"):
        if known.get(key, "") is None:
            del known[key]
    known["timestamp"] = time_from_text("timestamp", known["timestamp"])
    known["source"] = _made("source", Source, _object("source", known["source"], _SOURCE_KEYS))
    known["place"] = place_from_json(known["place"])
    return PerceptionEvent(**known)


def _refuse_constant(text: str) -> float:
    raise ValidationError("event", text, "is not a JSON number")


def dumps(event: PerceptionEvent) -> str:
    """An event as one line of JSON."""
    return json.dumps(event_to_json(event), ensure_ascii=False, separators=(",", ":"))


def loads(line: str | bytes) -> PerceptionEvent:
    """An event from one line of JSON; raises `ValidationError` for anything else."""
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except ValidationError:
        raise
    except (ValueError, RecursionError) as fault:
        raise ValidationError("event", line, f"is not JSON: {fault}") from fault
    return event_from_json(value)
