"""What owners and people may ask of the store: `parts.UpkeepStore`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memory_plugin.errors import ValidationError
from memory_plugin.parts import Acquaintance, Erased, Selection, Statistics
from memory_plugin.sqlite import erasure, health, search, selecting, upkeep
from memory_plugin.sqlite.file import OpenFile
from memory_plugin.types import PerceptionEvent, Scope, checked_id


class Upkeep(OpenFile):
    """Numbers, traces, wishes, erasure, copies, health: `parts.UpkeepStore`."""

    async def acquaintance(self, scope: Scope, entity_id: str) -> Acquaintance | None:
        """What the events visible in `scope` say of an entity; None if they do not show it."""
        return await self._read(lambda on: upkeep.acquaintance(on, scope, entity_id))

    async def statistics(
        self, agent_id: str | None = None, place_key: str | None = None
    ) -> Statistics:
        """Counts, first and last, busiest people and places, activity over time."""
        return await self._keep(lambda on: upkeep.statistics(on, agent_id, place_key))

    async def agents(self) -> list[str]:
        """The agent ids that have events, sorted."""
        return await self._read(upkeep.agents)

    async def save_trace(self, agent_id: str, place_key: str, trace: Mapping[str, Any]) -> None:
        """Keep the trace of the last context built at a place (JSON values; ids, never text)."""
        try:
            body = json.dumps(trace, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as fault:
            raise ValidationError("trace", trace, f"must hold JSON values only: {fault}") from fault
        await self._write(lambda on: upkeep.save_trace(on, agent_id, place_key, body))

    async def last_trace(self, agent_id: str, place_key: str) -> Mapping[str, Any] | None:
        """The trace of the last context built at a place."""
        return await self._read(lambda on: upkeep.last_trace(on, agent_id, place_key))

    async def set_followed(self, entity_id: str, *, followed: bool) -> None:
        """A person's wish that their public lines be remembered across spaces, or no longer."""
        checked_id("entity_id", entity_id)
        await self._write(lambda on: upkeep.set_followed(on, entity_id, wanted=followed))

    async def followed(self, entity_ids: Sequence[str]) -> frozenset[str]:
        """Those of `entity_ids` who wished to be followed across spaces."""
        return await self._read(lambda on: search.followed(on, entity_ids))

    async def erase(self, selection: Selection) -> Erased:
        """Remove all traces of the selected events from the file, and refuse their replay.

        Rewrites the file: others wait with their writing for about a second per 200,000 events.
        """
        selecting.checked(selection)
        seqs = await self._keep(lambda on: erasure.selected(on, selection))
        vectors = 0
        ids: list[str] = []
        for start in range(0, len(seqs), erasure.ERASE_ROWS):
            part = seqs[start : start + erasure.ERASE_ROWS]
            some = await self._write(partial(erasure.erase_some, seqs=part), rows=len(part))
            vectors += some.vectors
            ids += some.ids
        await self._write(lambda on: erasure.drop_traces(on, selection, ids))
        await self._write(erasure.drop_orphans)
        await self._merge()
        await self._write(lambda on: erasure.compact(on.connection), alone=True)
        return Erased(events=len(ids), vectors=vectors, ids=tuple(ids))

    async def _merge(self) -> None:
        for table in ("words", "inside"):
            first = True
            while await self._write(partial(erasure.merge_some, table=table, first=first)):
                first = False

    async def export(
        self, selection: Selection, after: int = 0, limit: int = 1000
    ) -> tuple[list[PerceptionEvent], int]:
        """One page of the selected events in order of arrival, and the number to go on after."""
        selecting.checked(selection)
        return await self._keep(lambda on: selecting.page(on, selection, after, limit))

    async def check(self) -> list[str]:
        """What is wrong with the file, in sentences; empty when all is well."""
        problems = await self._keep(health.check)
        return problems + await self._write(health.check_indexes)

    async def repair(self) -> list[str]:
        """Mend what can be mended: all indexes are built anew; what was done, in sentences."""
        return await self._write(health.repair)

    async def backup(self, target: Path) -> None:
        """A consistent copy while everything goes on; `target` must not exist."""
        await self._keep(lambda on: health.backup(on, Path(target)))

    async def status(self) -> Mapping[str, Any]:
        """Facts for `memory.status()`: path, schema, rows, bytes, queue length, modes."""
        facts = await self._read(lambda on: health.facts(on, self._path))
        return {
            **facts,
            "synchronous": self._synchronous,
            "cached_shelves": len(self._shelves),
            "cached_bytes": self._shelves.nbytes,
        }
