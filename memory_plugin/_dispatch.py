"""Calling strangers' code: one after another, awaited, guarded, counted.

pluggy keeps the registry, the validation and the order. It cannot await, so the walk over the
implementations is ours: an async hook with `firstresult` that answers None would otherwise end
the search, and one that raises would stop all the others.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pluggy
from pluggy import HookImpl

from memory_plugin.errors import MemoryPluginError, PluginError

log = logging.getLogger(__name__)

# A plain hook that holds the event loop longer than this makes a bot stutter.
SLOW_S = 0.1


class Skipped:
    """Stands for the answer of an implementation that failed."""


SKIPPED = Skipped()


class Dispatch:
    """Walks the implementations of a hook in order, first the one that has the first word.

    Failures of other packages' opinions and news are logged with the plugin's name, counted in
    `failures` and skipped; those of the built-in plugin are our own faults and are raised.
    """

    def __init__(self, manager: pluggy.PluginManager, builtin: object, timeout_s: float) -> None:
        self._manager = manager
        self._builtin = builtin
        self._timeout_s = timeout_s
        self.failures: Counter[str] = Counter()
        self.slow: Counter[str] = Counter()

    def implementations(self, hook: str) -> list[HookImpl]:
        """Who implements a hook, in the order they are asked."""
        # pluggy calls the last registered first; the list is kept the other way round.
        return list(reversed(getattr(self._manager.hook, hook).get_hookimpls()))

    def guests(self, hook: str) -> list[HookImpl]:
        """The implementations that are not ours."""
        return [one for one in self.implementations(hook) if one.plugin is not self._builtin]

    async def part(self, hook: str, **arguments: Any) -> Any:
        """The first answer to a part's hook; a failure is fatal and names the plugin."""
        for impl in self.implementations(hook):
            try:
                answer = await _called(impl, arguments, None)
            except MemoryPluginError:
                if impl.plugin is self._builtin:
                    raise
                raise PluginError(f"plugin {impl.plugin_name!r} failed in {hook}") from None
            except Exception as fault:
                raise PluginError(
                    f"plugin {impl.plugin_name!r} failed in {hook}: {fault!r}"
                ) from fault
            if answer is not None:
                return answer
        return None

    async def first(
        self, hook: str, check: Callable[[Any], Any] | None = None, **arguments: Any
    ) -> Any:
        """The first answer that is not None and passes `check`; None if nobody has one.

        A check answers what to use of an answer, or raises.
        """
        for impl in self.implementations(hook):
            answer = await self.ask(impl, arguments, check)
            if answer is not None and answer is not SKIPPED:
                return answer
        return None

    async def each(
        self, hook: str, check: Callable[[Any], Any] | None = None, **arguments: Any
    ) -> list[Any]:
        """All answers but None, in order; `SKIPPED` stands for an implementation that failed."""
        answers = [await self.ask(impl, arguments, check) for impl in self.implementations(hook)]
        return [one for one in answers if one is not None]

    async def chain(
        self, hook: str, name: str, value: Any, check: Callable[[Any], Any], **arguments: Any
    ) -> Any:
        """`value` as it comes out when every implementation may replace it.

        `check` answers what to use of an answer, or raises; the value then goes on as it was.
        """
        for impl in self.implementations(hook):
            answer = await self.ask(impl, {**arguments, name: value}, check)
            if answer is not None and answer is not SKIPPED:
                value = answer
        return value

    async def ask(
        self,
        impl: HookImpl,
        arguments: dict[str, Any],
        check: Callable[[Any], Any] | None = None,
        *,
        limited: bool = True,
    ) -> Any:
        """One implementation's answer; `SKIPPED` when it failed or its answer is unfit."""
        if impl.plugin is self._builtin:
            return await _called(impl, arguments, None)
        began = time.perf_counter()
        try:
            answer = await _called(impl, arguments, self._timeout_s if limited else None)
            if answer is not None and check is not None:
                answer = check(answer)
        except asyncio.CancelledError as tripped:
            # Who cancels the caller means it. A plugin that trips over a task of its own does not.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return self._failed(impl, tripped)
        except Exception as fault:
            return self._failed(impl, fault)
        if not is_async(impl) and time.perf_counter() - began > SLOW_S:
            self.slow[impl.plugin_name] += 1
            log.warning(
                "plugin %r held the event loop in %s for %.0f ms; make it async",
                impl.plugin_name,
                _hook_name(impl),
                (time.perf_counter() - began) * 1000,
            )
        return answer

    def _failed(self, impl: HookImpl, fault: BaseException) -> Skipped:
        self.failures[impl.plugin_name] += 1
        name = _hook_name(impl)
        log.error("plugin %r failed in %s; skipped", impl.plugin_name, name, exc_info=fault)
        return SKIPPED

    def plugins(self, hooks: Sequence[str]) -> list[dict[str, Any]]:
        """Facts for `status()`: every plugin in order, what it implements, how often it failed."""
        by_plugin: dict[int, list[str]] = {}
        for hook in hooks:
            for impl in self.implementations(hook):
                by_plugin.setdefault(id(impl.plugin), []).append(hook)
        return [
            {
                "name": name,
                "hooks": by_plugin.get(id(plugin), []),
                "failures": self.failures[name],
                "slow": self.slow[name],
            }
            for name, plugin in reversed(self._manager.list_name_plugin())
            if plugin is not None
        ]


def _hook_name(impl: HookImpl) -> str:
    return str(getattr(impl.function, "__name__", impl.function))


def is_async(impl: HookImpl) -> bool:
    """Whether an implementation is an async function, and so may take its time."""
    return inspect.iscoroutinefunction(impl.function)


async def _called(impl: HookImpl, arguments: dict[str, Any], timeout_s: float | None) -> Any:
    answer = impl.function(*(arguments[name] for name in impl.argnames))
    if inspect.isawaitable(answer):
        async with asyncio.timeout(timeout_s):
            answer = await answer
    return answer
