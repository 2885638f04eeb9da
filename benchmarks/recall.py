"""Recall quality: are the events that answer a question among the first hits?

Every conversation of the file is a place of its own in one database; events go in and hits come
out through the front door, `Memory`. Beside it stand BM25 alone (SQLite FTS5, as most bots do it)
and the model's vectors alone, over the same lines.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np

from benchmarks import report
from benchmarks.conversations import AGENT, Conversation, load
from memory_plugin.embedding import open_embedder
from memory_plugin.engine import Memory
from memory_plugin.errors import EmbedderError
from memory_plugin.settings import Settings
from memory_plugin.text import query_terms
from memory_plugin.types import Hit, PerceptionEvent, Scope

DEPTH = 50
MEASURES = ("recall@5", "recall@10", "recall@20", "MRR", "nDCG@10", "All@10", "Hit@10")
BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one method answered to one question: event ids, best first."""

    talk: str
    category: str
    evidence: frozenset[str]
    ids: tuple[str, ...]
    scores: tuple[float, ...] = ()


def measured(answer: Answer) -> dict[str, float]:
    """All measures of one answer."""
    found = [one in answer.evidence for one in answer.ids[:DEPTH]]
    total = len(answer.evidence)
    gain = sum(hit / math.log2(at + 2) for at, hit in enumerate(found[:10]))
    ideal = sum(1 / math.log2(at + 2) for at in range(min(10, total)))
    return {
        "recall@5": sum(found[:5]) / total,
        "recall@10": sum(found[:10]) / total,
        "recall@20": sum(found[:20]) / total,
        "MRR": next((1 / (at + 1) for at, hit in enumerate(found) if hit), 0.0),
        "nDCG@10": gain / ideal,
        "All@10": float(sum(found[:10]) == total),
        "Hit@10": float(any(found[:10])),
    }


def summary(answers: Sequence[Answer]) -> dict[str, Any]:
    """Means over all questions, and recall@10 by category and by conversation."""
    rows = [measured(one) for one in answers]

    def mean_of(key: str, group: str) -> dict[str, float]:
        names = sorted({str(getattr(one, group)) for one in answers})
        return {
            name: fmean(
                row[key]
                for one, row in zip(answers, rows, strict=True)
                if getattr(one, group) == name
            )
            for name in names
        }

    return {
        "questions": len(answers),
        "overall": {key: fmean(row[key] for row in rows) for key in MEASURES},
        "recall@10 by category": mean_of("recall@10", "category"),
        "recall@10 by conversation": mean_of("recall@10", "talk"),
    }


def calibration(answers: Sequence[Answer]) -> list[dict[str, float]]:
    """Hits by bins of their score: how many, their mean score, the share that is evidence."""
    pairs = [
        (score, event in answer.evidence)
        for answer in answers
        for event, score in zip(answer.ids, answer.scores, strict=True)
    ]
    bins = []
    for low, high in pairwise(BINS):
        some = [pair for pair in pairs if low <= pair[0] < high or pair[0] == high == 1.0]
        if some:
            score, right = (fmean(column) for column in zip(*some, strict=True))
            bins.append({"hits": len(some), "score": score, "right": right})
    return bins


def _line(event: PerceptionEvent) -> str:
    return f"{event.source.entity_name}: {event.content}"


def bm25_alone(talks: Sequence[Conversation]) -> list[Answer]:
    """FTS5's own bm25: porter stems, stopwords left out of the query, one table for all places."""
    answers = []
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute(
            "create virtual table line using fts5(body, id unindexed, place unindexed,"
            " tokenize='porter unicode61')"
        )
        for talk in talks:
            rows = [(_line(event), event.id, talk.name) for event in talk.events]
            db.executemany("insert into line (body, id, place) values (?, ?, ?)", rows)
        for talk in talks:
            for question in talk.questions:
                terms = " OR ".join(f'"{term.rstrip("*")}"' for term in query_terms(question.text))
                found = db.execute(
                    "select id from line where line match ? and place = ? order by rank limit ?",
                    (terms, talk.name, DEPTH),
                ).fetchall()
                answers.append(_answer(talk, question, [row[0] for row in found]))
    return answers


async def vectors_alone(talks: Sequence[Conversation], cache: Path) -> list[Answer]:
    """Cosine between the question and every line, nothing else."""
    embedder = await open_embedder(model_dir=None, cache_dir=cache)
    try:
        answers = []
        for talk in talks:
            lines = await embedder.embed([_line(event) for event in talk.events])
            ids = [event.id for event in talk.events]
            for question in talk.questions:
                query = (await embedder.embed([question.text], "query"))[0]
                order = np.argsort(-(lines @ query), kind="stable")[:DEPTH]
                answers.append(_answer(talk, question, [ids[at] for at in order]))
        return answers
    finally:
        await embedder.close()


async def ours(talks: Sequence[Conversation], model: Literal["auto", "none"]) -> list[Answer]:
    """Through `Memory`: events in, vectors made, every question asked where its talk was held."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(path=Path(folder) / "memory.db", model=model)
        async with await Memory.open(settings) as memory:
            for talk in talks:
                await memory.perceive_many(talk.events)
            await memory.embed_pending()
            answers = []
            for talk in talks:
                scope = Scope(agent_id=AGENT, place=talk.place)
                for question in talk.questions:
                    hits = await memory.recall(question.text, scope, limit=DEPTH, now=talk.end)
                    answers.append(_answer(talk, question, [hit.event.id for hit in hits], hits))
            return answers


def _answer(
    talk: Conversation, question: Any, ids: Sequence[str], hits: Sequence[Hit] = ()
) -> Answer:
    return Answer(
        talk=talk.name,
        category=question.category,
        evidence=question.evidence,
        ids=tuple(ids),
        scores=tuple(hit.score for hit in hits),
    )


async def measure(talks: Sequence[Conversation]) -> dict[str, list[Answer]]:
    """The answers of every method; those with a model are left out where none is installed."""
    answers = {"BM25 alone": bm25_alone(talks)}
    try:
        answers["MiniLM alone"] = await vectors_alone(talks, Settings().cache_dir())
    except EmbedderError as fault:
        print(f"no model, so no vectors: {fault}")
    answers["ours, words only"] = await ours(talks, "none")
    if "MiniLM alone" in answers:
        answers["ours"] = await ours(talks, "auto")
    return answers


def _show(results: Mapping[str, Any]) -> None:
    best = list(results.values())[-1]
    categories = list(best["recall@10 by category"])
    report.show(
        f"{best['questions']} questions (%); the categories show recall@10",
        ["", *MEASURES, *categories],
        [
            [
                name,
                *(f"{100 * one['overall'][key]:.1f}" for key in MEASURES),
                *(f"{100 * one['recall@10 by category'][key]:.1f}" for key in categories),
            ]
            for name, one in results.items()
        ],
    )
    if "calibration" in best:
        report.show(
            "What a score is worth",
            ["hits", "mean score", "share that is evidence"],
            [[one["hits"], one["score"], one["right"]] for one in best["calibration"]],
        )


def main(argv: list[str]) -> int:
    """``recall PATH [--json OUT]``."""
    parser = argparse.ArgumentParser(prog="benchmarks recall", description=__doc__)
    parser.add_argument("path", type=Path, help="conversations with questions and evidence, JSON")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args(argv)
    answers = asyncio.run(measure(load(options.path)))
    results = {name: summary(some) for name, some in answers.items()}
    for name, some in answers.items():
        if any(one.scores for one in some):
            results[name]["calibration"] = calibration(some)
    _show(results)
    report.write(options.json, {"benchmark": "recall", "methods": results})
    return 0
