"""What a store and an embedder must be able to do, cut by concern.

A part is opened once, at the start, through the hooks `open_store` and `open_embedder`. Contract
suites for both are in `memory_plugin.testing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memory_plugin.types import EventType, PerceptionEvent, Scope, checked_id, checked_time

Vectors = NDArray[np.float32]
AddedStatus = Literal["stored", "known", "edited", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of one event handed to `EventStore.add`.

    `id` is the id under which the event stands, None when a tombstone refused it. `known`: the
    same event was there already and nothing changed; `edited`: it was there and its text is newer
    now.
    """

    id: str | None
    status: AddedStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What was written since a revision: by this process and by others.

    `windows` names the (agent id, place key) pairs whose events changed; None means "too many to
    name, take everything as changed".
    """

    revision: int
    windows: frozenset[tuple[str, str]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which events to erase or export: every given field must match; at least one must be given.

    `entity_id` selects what that entity caused. `since` is included, `until` is not.
    """

    agent_id: str | None = None
    entity_id: str | None = None
    place_key: str | None = None
    event_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("agent_id", "entity_id", "place_key", "event_id"):
            value = getattr(self, name)
            if value is not None:
                checked_id(name, value)
        for name in ("since", "until"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checked_time(name, value))

    def matches(self, event: PerceptionEvent) -> bool:
        """Whether an event is selected; an empty selection selects nothing."""
        wishes = (
            (self.agent_id, event.agent_id),
            (self.entity_id, event.source.entity_id),
            (self.place_key, event.place.key),
            (self.event_id, event.id),
        )
        given = [(wish, value) for wish, value in wishes if wish is not None]
        if not given and self.since is None and self.until is None:
            return False
        return (
            all(wish == value for wish, value in given)
            and (self.since is None or event.timestamp >= self.since)
            and (self.until is None or event.timestamp < self.until)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure removed: numbers of rows, and the event ids for those who hold copies."""

    events: int
    vectors: int
    ids: tuple[str, ...]


@runtime_checkable
class EventStore(Protocol):
    """What agents remember: events in, events out."""

    async def add(self, events: Sequence[PerceptionEvent]) -> list[Added]:
        """Store events; when this returns they survive SIGKILL. One answer each, same order.

        Importance None is stored as 5. A known (agent_id, external_id), or a known id where there
        is no external id, is not stored twice: if its content or narrative_text differ, the
        version decides. The version is `metadata["edited_at"]` (ISO 8601) or else the timestamp;
        an equal or newer version replaces text, index and vector, an older one changes nothing.
        """
        ...

    async def edit(
        self,
        agent_id: str,
        external_id: str,
        content: str,
        edited_at: datetime,
        narrative_text: str | None = None,
    ) -> bool:
        """Replace an event's text if `edited_at` is at least its version; False when not."""
        ...

    async def delete(self, agent_id: str, external_ids: Sequence[str]) -> list[str]:
        """Remove events and refuse them from now on, also those that have not come yet.

        Answers the ids of the events that were there.
        """
        ...

    async def set_importance(self, event_id: str, importance: int) -> bool:
        """Mend the importance of one event; False when it is not there."""
        ...

    async def get(self, ids: Sequence[str]) -> list[PerceptionEvent]:
        """The events with these ids, in the order asked; missing ones are left out."""
        ...

    async def history(
        self,
        agent_id: str,
        *,
        place_key: str | None = None,
        entity_id: str | None = None,
        event_types: Sequence[EventType] | None = None,
        limit: int = 50,
        before: datetime | str | None = None,
        since: datetime | None = None,
    ) -> list[PerceptionEvent]:
        """The newest `limit` events that match, oldest first.

        `before` is a time, or an event id: only what stands before it in the stream (chronological,
        ties by order of arrival) is answered. `since` is included.
        """
        ...

    async def changes(self, revision: int) -> Changes:
        """What was written after `revision` (0: since the beginning), by any process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TermMatch:
    """Which rows of `Candidates` hold one word of the query."""

    term: str
    rows: NDArray[np.int64]
    # False: the word itself; True: it only stands inside other words (trigram index).
    inside: bool = False


@dataclass(slots=True, kw_only=True)
class Candidates:
    """All that a scope lets a reader see, as columns of equal length n, ready to be ranked.

    Rows are the events of the visible shelves, in no promised order. `eligible` marks the rows that
    also pass the scope's filters; only these may become hits, the others are there as neighbours.
    `previous` is the row index of the event before this one at the same place, -1 for none;
    `session` numbers stretches of conversation at one place without a long silence.
    `meaning` is the cosine between query vector and row vector, NaN where either is missing.
    A store that cannot hand over all n rows hands over its best candidates by each measure.
    """

    seq: NDArray[np.int64]
    at: NDArray[np.float64]  # seconds since 1970, UTC
    author: NDArray[np.int32]
    place: NDArray[np.int32]
    session: NDArray[np.int64]
    previous: NDArray[np.int64]
    importance: NDArray[np.uint8]
    words: NDArray[np.float32]  # number of words in the content
    question: NDArray[np.bool_]  # the content ends with, or nearly ends with, a question mark
    dated: NDArray[np.bool_]  # the content holds a time expression
    eligible: NDArray[np.bool_]
    meaning: NDArray[np.float32]
    terms: list[TermMatch] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seq)


@runtime_checkable
class SearchStore(Protocol):
    """What recall needs: candidates with visibility inside, and vectors."""

    async def search(
        self, scope: Scope, terms: Sequence[str], vector: Vectors | None
    ) -> Candidates:
        """The columns of everything visible in `scope`.

        `terms` are words of the query as `text.query_terms` gives them; `vector` has shape
        (dim,), need not have length 1, and None leaves `meaning` all NaN. What this process or
        another has written before the call is in the answer.
        """
        ...

    async def fetch(self, seqs: Sequence[int]) -> list[PerceptionEvent]:
        """The events of these `Candidates.seq` numbers, in that order; erased ones left out."""
        ...

    async def use_model(self, name: str, dim: int) -> int:
        """Make `name` the model whose vectors count; answers how many events await a vector.

        Vectors of another model are kept out of every search and replaced one by one.
        """
        ...

    async def unembedded(self, limit: int) -> list[Unembedded]:
        """Events that await a vector of the model in use, newest first."""
        ...

    async def add_vectors(self, vectors: Sequence[tuple[Unembedded, Vectors]]) -> int:
        """Store vectors; those whose text has changed or gone since are passed over.

        Raises `EmbedderError` for a vector of wrong size, zero length, or with NaN or infinity in
        it, before anything is written. Answers how many were stored.
        """
        ...

    async def embedding_backlog(self) -> int:
        """How many events await a vector."""
        ...

    async def load_centre(self, model: str) -> Vectors | None:
        """The mean question vector kept for a model (shape (dim,)), or None."""
        ...

    async def save_centre(self, model: str, centre: Vectors) -> None:
        """Keep the mean question vector of a model."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """An event's text that awaits its vector: ``Speaker: what was said``."""

    seq: int
    version: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquaintance:
    """What the events alone say about one entity, as one agent knows it."""

    entity_id: str
    names: tuple[str, ...]  # newest first
    first_seen: datetime
    last_seen: datetime
    events: int
    days: int  # number of different UTC days with an event
    places: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Numbers about what is stored, for one agent (or all) and one place (or all)."""

    events: int
    authors: int
    places: int
    first: datetime | None
    last: datetime | None
    by_type: Mapping[str, int]
    by_hour: tuple[int, ...]  # 24 numbers, UTC
    by_weekday: tuple[int, ...]  # 7 numbers, Monday first, UTC
    by_day: Mapping[str, int]  # ISO date -> number, at most the newest 366 days with events
    by_author: tuple[tuple[str, str, int], ...]  # entity id, newest name, events; 20 busiest
    by_place: tuple[tuple[str, str, int], ...]  # place key, newest name, events; 20 busiest


@runtime_checkable
class UpkeepStore(Protocol):
    """What owners and people may ask: numbers, traces, wishes, erasure, copies, health."""

    async def acquaintance(self, scope: Scope, entity_id: str) -> Acquaintance | None:
        """What the events visible in `scope` say of an entity; None if they do not show it.

        What somebody said in private must not show as a number in public. The scope's filters do
        not count here.
        """
        ...

    async def statistics(
        self, agent_id: str | None = None, place_key: str | None = None
    ) -> Statistics:
        """Counts, first and last, busiest people and places, activity over time."""
        ...

    async def agents(self) -> list[str]:
        """The agent ids that have events, sorted."""
        ...

    async def save_trace(self, agent_id: str, place_key: str, trace: Mapping[str, Any]) -> None:
        """Keep the trace of the last context built at a place (JSON values; ids, never text)."""
        ...

    async def last_trace(self, agent_id: str, place_key: str) -> Mapping[str, Any] | None:
        """The trace of the last context built at a place."""
        ...

    async def set_followed(self, entity_id: str, *, followed: bool) -> None:
        """A person's wish that their public lines be remembered across spaces, or no longer."""
        ...

    async def followed(self, entity_ids: Sequence[str]) -> frozenset[str]:
        """Those of `entity_ids` who wished to be followed across spaces."""
        ...

    async def erase(self, selection: Selection) -> Erased:
        """Remove all traces of the selected events from the file, and refuse their replay."""
        ...

    async def export(
        self, selection: Selection, after: int = 0, limit: int = 1000
    ) -> tuple[list[PerceptionEvent], int]:
        """One page of the selected events in order of arrival, and the number to go on after."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with the file, in sentences; empty when all is well."""
        ...

    async def repair(self) -> list[str]:
        """Mend what can be mended (indexes, from the events); what was done, in sentences."""
        ...

    async def backup(self, target: Path) -> None:
        """A consistent copy while everything goes on; `target` must not exist."""
        ...

    async def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`: path, schema, rows, bytes, queue length, modes."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, then let go of the file. Safe to call twice."""
        ...


@runtime_checkable
class Store(EventStore, SearchStore, UpkeepStore, Protocol):
    """Everything a memory keeps; the default one is a single SQLite file."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into unit vectors, and counts tokens as its model does."""

    name: str  # model, revision and quantisation: vectors of different names are never compared
    dim: int

    async def embed(
        self, texts: Sequence[str], kind: Literal["passage", "query"] = "passage"
    ) -> Vectors:
        """Unit rows, shape (len(texts), dim), float32, in the order given. Long text is cut."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens the model's tokenizer makes of `text`, special tokens not counted."""
        ...

    def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`: model, file, graph, dim."""
        ...

    async def close(self) -> None:
        """Let go of the model. Safe to call twice."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsOnly:
    """The answer of `open_embedder` when there is no model: recall by words, and why."""

    reason: str
