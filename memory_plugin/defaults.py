"""The built-in plugin: every default is a hook implementation and answers last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from memory_plugin.context import Context, Material, compose
from memory_plugin.errors import EmbedderError
from memory_plugin.hookspecs import hookimpl
from memory_plugin.importance import score_importance as score_by_rules
from memory_plugin.parts import Embedder, Store, WordsOnly
from memory_plugin.settings import Settings
from memory_plugin.truncation import Budget, ImportanceWeighted, Truncated
from memory_plugin.types import Cue, PerceptionEvent

log = logging.getLogger(__name__)


class Defaults:
    """What happens when no other plugin has an opinion."""

    @hookimpl
    async def open_store(self, settings: Settings) -> Store:
        """One SQLite file."""
        # The parts that somebody else may supply are imported only when they are wanted.
        from memory_plugin.sqlite import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(
            settings.path, synchronous=settings.synchronous, cache_mb=settings.cache_mb
        )

    @hookimpl
    async def open_embedder(self, settings: Settings) -> Embedder | WordsOnly:
        """The model that is found first; without one, words only, unless a folder was named."""
        from memory_plugin.embedding import open_embedder  # noqa: PLC0415

        if settings.model == "none":
            return WordsOnly(reason="switched off by the setting model='none'")
        try:
            return await open_embedder(
                model_dir=settings.model_dir,
                cache_dir=settings.cache_dir(),
                allow_download=settings.allow_download,
            )
        except EmbedderError as fault:
            # A folder that the owner named and that does not work is a mistake to mend, not a
            # reason to run on in another way than was asked for.
            if settings.model_dir is not None:
                raise
            # Why stands in `status()`; a line for every start has to be short.
            log.warning("no model: recall is by words only; `memory-plugin doctor` says why")
            return WordsOnly(reason=str(fault))

    @hookimpl
    def score_importance(self, event: PerceptionEvent) -> int:
        """By rules, from what the text is like and whom it is for."""
        return score_by_rules(event)

    # Counting tokens and writing take milliseconds: too long for an event loop.

    @hookimpl
    async def truncate(
        self, events: Sequence[PerceptionEvent], budget: Budget, count: Callable[[str], int]
    ) -> Truncated:
        """By importance, addressing and age."""
        return await asyncio.to_thread(ImportanceWeighted().truncate, events, budget, count)

    @hookimpl
    def activate(self, event: PerceptionEvent) -> list[Cue]:
        """What was said brings back what is like it; who says nothing brings back themselves."""
        if event.content.strip():
            return [Cue(text=event.content)]
        return [Cue(entity_id=event.source.entity_id)]

    @hookimpl
    async def render_context(
        self, material: Material, budget_tokens: int, count: Callable[[str], int]
    ) -> Context:
        """Five tiers in one budget."""
        return await asyncio.to_thread(compose, material, budget_tokens=budget_tokens, count=count)
