"""What a person reads and what a program reads: stdout is data, everything else is stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from memory_plugin.codec import event_to_json
from memory_plugin.types import Hit, PerceptionEvent

_JSON = json.JSONEncoder(ensure_ascii=False, default=str)


def printable(text: str) -> str:
    """One line that cannot steer a terminal: control and invisible characters become spaces."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def is_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty()


def say(line: str = "") -> None:
    """A line of data on stdout, never wrapped."""
    sys.stdout.write(line + "\n")


def note(line: str) -> None:
    """A line to the person, on stderr."""
    sys.stderr.write(line + "\n")


def say_json(value: Any) -> None:
    """One JSON document on one line."""
    say(_JSON.encode(value))


def say_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int = -1) -> None:
    """Rows under heads; in a pipe one tab-separated line each, without the heads.

    `wide` is the column that may be folded over several lines.
    """
    clean = [[printable(cell) for cell in row] for row in rows]
    if not is_terminal():
        for row in clean:
            say("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, head in enumerate(heads):
        folds = index == wide % len(heads)
        table.add_column(head, overflow="fold" if folds else "ellipsis", no_wrap=not folds)
    for row in clean:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, highlight=False).print(table)


def progress(*, unit: str) -> Progress:
    """A bar with rate and rest time on stderr; nothing at all where nobody looks."""
    console = Console(file=sys.stderr)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(show_speed=False),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} " + unit + "/s"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=False,
    )


def where(event: PerceptionEvent) -> str:
    """The place of an event as a person would name it."""
    place = event.place
    return place.name or place.channel


def line_of(event: PerceptionEvent) -> str:
    """``2026-01-31 18:05 #general Ann: text``, in local time."""
    at = local(event.timestamp)
    return printable(f"{at}  {where(event)}  {event.source.entity_name}: {event.content}")


def local(at: datetime) -> str:
    """A time as the clock on the wall had it."""
    try:
        return at.astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError):
        return at.strftime("%Y-%m-%d %H:%M")


def hit_to_json(hit: Hit) -> dict[str, Any]:
    """A hit as JSON values."""
    return {"score": hit.score, "parts": dict(hit.parts), "event": event_to_json(hit.event)}
