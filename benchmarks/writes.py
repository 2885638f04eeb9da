"""The write path: how long an awaited event takes, how many a second, and what the loop feels."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.chat import events
from memory_plugin.engine import Memory
from memory_plugin.settings import Settings
from memory_plugin.types import PerceptionEvent

SINGLE = 2_000
SOON = 2_000
BULK = 40_000
LAG_STEP_S = 0.002


async def _alone(folder: Path, some: list[PerceptionEvent], synchronous: Any) -> dict[str, Any]:
    """One awaited event after another, without a model."""
    settings = Settings(
        path=folder / f"alone-{synchronous}.db", model="none", synchronous=synchronous
    )
    took = []
    async with await Memory.open(settings) as memory:
        began = time.perf_counter()
        for event in some:
            start = time.perf_counter()
            await memory.perceive(event)
            took.append(time.perf_counter() - start)
        rate = len(some) / (time.perf_counter() - began)
    return {"ms": report.percentiles(took), "per_second": rate}


async def _together(folder: Path, some: list[PerceptionEvent]) -> float:
    """Many tasks awaiting their own event at once: durable events per second."""
    async with await Memory.open(Settings(path=folder / "together.db", model="none")) as memory:
        began = time.perf_counter()
        await asyncio.gather(*(memory.perceive(event) for event in some))
        return len(some) / (time.perf_counter() - began)


async def _soon(folder: Path, some: list[PerceptionEvent]) -> dict[str, float]:
    """What `perceive_soon` costs the caller, in microseconds."""
    took = []
    async with await Memory.open(Settings(path=folder / "soon.db", model="none")) as memory:
        for event in some:
            start = time.perf_counter()
            memory.perceive_soon(event)
            took.append(time.perf_counter() - start)
            await asyncio.sleep(0)
        await memory.flush()
    return {name: value * 1000 for name, value in report.percentiles(took).items()}


async def _bulk(folder: Path, some: list[PerceptionEvent]) -> float:
    async with await Memory.open(Settings(path=folder / "bulk.db", model="none")) as memory:
        began = time.perf_counter()
        await memory.perceive_many(some)
        return len(some) / (time.perf_counter() - began)


async def _lag(folder: Path, some: list[PerceptionEvent], *, busy: bool) -> dict[str, float]:
    """How late a 2 ms sleep wakes up while the model embeds flat out (`busy`) or idles."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(LAG_STEP_S)
            late.append(time.perf_counter() - start - LAG_STEP_S)

    async with await Memory.open(Settings(path=folder / f"lag-{busy}.db")) as memory:
        if busy:
            await memory.perceive_many(some)
        watcher = asyncio.create_task(watch())
        if busy:
            await memory.embed_pending()
        else:
            await asyncio.sleep(3)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
    return report.percentiles(late)


def _peer(folder: Path, some: list[PerceptionEvent]) -> dict[str, Any]:
    """Plain sqlite3 with one FTS5 table in this thread, one commit an event: the floor."""
    took = []
    with contextlib.closing(sqlite3.connect(folder / "peer.db", isolation_level=None)) as db:
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.execute("create table event(id integer primary key, who text, content text)")
        db.execute("create virtual table words using fts5(body, tokenize='porter unicode61')")
        began = time.perf_counter()
        for event in some:
            start = time.perf_counter()
            db.execute("begin immediate")
            row = db.execute(
                "insert into event(who, content) values (?, ?)",
                (event.source.entity_name, event.content),
            )
            db.execute(
                "insert into words(rowid, body) values (?, ?)", (row.lastrowid, event.content)
            )
            db.execute("commit")
            took.append(time.perf_counter() - start)
    return {"ms": report.percentiles(took), "per_second": len(some) / (time.perf_counter() - began)}


async def _measure(folder: Path) -> dict[str, Any]:
    stream = events(SINGLE + SOON + BULK, scoped=100)
    single = list(islice(stream, SINGLE))
    soon = list(islice(stream, SOON))
    bulk = list(stream)
    return {
        "awaited": await _alone(folder, single, "normal"),
        "awaited_full": await _alone(folder, single, "full"),
        "plain_sqlite": _peer(folder, single),
        "gathered_per_second": await _together(folder, single),
        "perceive_soon_us": await _soon(folder, soon),
        "bulk_per_second": await _bulk(folder, bulk),
        "lag_idle_ms": await _lag(folder, [], busy=False),
        "lag_embedding_ms": await _lag(folder, bulk[:3000], busy=True),
    }


def main(argv: list[str]) -> int:
    """``python -m benchmarks writes [--json OUT]``."""
    parser = argparse.ArgumentParser(prog="benchmarks writes", description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_measure(Path(folder)))
    rows = [
        ["await perceive", *_spread(found["awaited"]["ms"]), "ms", "0.5 / 5"],
        ["  synchronous=full", *_spread(found["awaited_full"]["ms"]), "ms", ""],
        ["  plain sqlite3 + FTS5, this thread", *_spread(found["plain_sqlite"]["ms"]), "ms", ""],
        ["perceive_soon, on the caller", *_spread(found["perceive_soon_us"]), "us", "50"],
        ["loop lag, idle", *_spread(found["lag_idle_ms"]), "ms", ""],
        ["loop lag, embedding", *_spread(found["lag_embedding_ms"]), "ms", "p99 1"],
        ["awaited one by one", found["awaited"]["per_second"], "", "", "events/s", ""],
        ["awaited together", found["gathered_per_second"], "", "", "events/s", ">= 2,000"],
        ["bulk", found["bulk_per_second"], "", "", "events/s", ">= 20,000"],
        ["plain sqlite3 + FTS5", found["plain_sqlite"]["per_second"], "", "", "events/s", ""],
    ]
    report.show("Writes", ["", "p50 (or rate)", "p99", "max", "unit", "to reach"], rows)
    report.write(options.json, found)
    return 0


def _spread(found: dict[str, float]) -> list[float]:
    return [found["p50"], found["p99"], found["max"]]
