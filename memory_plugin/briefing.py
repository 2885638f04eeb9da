"""Gathering what a context is made of: window, person, memories, and what was missed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memory_plugin._dispatch import SKIPPED, Dispatch
from memory_plugin.context import Context, Material, explain
from memory_plugin.errands import Errands
from memory_plugin.errors import ValidationError
from memory_plugin.parts import Store
from memory_plugin.searching import Searcher
from memory_plugin.streams import Windows
from memory_plugin.truncation import Budget, Truncated
from memory_plugin.types import Cue, Hit, PerceptionEvent, Place, Scope, Source

# The recent conversation may take this share of the budget; what it leaves goes to the memories.
WINDOW_SHARE = 0.5
MEMORIES = 12
# Below this a hit is about as likely noise as memory.
MIN_SCORE = 0.05
# Somebody who was silent for longer than this has been away.
AWAY = timedelta(hours=1)
MISSED_LOOKED_AT = 200
MISSED = 10
# How long `why` waits for the trace of a context that was just built.
WHY_WAITS_S = 1.0


class Briefing:
    """Builds contexts and explains them."""

    def __init__(
        self,
        *,
        dispatch: Dispatch,
        store: Store,
        searcher: Searcher,
        windows: Windows,
        errands: Errands,
        count: Callable[[str], int],
    ) -> None:
        self._dispatch = dispatch
        self._store = store
        self._searcher = searcher
        self._windows = windows
        self._errands = errands
        self._count = count

    async def build(
        self,
        agent_id: str,
        place: Place,
        *,
        event: PerceptionEvent | None,
        query: str | None,
        speaker: Source | None,
        audience: tuple[str, ...],
        identity: str,
        agent_name: str,
        budget_tokens: int,
        now: datetime,
    ) -> Context:
        """See `Memory.build_context`."""
        if budget_tokens < 1:
            raise ValidationError("budget_tokens", budget_tokens, "must be above zero")
        if speaker is None and event is not None and event.event_type == "external":
            speaker = event.source
        present = set(audience) | ({speaker.entity_id} if speaker is not None else set())
        scope = Scope(agent_id=agent_id, place=place, audience=tuple(sorted(present)))
        window = await self._searcher.may_be_shown(
            await self._windows.get(agent_id, place.key), scope
        )
        kept = await self._truncated(window, int(budget_tokens * WINDOW_SHARE))
        cues = await self._cues(event, query, window)
        material = Material(
            agent_id=agent_id,
            agent_name=agent_name,
            identity=identity,
            place=place,
            speaker=speaker,
            now=now,
            acquaintance=None
            if speaker is None
            else await self._store.acquaintance(scope, speaker.entity_id),
            window=kept,
            hits=await self._memories(cues, scope, window, now),
            missed=await self._missed(scope, speaker, event, now),
        )
        context = await self._rendered(material, budget_tokens)
        # An errand, so that reading does not wait for a writer or fail with a full disk.
        self._errands.add(partial(self._save_trace, agent_id, place.key, context.trace))
        if kept.dropped:
            self._errands.add(
                lambda: self._dispatch.each(
                    "truncated", agent_id=agent_id, place=place, events=kept.dropped
                )
            )
        return context

    async def _save_trace(self, agent_id: str, place_key: str, trace: Mapping[str, Any]) -> None:
        ids = sorted(_ids_in(trace))
        if len(await self._store.get(ids)) < len(ids):
            # Something was erased meanwhile; what names it must not be written after it.
            return
        await self._store.save_trace(agent_id, place_key, trace)

    async def _truncated(self, window: Sequence[PerceptionEvent], tokens: int) -> Truncated:
        def fits(answer: Any) -> Truncated:
            if not isinstance(answer, Truncated) or not all(
                isinstance(one, PerceptionEvent) for one in (*answer.kept, *answer.dropped)
            ):
                raise ValidationError("truncate", answer, "must be a Truncated of events")
            return answer

        budget = Budget(tokens=max(tokens, 1))
        answer: Truncated = await self._dispatch.first(
            "truncate", fits, events=window, budget=budget, count=self._count
        )
        return answer

    async def _cues(
        self, event: PerceptionEvent | None, query: str | None, window: Sequence[PerceptionEvent]
    ) -> list[Cue]:
        if query is not None:
            return [Cue(text=query)]
        if event is None:
            heard = [one for one in window if one.event_type == "external"]
            if not heard:
                return []
            event = heard[-1]
        answers = await self._dispatch.each("activate", _as_cues, event=event)
        cues = [cue for answer in answers if answer is not SKIPPED for cue in answer]
        return list(dict.fromkeys(cues))

    async def _memories(
        self,
        cues: Sequence[Cue],
        scope: Scope,
        window: Sequence[PerceptionEvent],
        now: datetime,
    ) -> list[Hit]:
        """The best hits of all cues, each event once, without what the window shows already."""
        shown = {event.id for event in window}
        best: dict[str, Hit] = {}
        for cue in cues:
            for hit in await self._searcher.recall(
                cue.text,
                scope if cue.entity_id is None else replace(scope, entities=(cue.entity_id,)),
                limit=MEMORIES + len(shown),
                budget_tokens=None,
                count=self._count,
                min_score=MIN_SCORE,
                now=now,
            ):
                known = best.get(hit.event.id)
                if hit.event.id not in shown and (known is None or known.score < hit.score):
                    best[hit.event.id] = hit
        ordered = sorted(best.values(), key=lambda hit: (-hit.score, hit.event.id))
        return ordered[:MEMORIES]

    async def _missed(
        self,
        scope: Scope,
        speaker: Source | None,
        event: PerceptionEvent | None,
        now: datetime,
    ) -> list[PerceptionEvent]:
        """The most important that happened at the place since the speaker was last there."""
        if speaker is None or scope.place is None:
            return []
        agent_id, key = scope.agent_id, scope.place.key
        before = now if event is None else event.timestamp
        last = await self._store.history(
            agent_id, place_key=key, entity_id=speaker.entity_id, limit=1, before=before
        )
        if not last or before - last[0].timestamp < AWAY:
            return []
        since = await self._store.history(
            agent_id,
            place_key=key,
            limit=MISSED_LOOKED_AT,
            before=before,
            since=last[0].timestamp + timedelta(microseconds=1),
        )
        others = [one for one in since if one.source.entity_id != speaker.entity_id]
        allowed = await self._searcher.may_be_shown(others, scope)
        allowed.sort(key=lambda one: (-(one.importance or 0), one.timestamp, one.id))
        return sorted(allowed[:MISSED], key=lambda one: (one.timestamp, one.id))

    async def _rendered(self, material: Material, budget_tokens: int) -> Context:
        def fits(answer: Any) -> Context:
            if not isinstance(answer, Context):
                raise ValidationError("render_context", answer, "must be a Context")
            if not isinstance(answer.trace, Mapping):
                raise ValidationError(
                    "render_context", answer.trace, "must have an object as trace"
                )
            json.dumps(dict(answer.trace), allow_nan=False)
            return answer

        context: Context = await self._dispatch.first(
            "render_context",
            fits,
            material=material,
            budget_tokens=budget_tokens,
            count=self._count,
        )
        return context

    async def why(self, agent_id: str, place_key: str) -> str | None:
        """The last trace of a place in words, with the texts of events that still exist."""
        await self._errands.finish(WHY_WAITS_S)
        trace = await self._store.last_trace(agent_id, place_key)
        if trace is None:
            return None
        ids = sorted(_ids_in(trace))
        events = await self._store.get(ids)
        return explain(trace, {event.id: event for event in events})


def _as_cues(answer: Any) -> tuple[Cue, ...]:
    cues = tuple(answer)
    if not all(isinstance(one, Cue) for one in cues):
        raise ValidationError("activate", answer, "must be a sequence of Cue")
    return cues


def _ids_in(value: Any) -> set[str]:
    """Every text under a key ``id`` anywhere in a trace."""
    if isinstance(value, dict):
        here = {value["id"]} if isinstance(value.get("id"), str) else set()
        return here.union(*(_ids_in(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(_ids_in(item) for item in value))
    return set()
