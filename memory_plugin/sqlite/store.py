"""The default store: everything an agent remembers, in one SQLite file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import numpy as np

from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Added, Candidates, Changes, Unembedded, Vectors
from memory_plugin.sqlite import adding, changing, coding, history
from memory_plugin.sqlite.file import BULK_ROWS, OpenFile
from memory_plugin.sqlite.keeping import Upkeep
from memory_plugin.sqlite.rows import version_of
from memory_plugin.sqlite.search import Query, search
from memory_plugin.types import (
    EventType,
    PerceptionEvent,
    Scope,
    checked_id,
    checked_importance,
    checked_text,
    checked_time,
)

# Some 15 microseconds each; in between the event loop has its turn.
PREPARED_AT_ONCE = 40


class Events(OpenFile):
    """Events in, events out: `parts.EventStore`."""

    async def add(self, events: Sequence[PerceptionEvent]) -> list[Added]:
        """Store events; one answer each, same order. See `EventStore.add`."""
        versions = [version_of(event) for event in events]
        answers: list[Added] = []
        writing: asyncio.Future[list[Added]] | None = None
        for start in range(0, len(events), BULK_ROWS):
            ready: list[adding.Prepared] = []
            for row in range(start, min(start + BULK_ROWS, len(events))):
                ready.append(adding.prepared(events[row], versions[row]))
                if len(ready) % PREPARED_AT_ONCE == 0:
                    await asyncio.sleep(0)
            if writing is not None:
                answers += await writing
            self._check_open()
            writing = self._writer.ask(partial(adding.add, events=ready), rows=len(ready))
        if writing is not None:
            answers += await writing
        return answers

    async def edit(
        self,
        agent_id: str,
        external_id: str,
        content: str,
        edited_at: datetime,
        narrative_text: str | None = None,
    ) -> bool:
        """Replace an event's text if `edited_at` is at least its version; False when not."""
        checked_id("agent_id", agent_id)
        checked_id("external_id", external_id)
        checked_text("content", content)
        at = checked_time("edited_at", edited_at)
        if narrative_text is not None:
            checked_text("narrative_text", narrative_text)
        return await self._write(
            lambda on: changing.edit(
                on, agent_id, external_id, content=content, at=at, narrative_text=narrative_text
            )
        )

    async def delete(self, agent_id: str, external_ids: Sequence[str]) -> list[str]:
        """Remove events and refuse them from now on; the ids of those that were there."""
        checked_id("agent_id", agent_id)
        ids = [checked_id("external_id", one) for one in external_ids]
        removed: list[str] = []
        for start in range(0, len(ids), BULK_ROWS):
            some = ids[start : start + BULK_ROWS]
            removed += await self._write(
                partial(changing.delete, agent_id=agent_id, external_ids=some)
            )
        return removed

    async def set_importance(self, event_id: str, importance: int) -> bool:
        """Mend the importance of one event; False when it is not there."""
        checked_importance("importance", importance)
        return await self._write(lambda on: changing.set_importance(on, event_id, importance))

    async def get(self, ids: Sequence[str]) -> list[PerceptionEvent]:
        """The events with these ids, in the order asked; missing ones are left out."""
        return await self._read(lambda on: history.get(on, list(ids)))

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
        """The newest `limit` events that match, oldest first. See `EventStore.history`."""
        if isinstance(before, datetime):
            before = checked_time("before", before)
        if since is not None:
            since = checked_time("since", since)
        return await self._read(
            lambda on: history.history(
                on,
                agent_id,
                place_key=place_key,
                entity_id=entity_id,
                event_types=event_types,
                limit=limit,
                before=before,
                since=since,
            )
        )

    async def changes(self, revision: int) -> Changes:
        """What was written after `revision`, by any process."""
        return await self._read(lambda on: history.changes(on, revision))


class Searching(OpenFile):
    """Candidates with visibility inside, and vectors: `parts.SearchStore`."""

    async def search(
        self, scope: Scope, terms: Sequence[str], vector: Vectors | None
    ) -> Candidates:
        """The columns of everything visible in `scope`. See `SearchStore.search`."""
        if vector is not None:
            dim = np.size(vector) if self._model is None else self._model[1]
            vector = coding.checked_vector(vector, dim, "of the query")
        query = Query(terms=tuple(terms), vector=vector, model=self._model and self._model[0])
        return await self._search(lambda on: search(on, self._shelves, scope, query))

    async def fetch(self, seqs: Sequence[int]) -> list[PerceptionEvent]:
        """The events of these `Candidates.seq` numbers, in that order; erased ones left out."""
        wanted = list(seqs)
        return await self._read(lambda on: history.fetch(on, wanted))

    async def use_model(self, name: str, dim: int) -> int:
        """Make `name` the model whose vectors count; answers how many events await a vector."""
        if dim < 1:
            raise EmbedderError(f"the model {name} says it has {dim} dimensions")
        waiting = await self._write(lambda on: coding.use_model(on, name, dim))
        self._model = name, dim
        return waiting

    async def unembedded(self, limit: int) -> list[Unembedded]:
        """Events that await a vector of the model in use, newest first."""
        return await self._read(lambda on: coding.waiting(on, limit))

    async def add_vectors(self, vectors: Sequence[tuple[Unembedded, Vectors]]) -> int:
        """Store vectors; answers how many were stored. See `SearchStore.add_vectors`."""
        name, dim = self._model_in_use()
        jobs = [job for job, _ in vectors]
        codes, scale = coding.codes_of(coding.checked(vectors, dim))
        stored = 0
        for start in range(0, len(jobs), BULK_ROWS):
            part = slice(start, start + BULK_ROWS)
            stored += await self._write(
                partial(
                    coding.add, model=name, jobs=jobs[part], codes=codes[part], scale=scale[part]
                )
            )
        return stored

    async def embedding_backlog(self) -> int:
        """How many events await a vector."""
        return await self._read(coding.backlog)

    async def load_centre(self, model: str) -> Vectors | None:
        """The mean question vector kept for a model (shape (dim,)), or None."""
        return await self._read(lambda on: coding.load_centre(on, model))

    async def save_centre(self, model: str, centre: Vectors) -> None:
        """Keep the mean question vector of a model."""
        checked = coding.checked_vector(centre, len(centre), "of the centre")
        await self._write(lambda on: coding.save_centre(on, model, checked))


class SqliteStore(Events, Searching, Upkeep):
    """Everything a memory keeps, in one SQLite file; see `parts.Store` for every method.

    Two of them in one process share nothing; two processes may have the same file open.
    """
