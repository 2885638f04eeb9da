"""`recall`, `context` and `history`: what is remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from memory_plugin.cli.naming import person_id, place_key, place_of
from memory_plugin.cli.opening import (
    AgentOption,
    DbOption,
    JsonLinesOption,
    JsonOption,
    PersonOption,
    PlaceOption,
    PluginOption,
    SinceOption,
    UntilOption,
    agent_of,
    memory_at,
    time_from,
)
from memory_plugin.cli.output import (
    hit_to_json,
    is_terminal,
    line_of,
    note,
    printable,
    say,
    say_json,
    say_table,
    where,
)
from memory_plugin.cli.running import UsageError, command
from memory_plugin.codec import event_to_json
from memory_plugin.context.ages import age_in_words
from memory_plugin.engine import Memory
from memory_plugin.types import EVENT_TYPES, EventType, Hit, Scope, Source, age_between, utc_now

TypeOption = Annotated[
    list[str] | None, typer.Option("--type", help=f"One of {', '.join(EVENT_TYPES)}; repeatable.")
]


def _types(given: list[str] | None) -> tuple[EventType, ...] | None:
    for one in given or ():
        if one not in EVENT_TYPES:
            raise UsageError(f"no event type {one!r}; there are {', '.join(EVENT_TYPES)}")
    return tuple(one for one in EVENT_TYPES if one in given) if given else None


@command
async def recall(
    *,
    query: Annotated[str | None, typer.Argument(help="What to remember.")] = None,
    agent: AgentOption = None,
    person: PersonOption = None,
    place: PlaceOption = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", "--at-place", help="Only what may be shown at this place; else everything."
        ),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    type_: TypeOption = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 10,
    tokens: Annotated[int | None, typer.Option(min=1, help="At most so much text.")] = None,
    min_score: Annotated[float, typer.Option(min=0.0, max=1.0, help="None below this.")] = 0.0,
    parts: Annotated[bool, typer.Option("--parts", help="Show what made each score.")] = False,
    plugin: PluginOption = None,
    db: DbOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Find what is worth remembering now.

    By words, meaning, person, place and time.
    """
    if query is None and person is None:
        raise UsageError("say what to recall, or whom with --person")
    event_types = _types(type_)
    from_, to = time_from("since", since), time_from("until", until)
    async with memory_at(db, model="auto", plugins=plugin) as memory:
        whose = await agent_of(memory, agent)
        shown_at = await place_of(memory, whose, at) if at is not None else None
        entity = await person_id(memory, whose, person)
        key = await place_key(memory, whose, place)
        scope = Scope(
            agent_id=whose,
            place=shown_at,
            everything=shown_at is None,
            entities=None if entity is None else (entity,),
            places=None if key is None else (key,),
            since=from_,
            until=to,
            event_types=event_types,
        )
        hits = await memory.recall(
            query,
            scope,
            limit=limit,
            budget_tokens=tokens,
            min_score=min_score,
            now=datetime.now().astimezone(),
        )
    if as_json:
        for hit in hits:
            say_json(hit_to_json(hit))
    else:
        show_hits(hits, parts=parts)


def show_hits(hits: list[Hit], *, parts: bool) -> None:
    """A table: score, age, where, who, text."""
    if not hits:
        note("nothing comes to mind")
        return
    now, rows = utc_now(), []
    for hit in hits:
        event = hit.event
        age = age_in_words(age_between(event.timestamp, now))
        who = event.source.entity_name
        rows.append([f"{hit.score:.2f}", age, where(event), who, event.content])
    remarks = [parts_in_words(hit) for hit in hits] if parts else []
    say_table(["score", "age", "where", "who", "text"], rows, remarks)


def parts_in_words(hit: Hit) -> str:
    """The addends of a score that count, strongest first."""
    by_weight = sorted(hit.parts.items(), key=lambda one: -abs(one[1]))
    return " ".join(f"{name}{value:+.1f}" for name, value in by_weight if abs(value) >= 0.05)


@command
async def context(
    *,
    query: Annotated[str | None, typer.Argument(help="What is being talked about.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", "--place", help="Where; the busiest place if left out.")
    ] = None,
    person: PersonOption = None,
    identity: Annotated[str, typer.Option(help="Who the agent is, in your words.")] = "",
    tokens: Annotated[int | None, typer.Option(min=1, help="The budget.")] = None,
    messages: Annotated[bool, typer.Option("--messages", help="As chat messages.")] = False,
    agent: AgentOption = None,
    plugin: PluginOption = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the agent would have in mind at a place.

    As a language model would get it.
    """
    async with memory_at(db, model="auto", plugins=plugin) as memory:
        whose = await agent_of(memory, agent)
        if at is None:
            busiest = (await memory.statistics(whose)).by_place
            at = busiest[0][0] if busiest else ""
        place = await place_of(memory, whose, at)
        built = await memory.build_context(
            whose,
            place,
            query=query,
            speaker=await _speaker(memory, whose, person),
            identity=identity,
            budget_tokens=tokens,
            now=datetime.now().astimezone(),
        )
    if as_json:
        say_json(
            {
                "text": built.text,
                "messages": [dict(one) for one in built.messages],
                "tokens": built.tokens,
                "trace": dict(built.trace),
            }
        )
    elif messages:
        for one in built.messages:
            say(f"[{one['role']}]")
            _say_lines(one["content"])
            say()
    else:
        _say_lines(built.text)


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(printable(line))


async def _speaker(memory: Memory, agent: str, person: str | None) -> Source | None:
    entity = await person_id(memory, agent, person)
    if entity is None:
        return None
    known = await memory.acquaintance(agent, entity)
    return Source(entity_id=entity, entity_name=known.names[0] if known else entity)


@command
async def history(
    *,
    person: PersonOption = None,
    place: PlaceOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    type_: TypeOption = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 50,
    agent: AgentOption = None,
    db: DbOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Show the newest events, oldest first."""
    event_types = _types(type_)
    from_, to = time_from("since", since), time_from("until", until)
    async with memory_at(db) as memory:
        whose = await agent_of(memory, agent)
        events = await memory.history(
            whose,
            await place_key(memory, whose, place),
            entity_id=await person_id(memory, whose, person),
            event_types=event_types,
            limit=limit,
            before=to,
            since=from_,
        )
    for event in events:
        if as_json:
            say_json(event_to_json(event))
        else:
            say(line_of(event))
    if not events and is_terminal():
        note("nothing yet")
