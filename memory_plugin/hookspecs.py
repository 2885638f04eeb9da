"""The doors: every decision that another package may take differently.

A hook's docstring is its reference page. An implementation takes only the arguments it uses, may
be a plain or an async function, and answers None for "no opinion". A plain function runs on the
event loop, so it must be quick; whatever waits (network, a model, a disk) belongs in an async one.
Wrappers are not supported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import pluggy

from memory_plugin.context import Context, Material
from memory_plugin.parts import Embedder, Erased, Selection, Store, WordsOnly
from memory_plugin.settings import Settings
from memory_plugin.truncation import Budget, Truncated
from memory_plugin.types import Cue, Hit, PerceptionEvent, Place, Scope

PROJECT: Final = "memory_plugin"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Drop:
    """The answer of a `perceive` hook that wants an event not to be stored."""


DROP: Final = Drop()


@hookspec(firstresult=True)
def open_store(settings: Settings) -> Store | Awaitable[Store | None] | None:
    """Open the store that keeps everything; a part, asked once when a memory opens.

    Arguments:
        settings: all settings; `settings.path` is the file of the default store.

    Answer: a `memory_plugin.parts.Store`, already open. None leaves it to the next plugin; the
    default opens a SQLite file.

    Failing: an exception stops the start with a `PluginError` that names the plugin.

    Example:
        @hookimpl
        async def open_store(settings):
            return await MyStore.open("host=db")
    """


@hookspec(firstresult=True)
def open_embedder(
    settings: Settings,
) -> Embedder | WordsOnly | Awaitable[Embedder | WordsOnly | None] | None:
    """Open the model that turns text into vectors; a part, asked once when a memory opens.

    Arguments:
        settings: all settings; `model`, `model_dir`, `model_cache` and `allow_download` concern
            the default.

    Answer: a `memory_plugin.parts.Embedder`, or `WordsOnly(reason=...)` to recall by words alone.
    None leaves it to the next plugin. The `name` and `dim` of the embedder are stored with its
    vectors; when they change, every event gets a new vector in the background.

    Failing: an exception stops the start with a `PluginError` that names the plugin.

    Example:
        @hookimpl
        def open_embedder(settings):
            return HashingEmbedder(dim=256)
    """


@hookspec
def perceive(
    event: PerceptionEvent,
) -> PerceptionEvent | Drop | Awaitable[PerceptionEvent | Drop | None] | None:
    """Change or drop an event before it is stored; chained, each sees what the last one made.

    Arguments:
        event: what is about to be stored. It is frozen: use `dataclasses.replace`.

    Answer: another `PerceptionEvent` to store in its place (same `agent_id`), `DROP` to store
    nothing, None to leave it as it is.

    Failing: an exception or a time-out is logged with the plugin's name and counted; the event
    goes on as it was.

    Example:
        @hookimpl
        def perceive(event):
            if "password:" in event.content:
                return DROP
    """


@hookspec(firstresult=True)
def score_importance(event: PerceptionEvent) -> int | Awaitable[int | None] | None:
    """Say how much an event matters, 1 (noise) to 10; the first answer counts.

    Asked only when the host gave no importance. An async implementation never delays storing: the
    event is stored with the rule-based score and mended when the answer comes.

    Arguments:
        event: the event; its `importance` is None.

    Answer: a whole number from 1 to 10, or None for no opinion. The default scores by rules (is
    the agent addressed, is it a question, names, numbers, first person, length).

    Failing: an exception, a time-out or a number out of range is logged and counted; the next
    scorer is asked.

    Example:
        @hookimpl
        def score_importance(event):
            return 9 if "fire" in event.content else None
    """


@hookspec
def recall(
    query: str | None, scope: Scope, hits: Sequence[Hit]
) -> Sequence[Hit] | Awaitable[Sequence[Hit] | None] | None:
    """Add, drop or re-rank what was recalled; chained, each sees what the last one made.

    Arguments:
        query: the text asked for, or None for a recall by person alone.
        scope: who asks, where the answer is shown, and the filters.
        hits: best first. There may be more of them than will be answered in the end.

    Answer: a new sequence of hits, best first, or None to leave it as it is. Every hit that comes
    out is checked again for visibility: a hook cannot show what the scope may not see.

    Failing: an exception or a time-out is logged and counted; the hits go on as they were.

    Example:
        @hookimpl
        def recall(hits):
            return [hit for hit in hits if hit.score > 0.3]
    """


@hookspec(firstresult=True)
def truncate(
    events: Sequence[PerceptionEvent], budget: Budget, count: Callable[[str], int]
) -> Truncated | Awaitable[Truncated | None] | None:
    """Choose which events of a window fit a budget; the first answer counts.

    Arguments:
        events: a window, oldest first.
        budget: the most events and tokens that may stay; None in either means no limit.
        count: gives the number of tokens of a text.

    Answer: a `Truncated`. It shortens a view and never deletes anything. The default weighs
    importance, addressing and age and keeps what belongs together.

    Failing: an exception or a time-out is logged and counted; the next plugin is asked.

    Example:
        @hookimpl
        def truncate(events, budget, count):
            return Fifo().truncate(events, budget, count)
    """


@hookspec
def visible(event: PerceptionEvent, scope: Scope) -> bool | Awaitable[bool | None] | None:
    """Forbid that an event is shown; all must agree, so this can only tighten the rule.

    Asked for every event that recall or a context would show, after the built-in rule has let it
    pass. The counts and dates that a context tells about a person follow the built-in rule alone:
    they may still count an event that this hook hides.

    Arguments:
        event: the event that would be shown.
        scope: where, and to whom.

    Answer: False to hide it; True or None to let it pass.

    Failing: an exception or a time-out is logged and counted, and the event is hidden.

    Example:
        @hookimpl
        def visible(event, scope):
            return event.metadata.get("secret") is None
    """


@hookspec
def activate(event: PerceptionEvent) -> Sequence[Cue] | Awaitable[Sequence[Cue] | None] | None:
    """Say what an event should bring back to mind; all answers are gathered.

    Asked when a context is built for an event: somebody arrives, somebody is mentioned.

    Arguments:
        event: the event that the agent is about to react to.

    Answer: cues, each a text or an entity id to recall; None or an empty list for nothing. The
    default gives the event's own text, and its author when it says nothing.

    Failing: an exception or a time-out is logged and counted; its cues are missing.

    Example:
        @hookimpl
        def activate(event):
            if event.metadata.get("move") == "arrive":
                return [Cue(entity_id=event.source.entity_id)]
    """


@hookspec(firstresult=True)
def render_context(
    material: Material, budget_tokens: int, count: Callable[[str], int]
) -> Context | Awaitable[Context | None] | None:
    """Write the context for a language model; the first answer counts.

    Arguments:
        material: who speaks where, the window, the memories, what was missed.
        budget_tokens: the most tokens the text may have.
        count: gives the number of tokens of a text.

    Answer: a `Context` with both renderings and a trace; None leaves it to the next plugin.

    Failing: an exception or a time-out is logged and counted; the next plugin is asked.

    Example:
        @hookimpl
        def render_context(material, budget_tokens, count):
            return compose(material, budget_tokens=budget_tokens // 2, count=count)
    """


@hookspec(firstresult=True)
def respond(context: Context, event: PerceptionEvent) -> str | Awaitable[str | None] | None:
    """Answer an event; the first answer counts.

    Arguments:
        context: what the agent knows here and now, ready for a language model.
        event: what is to be answered.

    Answer: the text to say, or None to leave it to the next plugin. No time limit is set here:
    the caller holds one. Without any responder nothing is said.

    Failing: an exception is logged and counted; the next plugin is asked.

    Example:
        @hookimpl
        async def respond(context, event):
            return await my_model.chat(context.messages)
    """


@hookspec
def perceived(event: PerceptionEvent) -> Awaitable[None] | None:
    """News: an event was stored, or perceived again with a newer text.

    Called after the fact, in order; never delays storing. `Memory.edit` is not told: a plugin that
    keeps texts should read them from the memory when it needs them.

    Arguments:
        event: the event as it was stored.

    Answer: none; what is returned is ignored.

    Failing: an exception or a time-out is logged and counted.

    Example:
        @hookimpl
        async def perceived(event):
            await dashboard.push(event.source.entity_name)
    """


@hookspec
def truncated(
    agent_id: str, place: Place, events: Sequence[PerceptionEvent]
) -> Awaitable[None] | None:
    """News: these events left the view of a context. They are still stored.

    Arguments:
        agent_id: whose window it was.
        place: where.
        events: what was left out, oldest first.

    Answer: none; what is returned is ignored.

    Failing: an exception or a time-out is logged and counted.

    Example:
        @hookimpl
        async def truncated(agent_id, place, events):
            await summariser.offer(place, events)
    """


@hookspec
def forgotten(selection: Selection, erased: Erased) -> Awaitable[None] | None:
    """News: events were erased or deleted. Whoever keeps copies or summaries must drop them now.

    Arguments:
        selection: what was asked to be forgotten.
        erased: what was removed, with the event ids; a deletion counts no vectors.

    Answer: none; what is returned is ignored.

    Failing: an exception or a time-out is logged and counted.

    Example:
        @hookimpl
        def forgotten(erased):
            cache.drop(erased.ids)
    """
