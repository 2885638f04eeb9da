"""`doctor`: whether everything a memory needs is there and well."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from memory_plugin.cli.opening import DbOption, JsonOption, PluginOption, memory_at, path_of
from memory_plugin.cli.output import printable, say, say_json
from memory_plugin.cli.running import ProblemError, command
from memory_plugin.errors import MemoryPluginError

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
    """Look at everything a memory needs; exit code 1 if something is wrong."""
    path = path_of(db)
    findings = [_python(), _sqlite(), _disk(path)]
    if _is_there(path):
        findings += await _memory(db, path, plugin)
    else:
        seen = f"{path} does not exist yet; the first import makes it"
        findings.append(Finding(name="file", state="note", seen=seen))
    if as_json:
        wrong = [one.name for one in findings if one.state == "wrong"]
        say_json({"ok": not wrong, "findings": [asdict(one) for one in findings]})
    else:
        for one in findings:
            say(f"{_MARKS[one.state]}  {one.name:<10}  {printable(one.seen)}")
    count = sum(one.state == "wrong" for one in findings)
    if count:
        raise ProblemError(f"{count} of {len(findings)} things are wrong")


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


async def _memory(db: Path | None, path: Path, plugins: list[str] | None) -> list[Finding]:
    try:
        async with memory_at(db, model="auto", plugins=plugins) as memory:
            status = await memory.status()
            problems = await memory.check()
    except MemoryPluginError as fault:
        return [Finding(name=type(fault).__name__, state="wrong", seen=str(fault))]
    store = status["store"]
    seen = f"{store.get('path', path)}: {store.get('events', 0):,} events"
    if "bytes" in store:
        seen += f", {store['bytes'] / 1e6:.1f} MB"
    findings = [Finding(name="file", state="ok", seen=seen)]
    findings.append(Finding(name="schema", state="ok", seen=str(store.get("schema", "?"))))
    findings += [Finding(name="check", state="wrong", seen=one) for one in problems] or [
        Finding(name="check", state="ok", seen="sound")
    ]
    return [*findings, *_model(status), *_plugins(status["plugins"])]


def _model(status: Mapping[str, Any]) -> list[Finding]:
    waiting = int(status["awaiting_vectors"])
    queue: State = "ok" if waiting == 0 else "note"
    behind = Finding(name="queue", state=queue, seen=f"{waiting:,} events await a vector")
    embedder = status["embedder"]
    if embedder is None:
        seen = f"words only, because {status['words_only_because']}"
        return [Finding(name="model", state="wrong", seen=seen), behind]
    known = ", ".join(f"{name} {value}" for name, value in embedder.items())
    return [Finding(name="model", state="ok", seen=known), behind]


def _plugins(plugins: Any) -> list[Finding]:
    findings = []
    for one in plugins:
        failures = one.get("failures") if isinstance(one, Mapping) else None
        state: State = "wrong" if failures else "ok"
        shown = (
            ", ".join(f"{name} {value}" for name, value in one.items())
            if isinstance(one, Mapping)
            else str(one)
        )
        findings.append(Finding(name="plugin", state=state, seen=shown))
    return findings


def _is_there(path: Path) -> bool:
    return path.exists()
