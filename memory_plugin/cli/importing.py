"""`import`: chat exports become memories, as often as one likes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import Progress, TaskID

from memory_plugin.cli.opening import (
    DbOption,
    JsonOption,
    agent_of,
    memory_at,
    path_of,
)
from memory_plugin.cli.output import counted, note, printable, progress, say, say_json
from memory_plugin.cli.running import ProblemError, UsageError, command
from memory_plugin.engine import Memory
from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers import FORMATS, Guesses, Options, Skipped, read
from memory_plugin.types import PerceptionEvent

BATCH = 500
_LOOK_S = 0.2
_STATUSES = ("stored", "known", "edited", "refused")


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of everything that was read."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, ImportFileError] = field(default_factory=dict)
    guesses: Guesses = field(default_factory=Guesses)
    restricted: int = 0

    def skip(self, skipped: Skipped) -> None:
        """One record that is no event, and why."""
        self.counts["skipped"] += 1
        self.reasons[skipped.reason] += 1
        self.examples.setdefault(skipped.reason, str(skipped.where))


@command
async def import_(
    *,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", exists=True, show_default=False)
    ],
    format_: Annotated[
        str | None, typer.Option("--format", help=f"One of {', '.join(FORMATS)}; else detected.")
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", help="Whose memory it becomes; the only one's in the file, or bot."
        ),
    ] = None,
    platform: Annotated[str | None, typer.Option(help="Where the chat took place.")] = None,
    space: Annotated[
        str | None, typer.Option(help="The guild, game or team it belongs to.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="The channel it belongs to, whatever the file says.")
    ] = None,
    visibility: Annotated[
        Literal["public", "restricted", "direct"] | None,
        typer.Option(help="Who could read it; as the file says, else restricted, if left out."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="The zone of times without one, such as Europe/Berlin.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and count; store nothing.")
    ] = False,
    no_embed: Annotated[
        bool, typer.Option("--no-embed", help="Leave embedding for later.")
    ] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import chat exports.

    Importing the same file again stores nothing twice, and an interrupted import goes on where it
    stopped when it is started again.
    """
    if format_ is not None and format_ not in FORMATS:
        raise UsageError(f"no format {format_!r}; there are {', '.join(FORMATS)}")
    where = {"platform": platform, "space": space, "channel": channel, "visibility": visibility}
    # Whoever names an agent means it, whatever agent events in the file were once of.
    asked = partial(_options, overrule_agent=agent is not None, timezone=timezone, **where)
    tally = Tally()
    embedded = 0
    if dry_run and not path_of(db).exists():
        await _read_all(None, paths, asked(agent_id=agent or "bot"), format_, tally)
    else:
        # Without the model: the bulk of the work first, vectors afterwards.
        async with memory_at(db, create=True) as memory:
            whose = await agent_of(memory, agent, fallback="bot")
            kept = None if dry_run else memory
            await _read_all(kept, paths, asked(agent_id=whose), format_, tally)
    if not dry_run and not no_embed:
        embedded = await embed_with_bar(db)
    assumed = tally.guesses.zoneless if timezone is None else 0
    _report(tally, embedded, assumed, dry_run=dry_run, as_json=as_json)
    _remark(tally, [f"--{name}" for name, value in where.items() if value is not None])
    if tally.unreadable:
        raise ProblemError(f"{len(tally.unreadable)} of {len(paths)} files could not be read")


def _options(**given: Any) -> Options:
    try:
        return Options(**given)
    except ValidationError as fault:
        raise UsageError(str(fault)) from fault


async def _read_all(
    memory: Memory | None,
    paths: Sequence[Path],
    options: Options,
    format_: str | None,
    tally: Tally,
) -> None:
    with progress(unit="events") as bar:
        for path in paths:
            task = bar.add_task(printable(path.name), total=None, rate="-")
            try:
                found = read(path, options, format_, tally.guesses)
                await _read_one(memory, found, tally, bar, task)
            except ImportFileError as fault:
                if len(paths) == 1:
                    raise
                # One file that is no chat log does not keep the others from being read.
                tally.unreadable[str(path)] = fault
                bar.remove_task(task)


