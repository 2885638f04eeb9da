"""`forget`, `export`, `backup`, `restore` and `check`: the owner's duties."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal, TextIO
from uuid import uuid4

import typer

from memory_plugin.cli.naming import everything, person_id, place_key
from memory_plugin.cli.opening import (
    AnyAgentOption,
    DbOption,
    JsonOption,
    PersonOption,
    PlaceOption,
    SinceOption,
    UntilOption,
    agent_of,
    memory_at,
    path_of,
    time_from,
)
from memory_plugin.cli.output import counted, line_of, note, printable, say, say_json
from memory_plugin.cli.running import ProblemError, UsageError, command
from memory_plugin.codec import dumps
from memory_plugin.engine import Memory
from memory_plugin.errors import StoreError
from memory_plugin.parts import Selection
from memory_plugin.types import PerceptionEvent

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


async def selected(
    memory: Memory,
    agent: str | None,
    *,
    person: str | None = None,
    place: str | None = None,
    event: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Selection:
    """The selection that the options name."""
    whose = None if agent is None else await agent_of(memory, agent)
    return Selection(
        agent_id=whose,
        entity_id=await person_id(memory, whose, person),
        place_key=await place_key(memory, whose, place),
        event_id=event,
        since=time_from("since", since),
        until=time_from("until", until),
    )


async def pages(memory: Memory, selection: Selection) -> AsyncIterator[list[PerceptionEvent]]:
    """The selected events, page by page, in order of arrival."""
    after = 0
    while True:
        events, after = await memory.export(selection, after)
        if not events:
            return
        yield events


@command
async def forget(
    *,
    person: PersonOption = None,
    place: PlaceOption = None,
    event: Annotated[str | None, typer.Option(help="The id of one event.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    yes: YesOption = False,
    agent: AnyAgentOption = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase events with all their traces.

    Every given option must match. The events are refused from then on, also when the same export
    is imported again. Copies made by `backup` and `export` are not touched.
    """
    if all(one is None for one in (person, place, event, since, until)):
        raise UsageError("say what to forget: --person, --place, --event, --since or --until")
    async with memory_at(db) as memory:
        selection = await selected(
            memory, agent, person=person, place=place, event=event, since=since, until=until
        )
        count = 0
        async for events in pages(memory, selection):
            count += len(events)
        if count and not yes:
            # A name was typed; the id shows who was found by it.
            meant = " at ".join(one for one in (selection.entity_id, selection.place_key) if one)
            shown = f" ({printable(meant)})" if meant else ""
            _confirm(f"Erase {counted(count, 'event')}{shown} for good?")
        erased = await memory.forget(selection)
    if as_json:
        say_json({"events": erased.events, "vectors": erased.vectors, "ids": list(erased.ids)})
    else:
        say(f"forgot {counted(erased.events, 'event')} and {counted(erased.vectors, 'vector')}")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is here to ask; say --yes")
    if not typer.confirm(question, err=True):
        raise ProblemError("nothing was erased")


@command
async def export(
    *,
    person: PersonOption = None,
    place: PlaceOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    format_: Annotated[
        Literal["jsonl", "text"], typer.Option("--format", help="JSON lines, or text to read.")
    ] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file; stdout if left out.")
    ] = None,
    agent: AnyAgentOption = None,
    db: DbOption = None,
) -> None:
    """Write out events, as JSON lines that `import` reads, or as text."""
    async with memory_at(db) as memory:
        selection = await selected(
            memory, agent, person=person, place=place, since=since, until=until
        )
        if selection == Selection():
            selection = everything(None)
        count = 0
        with _opened(output) as file:
            async for events in pages(memory, selection):
                for event in events:
                    file.write((dumps(event) if format_ == "jsonl" else line_of(event)) + "\n")
                count += len(events)
    if output is not None:
        note(f"wrote {counted(count, 'event')} to {output}")


def _opened(output: Path | None) -> nullcontext[TextIO] | TextIO:
    if output is None:
        return nullcontext(sys.stdout)
    try:
        # What people said is nobody else's business.
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as fault:
        raise UsageError(f"{output} exists already; name a new file") from fault
    return os.fdopen(handle, "w", encoding="utf-8")


@command
async def backup(
    *,
    target: Annotated[Path, typer.Argument(help="A file that does not exist yet.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the memory while bots go on using it."""
    async with memory_at(db) as memory:
        await memory.backup(target)
    size = target.stat().st_size
    if as_json:
        say_json({"target": str(target), "bytes": size})
    else:
        say(f"{target}: {counted(size, 'byte')}")


@command
async def restore(
    *,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", exists=True, dir_okay=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace the memory there.")] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place of the memory, after checking it. Stop the bots first."""
    target = path_of(db)
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; say --force to replace it")
    if target.exists() and target.samefile(source):
        raise UsageError(f"{target} is that backup itself")
    target.parent.mkdir(parents=True, exist_ok=True)
    # A copy beside the target: checked before anything is replaced, and put in place in one step.
    fresh = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        async with memory_at(source) as memory:
            await memory.backup(fresh)
        async with memory_at(fresh) as memory:
            problems = await memory.check()
            events = (await memory.statistics()).events
        if problems:
            raise StoreError(f"{source} is damaged ({problems[0]}); nothing was replaced")
        _put_in_place(fresh, target)
    finally:
        for suffix in ("", "-wal", "-shm"):
            fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
    if as_json:
        say_json({"path": str(target), "events": events})
    else:
        say(f"restored {counted(events, 'event')} to {target}")


def _put_in_place(fresh: Path, target: Path) -> None:
    # A log of the old file beside the new one would be replayed into it and destroy it.
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    fresh.replace(target)


@command
async def check(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look whether the file is sound.

    Exit code 1 if something is (still) wrong.
    """
    done: list[str] = []
    async with memory_at(db) as memory:
        problems = await memory.check()
        found = problems
        if repair and problems:
            done = await memory.repair()
            problems = await memory.check()
    if as_json:
        say_json({"found": found, "repaired": done, "problems": problems})
    else:
        for line in [*(found if done else problems), *done]:
            say(line)
        if not problems:
            say("all is well")
    if problems:
        hint = "restore a backup" if repair else "try --repair"
        raise ProblemError(f"{counted(len(problems), 'problem')}; {hint}")
