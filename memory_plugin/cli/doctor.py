"""`doctor`: whether everything a memory needs is there and well."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from memory_plugin.cli.models import model_in_words
from memory_plugin.cli.opening import DbOption, JsonOption, PluginOption, memory_at, path_of
from memory_plugin.cli.output import counted, printable, say, say_json
from memory_plugin.cli.running import ProblemError, command
from memory_plugin.errors import EmbedderError, MemoryPluginError, PluginError, SettingsError

State = Literal["ok", "note", "wrong"]
LOW_DISK = 200_000_000
_MARKS: Mapping[State, str] = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at, how it is, and what was seen."""

    name: str
    state: State
    seen: str


@command
async def doctor(
    *, db: DbOption = None, plugin: PluginOption = None, as_json: JsonOption = False
) -> None:
    """Look at everything a memory needs.

    Exit code 1 if something is wrong; a note is nothing wrong.
    """
    path = path_of(db)
    findings = [_python(), _sqlite(), _disk(path), *await _file(path)]
    opens = any((one.name, one.state) == ("file", "ok") for one in findings)
    findings += await _model_and_plugins(path if opens else None, plugin)
    if as_json:
        wrong = [one.name for one in findings if one.state == "wrong"]
        say_json({"ok": not wrong, "findings": [asdict(one) for one in findings]})
    else:
        for one in findings:
            say(f"{_MARKS[one.state]}  {one.name:<8}  {printable(one.seen)}")
    count = sum(one.state == "wrong" for one in findings)
    if count:
        raise ProblemError(f"{count} of {counted(len(findings), 'check')} failed")


def _python() -> Finding:
    return Finding(name="python", state="ok", seen=platform.python_version())


def _sqlite() -> Finding:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table t using fts5(x, tokenize='trigram')")
    except sqlite3.OperationalError:
        seen = f"{sqlite3.sqlite_version} without FTS5 and its trigrams; use a Python that has them"
        return Finding(name="sqlite", state="wrong", seen=seen)
    finally:
        connection.close()
    return Finding(name="sqlite", state="ok", seen=f"{sqlite3.sqlite_version} with FTS5")


def _disk(path: Path) -> Finding:
    folder = next(one for one in path.absolute().parents if one.exists())
    free = shutil.disk_usage(folder).free
    state: State = "ok" if free >= LOW_DISK else "wrong"
    return Finding(name="disk", state=state, seen=f"{free / 1e9:.1f} GB free for {folder}")


async def _file(path: Path) -> list[Finding]:
    if not _is_there(path):
        seen = f"{path} does not exist yet; the first import makes it"
        return [Finding(name="file", state="note", seen=seen)]
    try:
        async with memory_at(path) as memory:
            store = (await memory.status())["store"]
            problems = await memory.check()
    except MemoryPluginError as fault:
        return [Finding(name=_culprit(fault), state="wrong", seen=str(fault))]
    seen = f"{store.get('path', path)}: {counted(store.get('events', 0), 'event')}"
    if "bytes" in store:
        seen += f", {store['bytes'] / 1e6:.1f} MB"
    if "schema" in store:
        seen += f", schema {store['schema']}"
    return [
        Finding(name="file", state="ok", seen=seen),
        *(Finding(name="content", state="wrong", seen=one) for one in problems),
        *([] if problems else [Finding(name="content", state="ok", seen="sound")]),
    ]


def _is_there(path: Path) -> bool:
    return path.exists()


async def _model_and_plugins(path: Path | None, plugins: Sequence[str] | None) -> list[Finding]:
    """As a bot would have them; without a file they are tried on an empty one."""
    if path is None:
        with TemporaryDirectory(prefix="memory-plugin-") as folder:
            return await _opened(Path(folder) / "memory.sqlite3", plugins)
    return await _opened(path, plugins)


async def _opened(path: Path, plugins: Sequence[str] | None) -> list[Finding]:
    try:
        status = await _status(path, plugins, "auto")
    except MemoryPluginError as fault:
        wrong = Finding(name=_culprit(fault), state="wrong", seen=str(fault))
    else:
        return [*_model(status), *_plugins(status["plugins"])]
    # One that fails does not keep the other from being looked at.
    try:
        if wrong.name == "model":
            return [wrong, *_plugins((await _status(path, plugins, "none"))["plugins"])]
        return [wrong, *_model(await _status(path, None, "auto"))]
    except MemoryPluginError as fault:
        other = Finding(name=_culprit(fault), state="wrong", seen=str(fault))
        return [wrong] if other == wrong else [wrong, other]


async def _status(
    path: Path, plugins: Sequence[str] | None, model: Literal["auto", "none"]
) -> dict[str, Any]:
    async with memory_at(path, model=model, plugins=plugins, create=True) as memory:
        return await memory.status()


def _culprit(fault: MemoryPluginError) -> str:
    """The thing that a fault is about."""
    kinds = {EmbedderError: "model", PluginError: "plugin", SettingsError: "settings"}
    return next((name for kind, name in kinds.items() if isinstance(fault, kind)), "file")


def _model(status: Mapping[str, Any]) -> list[Finding]:
    embedder = status["embedder"]
    if embedder is None:
        seen = f"words only, because {status['words_only_because']}"
        return [Finding(name="model", state="note", seen=seen)]
    waiting = int(status["awaiting_vectors"])
    return [
        Finding(name="model", state="ok", seen=model_in_words(embedder)),
        Finding(
            name="queue",
            state="note" if waiting else "ok",
            seen=f"{counted(waiting, 'event')} without a vector yet",
        ),
    ]


def _plugins(plugins: Sequence[Mapping[str, Any]]) -> list[Finding]:
    findings = []
    for one in plugins:
        failures = int(one.get("failures", 0))
        seen = str(one.get("name", "?"))
        if hooks := one.get("hooks"):
            seen += f": {', '.join(hooks)}"
        if failures:
            seen += f"; failed {counted(failures, 'time')}"
        state: State = "wrong" if failures else "ok"
        findings.append(Finding(name="plugin", state=state, seen=seen))
    return findings
