"""From a question to hits: embed, search, rank, then what plugins say, then the limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from memory_plugin._dispatch import SKIPPED, Dispatch
from memory_plugin.embedding.centre import question_centre
from memory_plugin.errors import EmbedderError, MemoryPluginError, StoreError, ValidationError
from memory_plugin.indexing import vectors_of
from memory_plugin.parts import Candidates, Embedder, Store, Vectors
from memory_plugin.recall import Ranked, parse_query, rank, rank_person
from memory_plugin.text import query_terms
from memory_plugin.types import Hit, PerceptionEvent, Scope, checked_text, checked_time
from memory_plugin.visibility import shelves_for, shelves_of

log = logging.getLogger(__name__)

# Ranking more rows than this takes longer than an event loop should be held.
RANK_ON_LOOP = 4_000
LONGEST_QUERY = 2_000


class Searcher:
    """Recalls events for a scope."""

    def __init__(
        self,
        dispatch: Dispatch,
        store: Store,
        embedder: Embedder | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._dispatch = dispatch
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._centre: Vectors | None = None
        self._centring = asyncio.Lock()
        # Why the last query was looked up by its words only; None while meaning works.
        self.model_fault: str | None = None
        self._chained = bool(dispatch.implementations("recall"))
        self._tightened = bool(dispatch.implementations("visible"))

    async def recall(
        self,
        query: str | None,
        scope: Scope,
        *,
        limit: int,
        budget_tokens: int | None,
        count: Callable[[str], int],
        min_score: float,
        now: datetime | None,
    ) -> list[Hit]:
        """The best hits, best first; see `Memory.recall`."""
        if query is not None:
            checked_text("query", query)
        if now is None:
            now = self._clock()
        checked_time("now", now)
        if limit < 1:
            return []
        # Plugins may drop some, so they are shown more than is asked for.
        wanted = limit * 3 + 10 if self._chained or self._tightened else limit
        ranked = await self._ranked(query, scope, now, wanted)
        hits = await self._hits(ranked)
        if self._chained:
            hits = await self._dispatch.chain(
                "recall", "hits", tuple(hits), _as_hits, query=query, scope=scope
            )
        hits = [hit for hit in hits if hit.score >= min_score]
        # What the store found is visible already; only plugins can have changed that.
        if self._chained or self._tightened:
            allowed = await self._allowed([hit.event for hit in hits], scope)
            hits = [hit for hit in hits if hit.event.id in allowed]
        return _cut(hits, limit, budget_tokens, count)

    async def may_be_shown(
        self, events: Sequence[PerceptionEvent], scope: Scope
    ) -> list[PerceptionEvent]:
        """Those events that the built-in rule and every plugin let pass, in the order given."""
        allowed = await self._allowed(events, scope)
        return [event for event in events if event.id in allowed]

    async def _ranked(
        self, query: str | None, scope: Scope, now: datetime, wanted: int
    ) -> list[Ranked]:
        if query is not None:
            # A message of a megabyte may be stored, but nobody asks at such length.
            query = query[:LONGEST_QUERY]
        if query is None or not query.strip():
            found = await self._store.search(scope, (), None)
            return await _off_loop(found, lambda: rank_person(found, now=now, limit=wanted))
        vector = await self._query_vector(query)
        found = await self._store.search(scope, query_terms(query), vector)
        parsed = parse_query(query, now)
        return await _off_loop(found, lambda: rank(found, parsed, now=now, limit=wanted))

    async def _query_vector(self, query: str) -> Vectors | None:
        """The query's vector; None without a model, and when the model fails: words still work."""
        if self._embedder is None:
            return None
        try:
            async with self._centring:
                if self._centre is None:
                    self._centre = await self._load_centre(self._embedder)
            found = await vectors_of(self._embedder, [query], "query")
        except EmbedderError as fault:
            if self.model_fault is None:
                log.exception("the model failed; queries are looked up by words only")
            self.model_fault = str(fault)
            return None
        self.model_fault = None
        vector: Vectors = found[0] - self._centre
        return vector

    async def _load_centre(self, embedder: Embedder) -> Vectors:
        """What all questions have in common, so that it can be left out of each."""
        kept = await self._store.load_centre(embedder.name)
        if kept is None:
            try:
                kept = await question_centre(embedder)
            except MemoryPluginError:
                raise
            except Exception as fault:
                raise EmbedderError(f"the embedder {embedder.name} failed: {fault!r}") from fault
            try:
                await self._store.save_centre(embedder.name, kept)
            except StoreError:
                # It is computed anew next time; reading must not depend on writing.
                log.warning("the mean question vector could not be kept", exc_info=True)
        return kept

    async def _hits(self, ranked: Sequence[Ranked]) -> list[Hit]:
        events = await self._store.fetch([one.seq for one in ranked])
        if len(events) == len(ranked):
            pairs = list(zip(ranked, events, strict=True))
        else:
            # Some were erased since the search; ask one by one which are left.
            alone = [(one, await self._store.fetch([one.seq])) for one in ranked]
            pairs = [(one, found[0]) for one, found in alone if found]
        return [Hit(event=event, score=one.score, parts=one.parts) for one, event in pairs]

    async def _allowed(self, events: Sequence[PerceptionEvent], scope: Scope) -> set[str]:
        present = (
            scope.audience
            if scope.place is None
            else (
                *scope.place.participants,
                *scope.audience,
            )
        )
        followed = await self._store.followed(present) if present else frozenset()
        shelves = set(shelves_for(scope, followed))
        allowed = set()
        for event in events:
            if shelves.isdisjoint(shelves_of(event)):
                continue
            if self._tightened and not await self._agreed(event, scope):
                continue
            allowed.add(event.id)
        return allowed

    async def _agreed(self, event: PerceptionEvent, scope: Scope) -> bool:
        answers = await self._dispatch.each("visible", _as_bool, event=event, scope=scope)
        # An implementation that failed could have said no.
        return all(answer is not SKIPPED and answer is not False for answer in answers)


async def _off_loop(found: Candidates, work: Callable[[], list[Ranked]]) -> list[Ranked]:
    return work() if len(found) <= RANK_ON_LOOP else await asyncio.to_thread(work)


def _as_bool(answer: Any) -> bool:
    if not isinstance(answer, bool):
        raise ValidationError("visible", answer, "must be True, False or None")
    return answer


def _as_hits(answer: Any) -> tuple[Hit, ...]:
    hits = tuple(answer)
    if not all(isinstance(one, Hit) for one in hits):
        raise ValidationError("recall", answer, "must be a sequence of Hit")
    if len({one.event.id for one in hits}) < len(hits):
        raise ValidationError("recall", len(hits), "holds an event twice")
    return hits


def _cut(
    hits: Sequence[Hit], limit: int, budget_tokens: int | None, count: Callable[[str], int]
) -> list[Hit]:
    """The first `limit` hits that fit the budget; a long one is passed over for a shorter."""
    if budget_tokens is None:
        return list(hits[:limit])
    chosen: list[Hit] = []
    left = budget_tokens
    for hit in hits:
        cost = count(f"{hit.event.source.entity_name}: {hit.event.content}")
        if cost <= left and len(chosen) < limit:
            chosen.append(hit)
            left -= cost
    return chosen
