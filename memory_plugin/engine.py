"""The one object an adapter holds: a memory that is opened, used and closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from memory_plugin._dispatch import Dispatch
from memory_plugin._plugins import HOOKS, load_plugins
from memory_plugin.briefing import Briefing
from memory_plugin.context import Context
from memory_plugin.defaults import Defaults
from memory_plugin.errands import Errands
from memory_plugin.errors import (
    ClosedError,
    EmbedderError,
    MemoryPluginError,
    PluginError,
    ValidationError,
)
from memory_plugin.indexing import Indexer, Progress
from memory_plugin.intake import Intake
from memory_plugin.parts import (
    Acquaintance,
    Added,
    Embedder,
    Erased,
    Selection,
    Statistics,
    Store,
    WordsOnly,
)
from memory_plugin.searching import Searcher
from memory_plugin.settings import Settings
from memory_plugin.streams import Windows
from memory_plugin.text import estimate_tokens
from memory_plugin.types import (
    EventType,
    Hit,
    PerceptionEvent,
    Place,
    Scope,
    Source,
    checked_id,
    utc_now,
)

log = logging.getLogger(__name__)

BULK = 500
CLOSE_S = 10.0
SETTLE_S = 2.0
T = TypeVar("T")


class Memory:
    """What agents perceived, and how it comes back.

    Open it with ``async with await Memory.open(settings) as memory``; all methods belong to the
    event loop it was opened in, except `perceive_soon`, which any thread may call. After `close`
    every method raises `ClosedError`.
    """

    def __init__(
        self,
        settings: Settings,
        dispatch: Dispatch,
        store: Store,
        embedder: Embedder | WordsOnly,
        clock: Callable[[], datetime],
    ) -> None:
        self.settings = settings
        self._dispatch = dispatch
        self._store = store
        self._clock = clock
        self._embedder = None if isinstance(embedder, WordsOnly) else embedder
        self._words_only = embedder.reason if isinstance(embedder, WordsOnly) else None
        self._windows = Windows(
            store,
            messages=settings.window_messages,
            actions=settings.window_actions,
            places=settings.windows,
        )
        self._errands = Errands()
        self._intake = Intake(dispatch, store, self._errands, self._stored)
        self._indexer = Indexer(store, self._embedder) if self._embedder is not None else None
        self._searcher = Searcher(dispatch, store, self._embedder, clock)
        self._briefing = Briefing(
            dispatch=dispatch,
            store=store,
            searcher=self._searcher,
            windows=self._windows,
            errands=self._errands,
            count=self.count_tokens,
        )
        self._closed = False
        self._closing: asyncio.Task[None] | None = None
        # What must be finished once it has begun, even if who asked for it gives up.
        self._held: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(
        cls,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        plugins: Sequence[object] = (),
        clock: Callable[[], datetime] = utc_now,
    ) -> Self:
        """Open a memory: load the plugins, then the store, then the model.

        `plugins` are plugin objects that have the first word; `clock` gives the time, aware.
        Raises `SettingsError`, `PluginError`, `StoreError` or `EmbedderError`; nothing stays open
        then.
        """
        if not isinstance(settings, Settings):
            settings = Settings.from_mapping(settings or {})
        builtin = Defaults()
        manager = load_plugins(settings, builtin, plugins)
        dispatch = Dispatch(manager, builtin, settings.hook_timeout_s)
        store = await dispatch.part("open_store", settings=settings)
        if not isinstance(store, Store):
            raise PluginError(f"open_store gave {type(store).__name__}, which is not a Store")
        embedder: Embedder | WordsOnly | None = None
        try:
            embedder = _checked(await dispatch.part("open_embedder", settings=settings))
            if isinstance(embedder, Embedder):
                waiting = await store.use_model(embedder.name, embedder.dim)
                log.info("model %s; %d events await a vector", embedder.name, waiting)
            return cls(settings, dispatch, store, embedder, clock)
        except BaseException:
            if isinstance(embedder, Embedder):
                await embedder.close()
            await store.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _open_store(self) -> Store:
        if self._closed:
            raise ClosedError("the memory is closed")
        return self._store

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's tokenizer; an estimate when there is no model."""
        if self._embedder is None:
            return estimate_tokens(text)
        try:
            return self._embedder.count_tokens(text)
        except MemoryPluginError:
            raise
        except Exception as fault:
            raise EmbedderError(f"{self._embedder.name} cannot count tokens: {fault!r}") from fault

    # In -------------------------------------------------------------------------------------

    async def perceive(self, event: PerceptionEvent) -> str | None:
        """Store one event; when this returns, a killed process does not lose it.

        Answers the id under which it stands: its own, or that of the event that was there first
        with the same external id. None if a plugin dropped it or it was deleted before.
        """
        self._open_store()
        return (await self._intake.add([event]))[0].id

    async def perceive_many(self, events: Iterable[PerceptionEvent]) -> list[Added]:
        """Store many events, a few hundred to a commit; one answer each, in order."""
        self._open_store()
        answers: list[Added] = []
        rest = iter(events)
        while batch := list(islice(rest, BULK)):
            answers += await self._intake.add(batch)
        return answers

    def perceive_soon(self, event: PerceptionEvent) -> None:
        """Take an event and return at once, from any thread; it is stored shortly, in order.

        For hosts that cannot wait. `flush` waits until it is durable; `close` flushes too.
        """
        if self._closed:
            raise ClosedError("the memory is closed")
        self._intake.soon(event)

    async def flush(self) -> None:
        """Wait until everything taken by `perceive_soon` is durable and its news is told."""
        self._open_store()
        await self._intake.flush()
        await self._errands.finish()

    async def edit(
        self,
        agent_id: str,
        external_id: str,
        content: str,
        edited_at: datetime,
        narrative_text: str | None = None,
    ) -> bool:
        """Replace an event's text, its words and its vector; False if a newer edit was there."""
        store = self._open_store()
        await self._settle()
        done = await store.edit(agent_id, external_id, content, edited_at, narrative_text)
        self._windows.note_edit(agent_id, external_id)
        self._wake_indexer()
        return done

    async def delete(self, agent_id: str, external_ids: Sequence[str]) -> int:
        """Remove events the platform deleted, also ones that have not come yet.

        Answers how many were there.
        """
        self._open_store()
        if isinstance(external_ids, str):
            raise ValidationError("external_ids", external_ids, "must be a list of ids")
        return await self._finished(self._delete(agent_id, tuple(external_ids)))

    async def _delete(self, agent_id: str, external_ids: Sequence[str]) -> int:
        await self._settle()
        ids = await self._store.delete(agent_id, external_ids)
        self._windows.drop(ids)
        for one in ids:
            self._tell_forgotten(
                Selection(agent_id=agent_id, event_id=one), Erased(events=1, vectors=0, ids=(one,))
            )
        return len(ids)

    async def _settle(self) -> None:
        """Give what `perceive_soon` took a moment to be stored before it is changed or removed."""
        if not await self._intake.flush(SETTLE_S):
            log.warning("%d events could not be stored yet", self._intake.waiting)

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """Do a piece of work to its end, even if the caller is cancelled."""
        task = asyncio.create_task(work)
        self._held.add(task)
        task.add_done_callback(self._held.discard)
        return await asyncio.shield(task)

    def _tell_forgotten(self, selection: Selection, erased: Erased) -> None:
        # Behind the news of the events themselves: who keeps copies must hear of them first.
        self._errands.add(
            partial(self._dispatch.each, "forgotten", selection=selection, erased=erased)
        )

    def _stored(self, events: Sequence[PerceptionEvent], answers: Sequence[Added]) -> None:
        for event, answer in zip(events, answers, strict=True):
            if answer.status == "stored":
                self._windows.note(event)
        self._wake_indexer()

    def _wake_indexer(self) -> None:
        if self._indexer is not None:
            self._indexer.wake()

    # Out ------------------------------------------------------------------------------------

    async def history(
        self,
        agent_id: str,
        place: Place | str | None = None,
        *,
        entity_id: str | None = None,
        event_types: Sequence[EventType] | None = None,
        limit: int = 50,
        before: datetime | str | None = None,
        since: datetime | None = None,
    ) -> list[PerceptionEvent]:
        """The newest events at a place, by an author, or both; oldest first.

        `before` is a time or the id of an event: page back with the id of the oldest one seen.
        """
        return await self._open_store().history(
            agent_id,
            place_key=_key_of(place),
            entity_id=entity_id,
            event_types=event_types,
            limit=limit,
            before=before,
            since=since,
        )

    async def recall(
        self,
        query: str | None,
        scope: Scope,
        *,
        limit: int = 10,
        budget_tokens: int | None = None,
        min_score: float = 0.0,
        now: datetime | None = None,
    ) -> list[Hit]:
        """The past events worth having now, best first.

        `query` None recalls by person alone: `scope.entities`, or all that may be seen. At most
        `limit` hits, and no more text than `budget_tokens`. `now` is the asker's clock, with
        their own UTC offset: "yesterday" in the query means their yesterday.
        """
        self._open_store()
        if not isinstance(scope, Scope):
            raise ValidationError("scope", scope, "must be a Scope")
        return await self._searcher.recall(
            query,
            scope,
            limit=limit,
            budget_tokens=budget_tokens,
            count=self.count_tokens,
            min_score=min_score,
            now=now,
        )

    async def window(self, agent_id: str, place: Place | str) -> list[PerceptionEvent]:
        """The newest messages and actions at a place, oldest first."""
        self._open_store()
        return await self._windows.get(agent_id, _key_of(place) or "")

    async def build_context(
        self,
        agent_id: str,
        place: Place,
        *,
        event: PerceptionEvent | None = None,
        query: str | None = None,
        speaker: Source | None = None,
        audience: Sequence[str] = (),
        identity: str = "",
        agent_name: str = "",
        budget_tokens: int | None = None,
        now: datetime | None = None,
    ) -> Context:
        """What the agent should have in mind here and now, within one token budget.

        `event` is what it reacts to; without one, `query` and `speaker` say what about and with
        whom. `audience` names who else is present: only what all of them could have perceived
        comes back.
        """
        self._open_store()
        for name, value, kind in (
            ("place", place, Place),
            ("event", event, PerceptionEvent | None),
            ("speaker", speaker, Source | None),
            ("budget_tokens", budget_tokens, int | None),
        ):
            if not isinstance(value, kind):
                raise ValidationError(name, value, "is of the wrong type")
        return await self._briefing.build(
            agent_id,
            place,
            event=event,
            query=query,
            speaker=speaker,
            audience=_as_ids(audience),
            identity=identity,
            agent_name=agent_name,
            budget_tokens=self.settings.context_tokens if budget_tokens is None else budget_tokens,
            now=now or self._clock(),
        )

    async def why(self, agent_id: str, place: Place | str) -> str | None:
        """Why the last context at a place held what it held, in words; None if there was none."""
        self._open_store()
        return await self._briefing.why(agent_id, _key_of(place) or "")

    async def respond(self, context: Context, event: PerceptionEvent) -> str | None:
        """The first plugin's answer to an event, or None if none has one."""
        self._open_store()
        for impl in self._dispatch.implementations("respond"):
            answer = await self._dispatch.ask(
                impl, {"context": context, "event": event}, limited=False
            )
            if isinstance(answer, str):
                return answer
        return None

    # What owners and people may ask -----------------------------------------------------------

    async def agents(self) -> list[str]:
        """The agents that have events, sorted."""
        return await self._open_store().agents()

    async def statistics(
        self, agent_id: str | None = None, place: Place | str | None = None
    ) -> Statistics:
        """Counts, busiest people and places, activity by hour, weekday and day (UTC)."""
        return await self._open_store().statistics(agent_id, _key_of(place))

    async def acquaintance(self, agent_id: str, entity_id: str) -> Acquaintance | None:
        """What all events say about one person: names, first and last seen, counts.

        The owner's view; a context counts only what may be shown where it is built.
        """
        scope = Scope(agent_id=agent_id, everything=True)
        return await self._open_store().acquaintance(scope, entity_id)

    async def follow(self, entity_id: str, *, wanted: bool) -> None:
        """A person's own wish that their public lines be remembered in other spaces too."""
        await self._open_store().set_followed(entity_id, followed=wanted)

    async def forget(self, selection: Selection) -> Erased:
        """Erase events with all their traces; a replay of them is refused from then on."""
        self._open_store()
        if not isinstance(selection, Selection):
            raise ValidationError("selection", selection, "must be a Selection")
        return await self._finished(self._forget(selection))

    async def _forget(self, selection: Selection) -> Erased:
        await self._settle()
        self._intake.discard(selection.matches)
        erased = await self._store.erase(selection)
        self._windows.drop(erased.ids)
        self._tell_forgotten(selection, erased)
        await self._errands.finish(self.settings.hook_timeout_s)
        return erased

    async def export(
        self, selection: Selection, after: int = 0, limit: int = 1000
    ) -> tuple[list[PerceptionEvent], int]:
        """One page of the selected events in order of arrival, and where the next one begins.

        The last page is empty.
        """
        return await self._open_store().export(selection, after, limit)

    async def embed_pending(self, on_progress: Progress | None = None) -> int:
        """Embed everything that awaits a vector now; answers how many were embedded."""
        self._open_store()
        return 0 if self._indexer is None else await self._indexer.catch_up(on_progress)

    async def check(self) -> list[str]:
        """What is wrong with the stored data, in sentences; empty when all is well."""
        return await self._open_store().check()

    async def repair(self) -> list[str]:
        """Rebuild what can be rebuilt; what was done, in sentences."""
        return await self._open_store().repair()

    async def backup(self, target: Path) -> None:
        """A consistent copy of the store while everything goes on."""
        await self._open_store().backup(target)

    async def status(self) -> dict[str, Any]:
        """How this memory is running: nothing that is degraded stays unsaid here."""
        store = self._open_store()
        kept = dict(await store.status())
        fault = self._words_only or self._searcher.model_fault
        if self._embedder is not None and kept.get("model") != self._embedder.name:
            fault = f"the vectors in the file are of another model ({kept.get('model')})"
        return {
            "mode": "words and meaning" if fault is None else "words only",
            "words_only_because": fault,
            "store": kept,
            "embedder": None if self._embedder is None else dict(self._embedder.status()),
            "indexing": None if self._indexer is None else self._indexer.status(),
            "awaiting_vectors": await store.embedding_backlog(),
            "awaiting_storage": self._intake.waiting,
            "refused_events": self._intake.refused,
            "awaiting_news": len(self._errands),
            "dropped_news": self._errands.dropped,
            "plugins": self._dispatch.plugins(HOOKS),
        }

    async def close(self) -> None:
        """Take nothing more, store what was taken, let go of model and file. Safe to call twice."""
        if self._closing is None:
            self._closed = True
            self._closing = asyncio.create_task(self._close(), name="memory-plugin close")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        async with AsyncExitStack() as last_first:
            last_first.push_async_callback(self._store.close)
            if self._embedder is not None:
                last_first.push_async_callback(self._embedder.close)
            if self._indexer is not None:
                last_first.push_async_callback(self._indexer.close)
            last_first.push_async_callback(self._close_queues)
            await asyncio.gather(*self._held, return_exceptions=True)

    async def _close_queues(self) -> None:
        lost = await self._intake.close(CLOSE_S)
        if lost:
            log.error("closed with %d events not stored", lost)
        untold = await self._errands.close(CLOSE_S)
        if untold:
            log.warning("closed with %d pieces of news untold", untold)


def _key_of(place: Place | str | None) -> str | None:
    if isinstance(place, Place):
        return place.key
    return None if place is None else checked_id("place", place)


def _as_ids(ids: Sequence[str]) -> tuple[str, ...]:
    if isinstance(ids, str):
        raise ValidationError("audience", ids, "must be a list of ids")
    return tuple(ids)


def _checked(embedder: object) -> Embedder | WordsOnly:
    if isinstance(embedder, Embedder | WordsOnly):
        return embedder
    raise PluginError(f"open_embedder gave {type(embedder).__name__}, which is not an Embedder")
