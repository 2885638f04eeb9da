"""Opening the memory a command works on, and finding whose memory is meant."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from memory_plugin._plugins import plugin_named
from memory_plugin.cli.running import UsageError
from memory_plugin.engine import Memory
from memory_plugin.errors import StoreError
from memory_plugin.settings import PATH_VARIABLE, Settings

DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db",
        envvar=PATH_VARIABLE,
        help="The memory file; the one in your data folder if left out (`doctor` names it).",
        show_default=False,
        dir_okay=False,
    ),
]
AgentOption = Annotated[
    str | None, typer.Option("--agent", help="Whose memory; the only one in the file if left out.")
]
AnyAgentOption = Annotated[
    str | None, typer.Option("--agent", help="Only this agent's; all agents' if left out.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout, for programs.")
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="One JSON object per line on stdout, for programs.")
]
PluginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        help="A module or module:attribute, also of this folder, to load as a plugin; repeatable.",
    ),
]
SinceOption = Annotated[
    str | None, typer.Option(help="From this date or time on, or an age such as 7d or 12h.")
]
UntilOption = Annotated[str | None, typer.Option(help="Before this date, time or age.")]
PersonOption = Annotated[str | None, typer.Option(help="An entity id, or a name if it is unique.")]
PlaceOption = Annotated[str | None, typer.Option(help="A place key, or a name if it is unique.")]

_AGE = re.compile(r"(\d{1,6})([mhdw])")
_AGE_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def default_path() -> Path:
    """The file in the user's data folder."""
    data = os.environ.get("XDG_DATA_HOME")
    folder = Path(data) if data else Path.home() / ".local" / "share"
    return folder / "memory-plugin" / "memory.sqlite3"


def path_of(db: Path | None) -> Path:
    """The file that is meant."""
    return (db or default_path()).expanduser()


def settings_for(db: Path | None, model: Literal["auto", "none"]) -> Settings:
    """Settings of a command; the environment may name a model folder."""
    # The path is settled by --db, which reads its variable itself.
    environment = {name: value for name, value in os.environ.items() if name != PATH_VARIABLE}
    return Settings.from_mapping({"path": path_of(db), "model": model}, environment)


def plugins_of(names: Sequence[str] | None) -> list[object]:
    """What --plugin names, loaded; raises `PluginError` naming the one that cannot be."""
    here = str(Path.cwd())
    if names and here not in sys.path:
        # Last, so that a file that lies here by chance takes the place of no installed module.
        sys.path.append(here)
    return [plugin_named(name, "--plugin") for name in names or ()]


@asynccontextmanager
async def memory_at(
    db: Path | None,
    *,
    model: Literal["auto", "none"] = "none",
    plugins: Sequence[str] | None = None,
    create: bool = False,
) -> AsyncIterator[Memory]:
    """The open memory; only with `create` may the file and its folder come into being."""
    settings = settings_for(db, model)
    if create:
        settings.path.parent.mkdir(parents=True, exist_ok=True)
    elif not settings.path.exists():
        raise StoreError(
            f"there is no memory at {settings.path}; import something first, or name it with --db"
        )
    memory = await Memory.open(settings, plugins=plugins_of(plugins))
    async with memory:
        yield memory


async def agent_of(memory: Memory, wanted: str | None, *, fallback: str | None = None) -> str:
    """The agent that is meant; raises `UsageError` when that is not clear.

    With a `fallback` an agent that has no events yet is fine, and an empty file means that one.
    """
    agents = await memory.agents()
    if wanted is not None:
        if fallback is None and wanted not in agents:
            raise UsageError(f"no agent {wanted!r} in this file; it has {_listed(agents)}")
        return wanted
    if len(agents) == 1:
        return agents[0]
    if agents:
        raise UsageError(f"several agents in this file, name one with --agent: {_listed(agents)}")
    if fallback is None:
        raise UsageError("this file has no agent yet; import something first")
    return fallback


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def time_from(name: str, text: str | None) -> datetime | None:
    """A time from a date, a time (local if it names no offset), or an age such as ``7d``."""
    if text is None:
        return None
    age = _AGE.fullmatch(text.strip())
    try:
        if age:
            return datetime.now(UTC) - timedelta(**{_AGE_UNITS[age[2]]: int(age[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError) as fault:
        raise UsageError(
            f"--{name} {text!r} is no date; write 2026-01-31, 2026-01-31T18:00 or an age like 7d"
        ) from fault