async def _read_one(
    memory: Memory | None,
    found: Iterator[PerceptionEvent | Skipped],
    tally: Tally,
    bar: Progress,
    task: TaskID,
) -> None:
    began, done = time.monotonic(), 0
    while batch := list(islice(found, BATCH)):
        events = []
        for one in batch:
            if isinstance(one, Skipped):
                tally.skip(one)
            else:
                events.append(one)
        if memory is None:
            tally.counts["would be read"] += len(events)
            tally.restricted += sum(one.place.visibility == "restricted" for one in events)
        else:
            # Durable when it returns, so that an interruption costs at most this batch.
            answers = await memory.perceive_many(events)
            tally.counts.update(one.status for one in answers)
            tally.restricted += sum(
                one.place.visibility == "restricted" and answer.status == "stored"
                for one, answer in zip(events, answers, strict=True)
            )
        done += len(batch)
        bar.update(task, completed=done, rate=_rate(done, began))
        await asyncio.sleep(0)
    bar.update(task, completed=done, total=done)


async def embed_with_bar(db: Path | None) -> int:
    """Give every event that waits for a vector one; how many got one.

    The model's background worker does the same meanwhile, so progress is what no longer waits.
    """
    async with memory_at(db, model="auto") as memory:
        status = await memory.status()
        total = int(status["awaiting_vectors"])
        if status["embedder"] is None or total == 0:
            return 0
        began, waiting = time.monotonic(), total
        with progress(unit="vectors") as bar:
            task = bar.add_task("embedding", total=total, rate="-")
            work = asyncio.create_task(memory.embed_pending())
            try:
                while not (await asyncio.wait([work], timeout=_LOOK_S))[0]:
                    waiting = int((await memory.status())["awaiting_vectors"])
                    bar.update(task, completed=total - waiting, rate=_rate(total - waiting, began))
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            work.result()
            waiting = int((await memory.status())["awaiting_vectors"])
            bar.update(task, completed=total - waiting, rate=_rate(total - waiting, began))
        return total - waiting


def _rate(done: int, began: float) -> str:
    return f"{done / max(time.monotonic() - began, 1e-3):,.0f}"


def _report(tally: Tally, embedded: int, assumed: int, *, dry_run: bool, as_json: bool) -> None:
    names = ("would be read",) if dry_run else _STATUSES
    if as_json:
        say_json(
            {
                **{name.replace(" ", "_"): tally.counts[name] for name in (*names, "skipped")},
                "reasons": dict(tally.reasons),
                "unreadable": {path: str(fault) for path, fault in tally.unreadable.items()},
                "times_assumed_utc": assumed,
                "embedded": embedded,
            }
        )
        return
    say(", ".join(f"{tally.counts[name]:,} {name}" for name in (*names, "skipped")))
    for reason, count in tally.reasons.most_common():
        say(f"  {count:,} x {printable(reason)} (first: {printable(tally.examples[reason])})")
    if assumed:
        were = "was" if assumed == 1 else "were"
        note(
            f"{counted(assumed, 'time')} named no offset and {were} taken as UTC; "
            "--timezone names another zone"
        )
    for fault in tally.unreadable.values():
        note(printable(str(fault)))
    if embedded:
        note(f"{counted(embedded, 'event')} got a vector")


def _remark(tally: Tally, overruled: Sequence[str]) -> None:
    """What somebody would find out too late: events keep the place they were stored with."""
    if overruled and tally.counts["known"] and not tally.counts["stored"]:
        note(
            f"nothing is new, so {' and '.join(overruled)} changed nothing: "
            "what is stored keeps its place and visibility"
        )
    if tally.restricted and "--visibility" not in overruled:
        note(
            f"{counted(tally.restricted, 'event')} will be recalled only in the place of origin, "
            "or with no place named; if the chat was public, import it into a new file with "
            "--visibility public"
        )
