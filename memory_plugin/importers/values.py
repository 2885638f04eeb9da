"""What an import is asked for, and what it answers besides events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from hashlib import blake2b
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory_plugin.errors import ValidationError
from memory_plugin.types import Visibility, checked_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Whose memory the events are for, and what the files do not say.

    `platform`, `space`, `channel` and `visibility` overrule the file; None leaves it to the file,
    and restricted is what a file that says nothing gets. `timezone` is the IANA name of the zone
    of times without an offset; UTC if None. Perception events in JSON are whole: they keep
    their place, and the agent they name unless `overrule_agent` makes them `agent_id`'s.
    """

    agent_id: str
    overrule_agent: bool = False
    platform: str | None = None
    space: str | None = None
    channel: str | None = None
    visibility: Visibility | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        checked_id("agent_id", self.agent_id)
        for name in ("platform", "space", "channel"):
            value = getattr(self, name)
            if value is not None:
                checked_id(name, value)
        _ = self.zone

    @property
    def zone(self) -> tzinfo:
        """The zone of times without an offset; raises `ValidationError` if there is none such."""
        if self.timezone is None:
            return UTC
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as fault:
            raise ValidationError("timezone", self.timezone, "is not a known time zone") from fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part of a file that did not become an event: where it stands, and why."""

    where: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Guesses:
    """What an import took for granted: how many times named no offset."""

    zoneless: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """The file an import reads, the options it was asked with, and where it counts its guesses."""

    path: Path
    options: Options
    guesses: Guesses = field(default_factory=Guesses)

    def time_of(self, text: str) -> datetime:
        """An ISO 8601 time; one without an offset is counted as a guess. Raises `ValueError`."""
        parsed = datetime.fromisoformat(text.strip())
        if parsed.tzinfo is not None:
            return parsed
        self.guesses.zoneless += 1
        return parsed.replace(tzinfo=self.options.zone)


class Numbering:
    """External ids for messages that have none: the same message gets the same id every time.

    Made of what the message is and of how often the same one came before in the file, never of
    its place in the file: exports that overlap give the same ids.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._seen: Counter[bytes] = Counter()

    def id_of(self, *parts: str) -> str:
        """The id of the message that consists of `parts`."""
        digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=15).digest()
        self._seen[digest] += 1
        return f"{self._kind}:{digest.hex()}:{self._seen[digest]}"


def parse_time(text: str, zone: tzinfo) -> datetime:
    """An ISO 8601 time, or one like it with a space; `zone` where it has no offset.

    Raises `ValueError`.
    """
    parsed = datetime.fromisoformat(text.strip())
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=zone)
