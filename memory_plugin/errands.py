"""Work that may wait until after an event is stored: news for plugins, slow scorers."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from memory_plugin.errors import MemoryPluginError

log = logging.getLogger(__name__)

Errand = Callable[[], Awaitable[object]]

# News that nobody fetches must not fill the RAM: at a hundred events a second this is minutes.
MOST_WAITING = 20_000


class Errands:
    """Runs errands one after another, in the order they came, in one held task."""

    def __init__(self) -> None:
        self._waiting: deque[Errand] = deque()
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, errand: Errand) -> None:
        """Queue an errand; beyond the limit it is dropped, counted and logged once."""
        if len(self._waiting) >= MOST_WAITING:
            if not self.dropped:
                log.warning("plugins are too slow for their news; some are dropped from now on")
            self.dropped += 1
            return
        self._waiting.append(errand)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="memory-plugin errands")

    async def _run(self) -> None:
        while self._waiting:
            # Taken off only when done, so that `finish` waits for the one that runs.
            try:
                await self._waiting[0]()
            except MemoryPluginError:
                log.exception("an errand failed; the next one goes on")
            finally:
                self._waiting.popleft()

    async def finish(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is left to do; False if that took longer than `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._task is not None and not self._task.done():
                    await asyncio.shield(self._task)
        except TimeoutError:
            return False
        return True

    async def close(self, timeout_s: float) -> int:
        """Finish within a time; answers how many errands were abandoned."""
        if await self.finish(timeout_s):
            return 0
        left = len(self._waiting)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._waiting.clear()
        return left
