"""Truncation: how much of what is asked for later survives, and how coherent the rest is.

Evidence survival alone would praise an algorithm that forgets the last sentence; so the share of
the last turns kept, and of neighbours of kept turns kept, stand beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import report
from benchmarks.conversations import Conversation, load
from memory_plugin.embedding import open_embedder
from memory_plugin.errors import EmbedderError
from memory_plugin.importance import score_importance
from memory_plugin.settings import Settings
from memory_plugin.text import estimate_tokens
from memory_plugin.truncation import (
    Budget,
    Count,
    Fifo,
    ImportanceWeighted,
    Truncated,
    event_cost,
    gap_cost,
)
from memory_plugin.types import PerceptionEvent

SHARES = (0.10, 0.25, 0.50, 0.75)
CORRUPTED = (0.0, 0.25, 0.50)
LAST = 20
SEEDS = 5
REPLY_EVERY = 10
Policy = Callable[[Conversation, Budget, Count], Sequence[Truncated]]


def _scored(events: Sequence[PerceptionEvent]) -> list[PerceptionEvent]:
    return [replace(event, importance=score_importance(event)) for event in events]


def _corrupted(
    events: Sequence[PerceptionEvent], share: float, dice: random.Random
) -> list[PerceptionEvent]:
    """The events with this share of their importances replaced by dice."""
    return [
        replace(event, importance=dice.randint(1, 10)) if dice.random() < share else event
        for event in events
    ]


def _in_order(
    events: Sequence[PerceptionEvent], order: Sequence[int], budget: Budget, count: Count
) -> Truncated:
    """Take events in this order while they fit, gap markers counted, as the others do."""
    costs = [event_cost(event, count) for event in events]
    markers: dict[tuple[int, bool], int] = {}

    def marker(size: int, *, leading: bool) -> int:
        if size < 1:
            return 0
        key = size, leading
        if key not in markers:
            markers[key] = gap_cost(size, count, leading=leading)
        return markers[key]

    kept: list[int] = []
    flags = [False] * len(events)
    tokens = marker(len(events), leading=True)
    for one in order:
        left = one - 1
        while left >= 0 and not flags[left]:
            left -= 1
        right = one + 1
        while right < len(events) and not flags[right]:
            right += 1
        change = (
            costs[one]
            + marker(one - left - 1, leading=left < 0)
            + marker(right - one - 1, leading=False)
            - marker(right - left - 1, leading=left < 0)
        )
        if budget.tokens is None or tokens + change <= budget.tokens:
            tokens += change
            flags[one] = True
            kept.append(one)
    return Truncated.of(events, kept, tokens=tokens)


def _policies() -> dict[str, Policy]:
    def fifo(talk: Conversation, budget: Budget, count: Count) -> list[Truncated]:
        return [Fifo().truncate(talk.events, budget, count)]

    def at_random(talk: Conversation, budget: Budget, count: Count) -> list[Truncated]:
        views = []
        for seed in range(SEEDS):
            order = list(range(len(talk.events)))
            random.Random(seed).shuffle(order)
            views.append(_in_order(talk.events, order, budget, count))
        return views

    def oracle(talk: Conversation, budget: Budget, count: Count) -> list[Truncated]:
        asked = dict.fromkeys((event.id for event in talk.events), 0)
        for question in talk.questions:
            for one in question.evidence:
                asked[one] += 1
        costs = [event_cost(event, count) for event in talk.events]
        worth = [
            asked[event.id] / max(cost, 1) for event, cost in zip(talk.events, costs, strict=True)
        ]
        order = sorted(range(len(worth)), key=lambda one: (-worth[one], -one))
        return [_in_order(talk.events, order, budget, count)]

    def important(talk: Conversation, budget: Budget, count: Count) -> list[Truncated]:
        events = _scored(talk.events)
        order = sorted(range(len(events)), key=lambda one: (-(events[one].importance or 0), -one))
        return [_in_order(events, order, budget, count)]

    def ours(corrupted: float) -> Policy:
        def run(talk: Conversation, budget: Budget, count: Count) -> list[Truncated]:
            events = _scored(talk.events)
            seeds = range(SEEDS if corrupted else 1)
            streams = [_corrupted(events, corrupted, random.Random(seed)) for seed in seeds]
            return [ImportanceWeighted().truncate(one, budget, count) for one in streams]

        return run

    return {
        "FIFO": fifo,
        "random": at_random,
        "importance alone": important,
        **{_ours_name(share): ours(share) for share in CORRUPTED},
        "oracle": oracle,
    }


def _ours_name(corrupted: float) -> str:
    return "ours" if not corrupted else f"ours, {corrupted:.0%} of importances random"


def _with_replies(talk: Conversation, dice: random.Random) -> Conversation:
    """The same talk with every tenth turn marked as a reply to one of the twenty before it.

    The file has no replies; these only show whether parents are kept, not how often people reply.
    """
    events = list(talk.events)
    for position in range(1, len(events)):
        if dice.random() < 1 / REPLY_EVERY:
            parent = events[dice.randrange(max(0, position - 20), position)]
            events[position] = replace(events[position], reply_to=parent.id)
    return replace(talk, events=tuple(events))


def _measured(talk: Conversation, view: Truncated) -> dict[str, float]:
    kept = {event.id for event in view.kept}
    ids = [event.id for event in talk.events]
    pairs = [(one, two) for one, two in pairwise(ids) if two in kept]
    replies = [event for event in talk.events if event.id in kept and event.reply_to is not None]
    return {
        "evidence": fmean(
            len(question.evidence & kept) / len(question.evidence) for question in talk.questions
        ),
        "last": fmean(one in kept for one in ids[-LAST:]),
        "neighbour": fmean(one in kept for one, _ in pairs) if pairs else 1.0,
        "parent": fmean(event.reply_to in kept for event in replies) if replies else 1.0,
        "gaps": float(len(view.gaps)),
        "used": float(view.tokens),
    }


def measure(talks: Sequence[Conversation], count: Count) -> dict[str, Any]:
    """Every policy at every budget: means over the questions and turns of all conversations."""
    results: dict[str, Any] = {}
    for name, policy in _policies().items():
        results[name] = {}
        for share in SHARES:
            rows = [_row(talk, policy, share, count) for talk in talks]
            asked = [len(talk.questions) for talk in talks]
            results[name][f"{share:.0%}"] = {
                key: sum(n * row[key] for n, row in zip(asked, rows, strict=True)) / sum(asked)
                for key in rows[0]
            }
    return results


def _row(talk: Conversation, policy: Policy, share: float, count: Count) -> dict[str, float]:
    whole = sum(event_cost(event, count) for event in talk.events)
    budget = Budget(tokens=int(whole * share))
    row = _mean([_measured(talk, view) for view in policy(talk, budget, count)])
    row["used"] /= budget.tokens or 1
    # Apart from the rest, because replies that nobody wrote say nothing about evidence.
    replying = _with_replies(talk, random.Random(7))
    made = _mean([_measured(replying, view) for view in policy(replying, budget, count)])
    return row | {"parent": made["parent"]}


def _mean(some: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: fmean(one[key] for one in some) for key in some[0]}


async def _counted(talks: Sequence[Conversation]) -> tuple[dict[str, Any], str]:
    """The results, counted with the model's tokenizer if it is installed."""
    try:
        embedder = await open_embedder(model_dir=None, cache_dir=Settings().cache_dir())
    except EmbedderError as fault:
        return measure(talks, estimate_tokens), f"estimated ({fault})"
    try:
        # The same lines are counted for every policy and budget.
        return measure(talks, cache(embedder.count_tokens)), f"the tokenizer of {embedder.name}"
    finally:
        await embedder.close()


def _rows(results: dict[str, Any]) -> list[list[str]]:
    def cell(kept: dict[str, float]) -> str:
        others = (kept[key] for key in ("last", "neighbour", "parent"))
        return " / ".join(
            [f"{100 * kept['evidence']:.1f}", *(f"{100 * one:.0f}" for one in others)]
        )

    return [
        [name, *(cell(by_budget[f"{share:.0%}"]) for share in SHARES)]
        for name, by_budget in results.items()
    ]


def main(argv: list[str]) -> int:
    """``truncation PATH [--json OUT]``."""
    parser = argparse.ArgumentParser(prog="benchmarks truncation", description=__doc__)
    parser.add_argument("path", type=Path, help="conversations with questions and evidence, JSON")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args(argv)
    talks = load(options.path)
    results, counted = asyncio.run(_counted(talks))
    title = (
        f"kept (%): evidence / last {LAST} turns / turn before / what a reply answers; {counted}"
    )
    report.show(title, ["tokens", *(f"{share:.0%}" for share in SHARES)], _rows(results))
    report.write(options.json, {"benchmark": "truncation", "tokens": counted, "kept": results})
    return 0
