"""From what a file says to perception events: places, participants, ids that stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.importers.utterance import Options, Skipped, Utterance
from memory_plugin.types import PerceptionEvent, Place, Source

_Reading = Iterable[Utterance | Skipped | PerceptionEvent]


class Occurrences:
    """Ids for lines that have none: equal lines get equal ids, the second of two "ok" another.

    What makes a line the same is its channel, time as stated, author and text. Equal lines of one
    moment are numbered; lines whose time is a guess are numbered over the whole file, so that a
    log that grew gives the ids it gave before.
    """

    def __init__(self) -> None:
        self._moment: dict[str, tuple[str, dict[bytes, int]]] = {}
        self._undated: dict[bytes, int] = {}

    def id_of(
        self, platform: str, channel: str, stamp: str, author: str, text: str, *, dated: bool
    ) -> str:
        """The external id of one line: platform, "line", and 32 hexadecimal digits."""
        said = blake2b(digest_size=16)
        for part in (channel, stamp, author, text):
            raw = part.encode(errors="surrogatepass")
            said.update(b"%d:" % len(raw))
            said.update(raw)
        seen = self._undated
        if dated:
            # Only the current moment of a channel is held, or a long file would fill the memory.
            moment, seen = self._moment.get(channel, ("", {}))
            if moment != stamp:
                seen = {}
                self._moment[channel] = (stamp, seen)
        key = said.digest()
        seen[key] = number = seen.get(key, 0) + 1
        said.update(b"#%d" % number)
        return f"{platform}:line:{said.hexdigest()}"


def mended(value: Any) -> Any:
    """`value` with lone surrogates (halves of an emoji cut in two) replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mended(item) for item in value)
    return value


class _Builder:
    def __init__(self, again: Callable[[], _Reading], options: Options) -> None:
        self._again = again
        self._options = options
        self._occurrences = Occurrences()
        self._places: dict[tuple[object, ...], Place] = {}
        self._authors: dict[str, set[str]] | None = None

    def event(self, said: Utterance) -> PerceptionEvent:
        options = self._options
        platform = options.platform or said.platform
        metadata = dict(said.metadata)
        if said.estimated:
            metadata["time_estimated"] = True
        mine = said.author == options.agent_entity
        return PerceptionEvent(
            agent_id=options.agent_id,
            place=self._place(said),
            source=Source(
                entity_id=said.author, entity_name=said.name, source_type=said.source_type
            ),
            content=said.text,
            timestamp=said.at,
            event_type="self_speech" if mine else "external",
            external_id=said.external_id
            or self._occurrences.id_of(
                platform,
                options.channel or said.channel,
                said.stamp,
                said.author,
                said.text,
                dated=not said.estimated,
            ),
            reply_to=said.reply_to,
            metadata=metadata,
        )

    def _place(self, said: Utterance) -> Place:
        key = (said.platform, said.space, said.channel, said.channel_name, said.direct, said.people)
        known = self._places.get(key)
        if known is not None:
            return known
        options = self._options
        visibility = options.visibility or ("direct" if said.direct else "restricted")
        made = Place(
            platform=options.platform or said.platform,
            space=options.space or said.space,
            channel=options.channel or said.channel,
            name=said.channel_name,
            visibility=visibility,
            participants=self._people(said) if visibility == "direct" else (),
        )
        self._places[key] = made
        return made

    def _people(self, said: Utterance) -> tuple[str, ...]:
        """Who takes part in a direct place; the file is read a first time if it must be."""
        people = set(said.people or ())
        if said.people is None:
            if self._authors is None:
                self._authors = {}
                for one in self._again():
                    if isinstance(one, Utterance):
                        self._authors.setdefault(one.channel, set()).add(one.author)
            people = self._authors.get(said.channel, set())
        others = people - {self._options.agent_entity}
        # Only the agent wrote: the other is not named anywhere. A name nobody bears keeps it shut.
        return tuple(mended(sorted(one for one in others if one))) or (
            f"{said.platform}:channel:{said.channel}",
        )


def _mended(said: Utterance) -> Utterance:
    return replace(
        said,
        author=mended(said.author),
        name=mended(said.name),
        text=mended(said.text),
        channel=mended(said.channel),
        channel_name=mended(said.channel_name),
        metadata=mended(said.metadata),
    )


def events(
    reading: Callable[[], _Reading], options: Options
) -> Iterator[PerceptionEvent | Skipped]:
    """The events of a file; `reading` begins to read it anew each time it is called."""
    builder = _Builder(reading, options)
    for said in reading():
        if not isinstance(said, Utterance):
            yield said
            continue
        try:
            if _is_whole(said):
                yield builder.event(said)
            else:
                yield builder.event(_mended(said))
        except ValidationError as fault:
            yield Skipped(where=said.where, reason=str(fault))


def _is_whole(said: Utterance) -> bool:
    """Whether the texts can be written as UTF-8."""
    try:
        for text in (said.text, said.name, said.author, said.channel, said.channel_name):
            if not text.isascii():
                text.encode()
        if said.metadata:
            repr_of_all(said.metadata)
    except UnicodeEncodeError:
        return False
    return True


def repr_of_all(value: object) -> None:
    """Walk through JSON values; raises `UnicodeEncodeError` at the first lone surrogate."""
    if isinstance(value, str):
        if not value.isascii():
            value.encode()
    elif isinstance(value, dict):
        for key, item in value.items():
            repr_of_all(key)
            repr_of_all(item)
    elif isinstance(value, list):
        for item in value:
            repr_of_all(item)
