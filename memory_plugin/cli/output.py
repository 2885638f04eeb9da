"""What a person reads and what a program reads: stdout is data, everything else is stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len
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

_GAP, _NARROWEST = 2, 5
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


def counted(number: int, noun: str) -> str:
    """``1 event``, ``2 events``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say_json(value: Any) -> None:
    """One JSON document on one line."""
    say(_JSON.encode(value))


def say_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str] = ()
) -> None:
    """Rows under heads; in a pipe one tab-separated line each, without the heads.

    The last column may be long and is folded. `remarks`, one a row, stand under it; in a pipe
    they are the column before it.
    """
    clean = [[printable(cell) for cell in row] for row in rows]
    below = [printable(remark) for remark in remarks]
    if not is_terminal():
        for row, *remark in zip(clean, *([below] if below else []), strict=True):
            say("\t".join((*row[:-1], *remark, row[-1])))
        return
    console = Console(file=sys.stdout, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, width in zip(heads, _widths(heads, clean, console.width), strict=False):
        table.add_column(head, no_wrap=True, overflow="ellipsis", width=width)
    table.add_column(heads[-1], overflow="fold")
    for index, row in enumerate(clean):
        last = Text(row[-1])
        if below:
            last.append(f"\n{below[index]}", style="dim")
        table.add_row(*map(Text, row[:-1]), last)
    console.print(table)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    """How wide all columns but the last are, so that a third is left for that one."""
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=True)][:-1]
    room = columns - columns // 3 - _GAP * len(widths)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


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
