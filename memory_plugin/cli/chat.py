"""`chat`: a small agent in the console that remembers you between runs."""

from __future__ import annotations

import getpass
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memory_plugin.cli.console import forget_typed, typed_lines
from memory_plugin.cli.opening import DbOption, JsonLinesOption, PluginOption, memory_at, path_of
from memory_plugin.cli.output import counted, printable, say, say_json, where
from memory_plugin.cli.running import command
from memory_plugin.context import Context
from memory_plugin.context.ages import age_in_words
from memory_plugin.engine import Memory
from memory_plugin.parts import Selection
from memory_plugin.types import (
    Hit,
    PerceptionEvent,
    Place,
    Scope,
    Source,
    age_between,
    utc_now,
)

HELP = (
    "/quit ends, /why tells what the last answer was made of, /who says what I know of you, "
    "/forget erases all that was said here, if you then say yes."
)
_SHOWN = 3


class Conversation:
    """One person and one agent at a console."""

    def __init__(
        self, memory: Memory, agent: str, name: str, *, as_json: bool, typed: Path
    ) -> None:
        """`typed` is the file that keeps what was typed, for the arrow keys."""
        self._memory = memory
        self._agent = agent
        self._me = Source(entity_id=f"console:user:{name}", entity_name=name, source_type="say")
        self._self = Source(entity_id=f"console:agent:{agent}", entity_name=agent)
        self._as_json = as_json
        self._typed = typed
        self._asked_to_forget = False
        self._place = Place(
            platform="console",
            channel=name,
            name="the console",
            visibility="direct",
            participants=(self._me.entity_id,),
        )

    async def greet(self) -> None:
        """Say hello, differently to somebody known."""
        known = await self._memory.acquaintance(self._agent, self._me.entity_id)
        if known is None:
            self._answer(f"Hello {self._me.entity_name}, we have not met. /help lists commands.")
            return
        ago = age_in_words(age_between(known.last_seen, utc_now()))
        self._answer(
            f"Hello again {self._me.entity_name}. We last spoke {ago}; "
            f"I remember {counted(known.events, 'thing')} you said."
        )

    async def hear(self, line: str) -> bool:
        """React to one line; False when the conversation is over."""
        if self._asked_to_forget:
            self._asked_to_forget = False
            if line.casefold() in ("y", "yes"):
                await self._forget()
                return True
            self._answer("Nothing was erased.")
            if line.casefold() in ("n", "no"):
                return True
        if line == "/quit":
            return False
        if line == "/help":
            self._answer(HELP)
        elif line == "/why":
            self._answer(
                await self._memory.why(self._agent, self._place) or "Nothing was said yet."
            )
        elif line == "/who":
            await self._tell_who()
        elif line == "/forget":
            await self._ask_to_forget()
        elif line.startswith("/"):
            self._answer(f"There is no command {line.split(maxsplit=1)[0]}. {HELP}")
        else:
            await self._reply(line)
        return True

    async def _ask_to_forget(self) -> None:
        said = (await self._memory.statistics(self._agent, self._place.key)).events
        self._asked_to_forget = said > 0
        self._answer(
            f"Erase {counted(said, 'thing')} said here for good? (yes/no)"
            if said
            else "Nothing was said yet."
        )

    async def _forget(self) -> None:
        selection = Selection(agent_id=self._agent, place_key=self._place.key)
        erased = await self._memory.forget(selection)
        forget_typed(self._typed)
        self._answer(f"I forgot {counted(erased.events, 'thing')} said here.")

    async def _tell_who(self) -> None:
        known = await self._memory.acquaintance(self._agent, self._me.entity_id)
        if known is None:
            self._answer("I know nothing of you yet.")
            return
        self._answer(
            f"You are {known.names[0]} ({known.entity_id}): {counted(known.events, 'thing')} said "
            f"on {counted(known.days, 'day')} since {known.first_seen.date().isoformat()}."
        )

    async def _reply(self, line: str) -> None:
        now = datetime.now().astimezone()
        event = PerceptionEvent(
            agent_id=self._agent,
            place=self._place,
            source=self._me,
            content=line,
            timestamp=now,
            addressing=self._self.entity_id,
            requires_response=True,
        )
        # Before it is stored, so that what was just said is no memory of itself.
        hits = await self._memory.recall(
            line, Scope(agent_id=self._agent, place=self._place), limit=_SHOWN, now=now
        )
        await self._memory.perceive(event)
        built: Context = await self._memory.build_context(
            self._agent, self._place, event=event, agent_name=self._agent, now=now
        )
        answer = await self._memory.respond(built, event) or in_plain_words(hits)
        await self._memory.perceive(
            PerceptionEvent(
                agent_id=self._agent,
                place=self._place,
                source=self._self,
                content=answer,
                timestamp=utc_now(),
                event_type="self_speech",
                addressing=self._me.entity_id,
                reply_to=event.id,
            )
        )
        self._answer(answer)

    def _answer(self, text: str) -> None:
        if self._as_json:
            say_json({"from": self._agent, "text": text})
        else:
            for row in text.splitlines():
                say(printable(row))
        sys.stdout.flush()


def in_plain_words(hits: list[Hit]) -> str:
    """What comes to mind, quoted; no answer is made up."""
    if not hits:
        return "That is new to me. I will remember it."
    now = utc_now()
    lines = ["That reminds me:"]
    for hit in hits:
        event = hit.event
        ago = age_in_words(age_between(event.timestamp, now))
        lines.append(
            f"- {ago}, {where(event)}, {event.source.entity_name}: {printable(event.content)}"
        )
    return "\n".join(lines)


@command
async def chat(
    *,
    name: Annotated[str | None, typer.Option(help="Your name; your login if left out.")] = None,
    agent: Annotated[str, typer.Option("--agent", help="The agent you talk with.")] = "console",
    plugin: PluginOption = None,
    db: DbOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Talk with an agent that remembers you the next time."""
    async with memory_at(db, model="auto", plugins=plugin, create=True) as memory:
        typed = path_of(db).with_name("chat-history")
        talk = Conversation(memory, agent, name or _login(), as_json=as_json, typed=typed)
        await talk.greet()
        async for line in typed_lines(typed):
            if line and not await talk.hear(line):
                break


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"
