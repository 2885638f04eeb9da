"""Finding plugins: those in the settings, those installed, and the built-in one.

Order: settings first, as listed; then installed ones by name; the built-in defaults last.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from importlib.metadata import entry_points

import pluggy

from memory_plugin import hookspecs
from memory_plugin.errors import PluginError
from memory_plugin.settings import Settings

HOOKS = tuple(
    name for name, value in vars(hookspecs).items() if hasattr(value, f"{hookspecs.PROJECT}_spec")
)


def load_plugins(
    settings: Settings, builtin: object, given: Sequence[object] = ()
) -> pluggy.PluginManager:
    """A manager with every plugin registered and checked; raises `PluginError` naming the culprit.

    `given` are plugin objects handed to `Memory.open`; they come before those in the settings.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    found: list[tuple[str, object]] = [(_name_of(one), one) for one in given]
    found += [(name, plugin_named(name, "the settings")) for name in settings.plugins]
    found += _installed(settings.blocked_plugins)
    # The one registered last is asked first.
    _register(manager, "defaults", builtin)
    for name, plugin in reversed(found):
        _register(manager, name, plugin)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as fault:
        raise PluginError(f"{fault}; the hooks are {', '.join(HOOKS)}") from fault
    return manager


def _name_of(plugin: object) -> str:
    name = getattr(plugin, "__name__", None)
    return str(name) if name else f"{type(plugin).__module__}.{type(plugin).__qualname__}"


def plugin_named(name: str, origin: str) -> object:
    """The plugin ``module`` or ``module:attribute``; `origin` tells in the error who named it."""
    module_name, _, attribute = name.partition(":")
    try:
        plugin: object = importlib.import_module(module_name)
        for part in attribute.split(".") if attribute else ():
            plugin = getattr(plugin, part)
        return plugin() if inspect.isclass(plugin) else plugin
    except Exception as fault:
        # "No module named ..." says it all; of other faults the kind is needed to understand them.
        why = (
            fault if isinstance(fault, ImportError | AttributeError | SyntaxError) else repr(fault)
        )
        raise PluginError(f"cannot load plugin {name!r} from {origin}: {why}") from fault


def _installed(blocked: Sequence[str]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for entry in sorted(entry_points(group=hookspecs.PROJECT), key=lambda one: one.name):
        if entry.name in blocked:
            continue
        try:
            plugin = entry.load()
            found.append((entry.name, plugin() if inspect.isclass(plugin) else plugin))
        except Exception as fault:
            where = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
            raise PluginError(
                f"cannot load the installed plugin {entry.name!r}{where}: {fault!r}; "
                f"add {entry.name!r} to blocked_plugins to go on without it"
            ) from fault
    return found


def _register(manager: pluggy.PluginManager, name: str, plugin: object) -> None:
    try:
        registered = manager.register(plugin, name)
    except (pluggy.PluginValidationError, ValueError) as fault:
        raise PluginError(f"plugin {name!r} does not fit: {fault}") from fault
    callers = manager.get_hookcallers(plugin) or []
    impls = [impl for caller in callers for impl in caller.get_hookimpls()]
    mine = [impl for impl in impls if impl.plugin is plugin]
    if not mine:
        raise PluginError(
            f"plugin {registered!r} implements no hook; mark its functions with "
            "memory_plugin.hookimpl"
        )
    if any(impl.hookwrapper or impl.wrapper for impl in mine):
        raise PluginError(f"plugin {registered!r} has a hook wrapper; wrappers are not supported")
