"""The embedder beside bare onnxruntime on the same graph: rate, latency, lag, RAM, fidelity."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from benchmarks import report
from benchmarks.chat import texts
from memory_plugin.embedding import OnnxEmbedder, find_model, open_embedder

MESSAGES = 1_500
ROUNDS = 3
SLICE = 100
QUERIES = 300
QUERY_WORDS = 12
LAG_STEP_S = 0.002
# What an indexer hands over at once.
CHUNK = 64
MAX_TOKENS = 256
BATCH = 8

Feed = dict[str, np.ndarray[Any, Any]]


class Bare:
    """A session and nothing else: texts are tokenised and put in order before the clock starts."""

    def __init__(self, graph: Path, tokenizer: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=MAX_TOKENS)

    def feeds(self, some: list[str], rows: int) -> list[Feed]:
        """Inputs for these texts, shortest first, `rows` at a time."""
        ids = sorted((one.ids for one in self._tokenizer.encode_batch(some)), key=len)
        return [_padded(ids[start : start + rows]) for start in range(0, len(ids), rows)]

    def run(self, feed: Feed) -> None:
        """One run of the graph."""
        self._session.run(None, feed)

    def run_all(self, feeds: list[Feed], threads: int) -> None:
        """All of them, `threads` at once."""
        # A pool that takes them one by one spends a tenth of the time on handing them over.
        left, lock = iter(feeds), threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    feed = next(left, None)
                if feed is None:
                    return
                self.run(feed)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def _padded(rows: list[list[int]]) -> Feed:
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def _messages() -> list[str]:
    return [f"{who}: {text}" for who, text in texts()[:MESSAGES]]


def _queries() -> list[str]:
    """Different texts of twelve words each, cut from what people said."""
    words = " ".join(text for _, text in texts()[MESSAGES : MESSAGES * 2]).split()
    return [
        " ".join(words[start : start + QUERY_WORDS])
        for start in range(0, QUERIES * QUERY_WORDS, QUERY_WORDS)
    ]


async def _rates(cache: Path, bare: Bare, some: list[str], threads: int) -> dict[str, Any]:
    """Messages a second and CPU a message; the contestants take turns on slices of the texts."""
    embedder = await open_embedder(model_dir=None, cache_dir=cache, threads=threads)
    await embedder.embed(some[:CHUNK])
    took: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": [], "bare_batched": []}
    for number, start in enumerate(range(0, len(some), SLICE)):
        part = some[start : start + SLICE]
        single, batched = bare.feeds(part, 1), bare.feeds(part, BATCH)
        contestants: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("ours", partial(embedder.embed, part)),
            ("bare", partial(asyncio.to_thread, bare.run_all, single, threads)),
            ("bare_batched", partial(asyncio.to_thread, bare.run_all, batched, threads)),
        ]
        # Whoever goes first may find the machine in another state.
        for name, contestant in contestants if number % 2 else reversed(contestants):
            wall, cpu = time.perf_counter(), time.process_time()
            await contestant()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            took[name].append((spent[0] / len(part), spent[1] / len(part)))
    await embedder.close()
    seconds = {name: np.array(each) for name, each in took.items()}
    # Of pairs measured beside each other, so that a machine that slows down does not count.
    wall_ratio, cpu_ratio = np.median(seconds["bare"] / seconds["ours"], axis=0)
    return {
        "per_second": {name: float(1 / np.median(one[:, 0])) for name, one in seconds.items()},
        "cpu_ms": {name: float(np.median(one[:, 1]) * 1000) for name, one in seconds.items()},
        "ratio": float(wall_ratio),
        "cpu_ratio": float(cpu_ratio),
    }


async def _latency(embedder: OnnxEmbedder, bare: Bare) -> dict[str, dict[str, float]]:
    """One query of twelve words at a time, none asked twice; bare leaves the tokenizer out."""
    ours, theirs = [], []
    for query in _queries():
        feed = bare.feeds([query], 1)[0]
        start = time.perf_counter()
        bare.run(feed)
        between = time.perf_counter()
        await embedder.embed([query], "query")
        theirs.append(between - start)
        ours.append(time.perf_counter() - between)
    return {"ours": report.percentiles(ours), "bare": report.percentiles(theirs)}


async def _lag(embedder: OnnxEmbedder, some: list[str]) -> dict[str, dict[str, float]]:
    """How late a 2 ms sleep wakes up, idle and while the model computes flat out, by turns."""
    late: dict[str, list[float]] = {"idle": [], "embedding": []}
    current = "idle"

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(LAG_STEP_S)
            late[current].append(time.perf_counter() - start - LAG_STEP_S)

    watcher = asyncio.create_task(watch())
    for _ in range(ROUNDS):
        current = "embedding"
        began = time.perf_counter()
        for start in range(0, len(some), CHUNK):
            await embedder.embed(some[start : start + CHUNK])
        current = "idle"
        await asyncio.sleep(time.perf_counter() - began)
    watcher.cancel()
    await asyncio.gather(watcher, return_exceptions=True)
    return {name: report.percentiles(each) for name, each in late.items()}


async def _fidelity(embedder: OnnxEmbedder, some: list[str]) -> dict[str, float]:
    """Cosine of each vector to the one of the model as it is packaged."""
    packaged = await OnnxEmbedder.open(find_model(model_dir=None, cache_dir=Path()))
    cosines = (await embedder.embed(some) * await packaged.embed(some)).sum(axis=1)
    await packaged.close()
    return {"mean": float(cosines.mean()), "min": float(cosines.min())}


async def _ram(cache: Path, some: list[str]) -> dict[str, float]:
    """Resident MiB of a process of its own that does nothing but embed."""
    before = report.rss_mb()
    embedder = await open_embedder(model_dir=None, cache_dir=cache)
    loaded = report.rss_mb()
    await embedder.embed(some)
    messages = report.rss_mb()
    await embedder.embed(["a long story " * MAX_TOKENS] * CHUNK)
    long = report.rss_mb()
    await embedder.close()
    return {"before": before, "loaded": loaded, "messages": messages, "long": long}


def _ram_of_child(cache: Path, some: list[str]) -> dict[str, float]:
    order = [sys.executable, "-m", "benchmarks", "embedding", "--ram", str(cache)]
    done = subprocess.run(  # noqa: S603 - our own command
        order, input=json.dumps(some), check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


async def _measure(cache: Path) -> dict[str, Any]:
    some = _messages()
    embedder = await open_embedder(model_dir=None, cache_dir=cache)
    status = embedder.status()
    if not status["name"].startswith("all-MiniLM-L6-v2/true-int8/"):
        raise SystemExit(f"not the graph to be measured: {status['graph']}")
    bare = Bare(Path(status["file"]), find_model(model_dir=None, cache_dir=cache).tokenizer)
    found = {
        "graph": status["name"],
        "query_ms": await _latency(embedder, bare),
        "lag_ms": await _lag(embedder, some),
        "cosine_to_packaged": await _fidelity(embedder, some),
        "rss_mb": await asyncio.to_thread(_ram_of_child, cache, some),
    }
    await embedder.close()
    rates = {str(threads): await _rates(cache, bare, some, threads) for threads in (1, 2)}
    return found | {"messages_per_second": rates}


def main(argv: list[str]) -> int:
    """``python -m benchmarks embedding [--json OUT]``."""
    parser = argparse.ArgumentParser(prog="benchmarks embedding", description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ram", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.ram is not None:
        # The texts come from outside: parsing the whole chat data here would count as RAM.
        print(json.dumps(asyncio.run(_ram(options.ram, json.load(sys.stdin)))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_measure(Path(folder)))
    _show(found)
    report.write(options.json, found)
    return 0


def _show(found: dict[str, Any]) -> None:
    rates = found["messages_per_second"]
    names = ("ours", "bare", "bare_batched")
    report.show(
        "Rate",
        ["", "ours", "bare, one by one", "bare, batches of 8", "ours / bare", "to reach"],
        [
            [f"{title}, {threads} thread(s)", *(one[key][name] for name in names), one[ratio], goal]
            for title, key, ratio, goal in (
                ("messages a second", "per_second", "ratio", ">= 0.9"),
                ("CPU ms a message", "cpu_ms", "cpu_ratio", ""),
            )
            for threads, one in rates.items()
        ],
    )
    query, lag = found["query_ms"], found["lag_ms"]
    spreads = [
        ["query of 12 words", query["ours"], "p50 1.5"],
        ["  bare, without the tokenizer", query["bare"], ""],
        ["loop lag, embedding", lag["embedding"], "p99 1"],
        ["  idle", lag["idle"], ""],
    ]
    columns = ["p50", "p95", "p99", "max"]
    report.show(
        "Milliseconds",
        ["", *columns, "to reach"],
        [[name, *(one[key] for key in columns), goal] for name, one, goal in spreads],
    )
    rss, cosine = found["rss_mb"], found["cosine_to_packaged"]
    report.show(
        "RSS of a process that only embeds, MiB",
        ["before", "loaded", "after 1,500 messages", "after 64 texts of 256 tokens"],
        [[rss[key] for key in ("before", "loaded", "messages", "long")]],
    )
    report.show(
        "Cosine to the model as packaged",
        ["mean", "min"],
        [[f"{cosine['mean']:.4f}", f"{cosine['min']:.4f}"]],
    )
