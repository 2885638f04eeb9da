"""`stats`: how much is remembered, of whom, where and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Annotated

import typer

from memory_plugin.cli.naming import place_key
from memory_plugin.cli.opening import (
    AnyAgentOption,
    DbOption,
    JsonOption,
    PlaceOption,
    agent_of,
    memory_at,
)
from memory_plugin.cli.output import counted, local, printable, say, say_json
from memory_plugin.cli.running import command
from memory_plugin.parts import Statistics

WIDTH = 40
FEW = 100
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def bar(value: int, most: int, width: int = WIDTH) -> str:
    """A bar as long as `value` is of `most`, exact to an eighth of a cell."""
    if most <= 0 or value <= 0:
        return ""
    whole, eighth = divmod(max(1, round(value / most * width * 8)), 8)
    return ("█" * whole + _EIGHTHS[eighth]).rstrip()


@command
async def stats(
    *,
    place: PlaceOption = None,
    days: Annotated[int, typer.Option(min=1, help="How many days the chart by day shows.")] = 14,
    agent: AnyAgentOption = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count events, people and places, by hour and day too.

    Hours and days are those of UTC.
    """
    async with memory_at(db) as memory:
        agents = await memory.agents()
        whose = await agent_of(memory, agent) if agent is not None or len(agents) == 1 else None
        numbers = await memory.statistics(whose, await place_key(memory, whose, place))
    if as_json:
        say_json({"agents": agents if whose is None else [whose], **_json_of(numbers)})
        return
    _show(numbers, agents if whose is None else [whose], days)


def _json_of(numbers: Statistics) -> dict[str, object]:
    values = asdict(numbers)
    for name in ("first", "last"):
        at = values[name]
        values[name] = None if at is None else at.isoformat()
    for name in ("by_author", "by_place"):
        values[name] = [
            {"id": one, "name": called, "events": count} for one, called, count in values[name]
        ]
    return values


def _show(numbers: Statistics, agents: Sequence[str], days: int) -> None:
    say(f"agents  {printable(', '.join(agents)) or 'none'}")
    say(f"events  {numbers.events:,}")
    say(f"people  {numbers.authors:,}")
    say(f"places  {numbers.places:,}")
    if numbers.first is None or numbers.last is None:
        return
    say(f"from    {local(numbers.first)}")
    say(f"until   {local(numbers.last)}")
    _chart("By type", list(numbers.by_type.items()))
    _chart("Busiest people", [(name or one, count) for one, name, count in numbers.by_author])
    _chart("Busiest places", [(name or one, count) for one, name, count in numbers.by_place])
    hours = [(f"{hour:02}", count) for hour, count in enumerate(numbers.by_hour)]
    _chart("By hour (UTC)", _worth_a_row(hours, numbers.events))
    weekdays = list(zip(_WEEKDAYS, numbers.by_weekday, strict=True))
    _chart("By weekday (UTC)", _worth_a_row(weekdays, numbers.events))
    newest = sorted(numbers.by_day.items())[-days:]
    title = f"By day (the newest {counted(len(newest), 'day')} with events, UTC)"
    _chart(title, [(f"{day} {_weekday(day)}", count) for day, count in newest])


def _worth_a_row(rows: list[tuple[str, int]], events: int) -> list[tuple[str, int]]:
    """Of few events only the rows that have some; of many, empty ones tell something too."""
    return rows if events >= FEW else [row for row in rows if row[1]]


def _weekday(day: str) -> str:
    return _WEEKDAYS[date.fromisoformat(day).weekday()]


def _chart(title: str, rows: Sequence[tuple[str, int]]) -> None:
    labels = [printable(label)[:24] for label, _ in rows]
    most = max((count for _, count in rows), default=0)
    wide = max((len(label) for label in labels), default=0)
    digits = len(f"{most:,}")
    say()
    say(title)
    for label, (_, count) in zip(labels, rows, strict=True):
        say(f"  {label:{wide}}  {count:>{digits},}  {bar(count, most)}".rstrip())
