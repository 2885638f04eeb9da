"""A bot that remembers: real chat goes in, questions come back answered, a restart changes nothing.

Run it with ``make demo``. The chat is the public log in the package ``chitchat-dataset``: strangers
at one university who talked with each other in 2018. Everything is kept in a temporary folder.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memory_plugin import Hit, Memory, PerceptionEvent, Place, Scope, Source

AGENT = "demo-bot"
UTTERANCES = 5_000
# Shorter conversations are mostly "anyone there?".
SHORTEST = 60
WIDEST = 98
NAMES = (
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Edda",
    "Finn",
    "Gwen",
    "Hugo",
    "Inga",
    "Jack",
    "Kira",
    "Leo",
    "Mina",
    "Noel",
    "Olga",
    "Paul",
    "Quin",
    "Rosa",
    "Sam",
    "Tara",
    "Uma",
    "Vera",
    "Wim",
    "Xena",
    "Yann",
    "Zoe",
    "Amir",
    "Bela",
    "Cora",
    "Dora",
    "Emil",
    "Faye",
    "Gil",
    "Hana",
    "Ivan",
    "June",
    "Karl",
    "Lena",
    "Max",
    "Nora",
)
QUESTIONS = (
    "Who came from Nigeria to study?",
    "Who wants to become a UX designer?",
    "Who found out from a DNA test where their family comes from?",
    "Who broke a bone?",
    "Who speaks a foreign language?",
)
# After the restart, where somebody has just said that they go and get some food.
ASKED_LATER = "Where can I get a good burger?"
ASKED_IN = "#talk-28"
LEGEND = (
    "The number before a line is about the chance that the line answers the question. What speaks "
    "for it is below, strongest first. words: the same words; meaning: close in meaning; "
    "neighbour: the lines around it; session: the conversation around it; length: says more than "
    "a word or two; person: somebody whom the question names."
)
# So that a context fits on a screen; a bot would give it more of both.
WINDOW = 6
TOKENS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """What the second process is told by the first, to compare and to go on with."""

    path: Path
    now: datetime
    place_key: str
    window: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question and what came to mind."""

    question: str
    hits: Sequence[Hit]
    took_s: float


def conversations() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Whole conversations of the chat log, about 5,000 utterances in all."""
    spec = importlib.util.find_spec("chitchat_dataset")
    if spec is None or spec.origin is None:
        sys.exit('The demo needs its chat log: pip install "memory-plugin[demo]"')
    log = json.loads(Path(spec.origin).with_name("dataset.json").read_text(encoding="utf-8"))
    taken = 0
    for name, conversation in log.items():
        said = [one for burst in conversation["messages"] for one in burst]
        if len(said) >= SHORTEST:
            yield name, said
            taken += len(said)
        if taken >= UTTERANCES:
            return


def pseudonyms(senders: Iterable[str]) -> dict[str, str]:
    """A readable name for each anonymous id: in every run the same one, and no two alike."""
    named: dict[str, str] = {}
    for sender in senders:
        if sender not in named:
            digest = blake2b(sender.encode(), digest_size=2).digest()
            first = NAMES[digest[0] % len(NAMES)]
            initials = (chr(65 + (digest[1] + step) % 26) for step in range(26))
            taken = set(named.values())
            named[sender] = next(
                name for initial in initials if (name := f"{first} {initial}") not in taken
            )
    return named


def events() -> list[PerceptionEvent]:
    """The conversations as an agent perceives them: each one a public channel of one server."""
    found = []
    chosen = list(conversations())
    named = pseudonyms(one["sender"] for _, said in chosen for one in said)
    for number, (name, said) in enumerate(chosen, start=1):
        place = Place(
            platform="chitchat",
            space="campus",
            channel=name,
            name=f"#talk-{number}",
            visibility="public",
        )
        found += [
            PerceptionEvent(
                agent_id=AGENT,
                place=place,
                source=Source(
                    entity_id=f"chitchat:user:{one['sender']}",
                    entity_name=named[one["sender"]],
                ),
                content=one["text"],
                timestamp=datetime.fromisoformat(one["timestamp"]),
                external_id=f"{name}:{index}",
            )
            for index, one in enumerate(said)
        ]
    return found


def heading(console: Console, text: str) -> None:
    """A line that says what comes next."""
    console.print()
    console.print(f"── {text} ".ljust(console.width, "─"), style="bold", markup=False)
    console.print()


def show(console: Console, text: str, *, indent: str = "  ") -> None:
    """Text as it is, folded to the width of the page."""
    for line in text.splitlines():
        folded = textwrap.fill(
            line, console.width, initial_indent=indent, subsequent_indent=indent + "    "
        )
        console.print(folded or indent, markup=False, highlight=False, soft_wrap=True)


def show_answer(console: Console, answer: Answer) -> None:
    """A question, and the best of what came to mind with the reasons."""
    console.print(
        f"? {answer.question}   [{answer.took_s * 1000:.0f} ms]", style="bold cyan", markup=False
    )
    for hit in answer.hits:
        event = hit.event
        said = f"{event.source.entity_name} in {event.place.name}: {event.content}"
        show(console, f"{hit.score:.2f}  {said}")
        # What every line starts with says nothing about this one.
        parts = [one for one in hit.parts.items() if one[0] != "base"]
        strongest = sorted(parts, key=lambda one: -abs(one[1]))[:4]
        reasons = ", ".join(f"{name} {weight:+.1f}" for name, weight in strongest)
        console.print(f"        because: {reasons}", style="dim", markup=False, highlight=False)
    console.print()


async def ask(memory: Memory, question: str, place: Place) -> Answer:
    """What comes to mind in a public channel: nothing that was not public on this server."""
    began = time.perf_counter()
    hits = await memory.recall(question, Scope(agent_id=AGENT, place=place), limit=2)
    return Answer(question=question, hits=hits, took_s=time.perf_counter() - began)


async def take_in(console: Console, memory: Memory, said: Sequence[PerceptionEvent]) -> None:
    """Store everything, then wait until all of it is understood by meaning too."""
    with Progress(
        TextColumn("  {task.description:<10}"),
        BarColumn(bar_width=max(10, min(40, console.width - 40))),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        stored = bar.add_task("storing", total=len(said))
        for start in range(0, len(said), 500):
            await memory.perceive_many(said[start : start + 500])
            bar.update(stored, completed=min(start + 500, len(said)))
        embedded = bar.add_task("embedding", total=len(said))
        work = asyncio.create_task(memory.embed_pending())
        # The memory embeds in the background as well: what no longer waits is done.
        while not (await asyncio.wait([work], timeout=0.2))[0]:
            waiting = (await memory.status())["awaiting_vectors"]
            bar.update(embedded, completed=len(said) - waiting)
        work.result()
        bar.update(embedded, completed=len(said) - (await memory.status())["awaiting_vectors"])


def opened(path: Path, now: datetime) -> Awaitable[Memory]:
    """The memory of the demo, with a clock that stands still."""
    return Memory.open({"path": path, "window_messages": WINDOW}, clock=lambda: now)


async def first_run(console: Console, path: Path) -> Restart:
    """Import the chat and ask about it."""
    said = events()
    now = max(one.timestamp for one in said) + timedelta(hours=1)
    here = next(one.place for one in said if one.place.name == ASKED_IN)
    people = len({one.source.entity_id for one in said})
    places = len({one.place.key for one in said})
    async with await opened(path, now) as memory:
        heading(console, "1. A bot listens")
        show(
            console, f"{len(said):,} lines by {people} people in {places} channels go into a file."
        )
        show(
            console,
            f"The clock is set to {now:%Y-%m-%d}, an hour after the last line, so that ages read "
            "as they would have then.",
        )
        await take_in(console, memory, said)
        status = await memory.status()
        size = status["store"]["bytes"] / 1e6
        show(console, f"Recall by {status['mode']}. The file has {size:.1f} MB.")

        heading(console, "2. It is asked about what it heard")
        show(console, LEGEND)
        console.print()
        # The first question of a process reads the memory into RAM; the times leave that out.
        await ask(memory, "hello", here)
        answers = [await ask(memory, question, here) for question in QUESTIONS]
        for answer in answers:
            show_answer(console, answer)
        if not any(answer.hits for answer in answers):
            sys.exit("Nothing came to mind: something is wrong with this installation.")
        window = await memory.window(AGENT, here)
    return Restart(path=path, now=now, place_key=here.key, window=[one.id for one in window])


def restarted(told: Restart) -> None:
    """Run the second half as a process of its own; raises if it fails."""
    words = [str(told.path), told.now.isoformat(), told.place_key, ",".join(told.window)]
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, *words], check=True)  # noqa: S603 - our own command


async def second_run(console: Console, told: Restart) -> None:
    """What a fresh process knows: the recent conversation, and a context for a language model."""
    async with await opened(told.path, told.now) as memory:
        newest = (await memory.history(AGENT, told.place_key, limit=1))[-1]
        window = await memory.window(AGENT, newest.place)
        if [one.id for one in window] != list(told.window):
            sys.exit(f"The conversation in {newest.place.name} is not what it was: a fault.")
        show(
            console,
            f"The last {len(window)} lines of {newest.place.name} are back, the same by their ids. "
            "They end with:",
        )
        for event in window[-2:]:
            show(console, f"{event.source.entity_name}: {event.content}", indent="    ")
        console.print()
        asked = PerceptionEvent(
            agent_id=AGENT,
            place=newest.place,
            source=newest.source,
            content=ASKED_LATER,
            timestamp=told.now,
            addressing=AGENT,
            requires_response=True,
        )
        await memory.perceive(asked)
        show(console, f"{asked.source.entity_name} asks the bot there: {asked.content}")
        show(console, "This is what a language model would be given:")
        console.print()
        context = await memory.build_context(
            AGENT,
            asked.place,
            event=asked,
            identity="You are a friendly bot on a campus chat server.",
            budget_tokens=TOKENS,
        )
        show(console, context.text, indent="  │ ")
        console.print()
        show(console, f"{context.tokens} tokens of {TOKENS}.")


def command() -> str:
    """The command line of this installation, as one types it here."""
    program = Path(sys.executable).with_name("memory-plugin")
    here = Path.cwd()
    return str(program.relative_to(here) if program.is_relative_to(here) else program)


def main() -> None:
    """Both runs, or, called with what the first one told, only the second."""
    console = Console(width=min(WIDEST, Console().width))
    if len(sys.argv) > 1:
        path, now, key, window = sys.argv[1:]
        told = Restart(
            path=Path(path),
            now=datetime.fromisoformat(now),
            place_key=key,
            window=window.split(","),
        )
        asyncio.run(second_run(console, told))
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memory-plugin-demo-") as folder:
        told = asyncio.run(first_run(console, Path(folder) / "memory.sqlite3"))
        heading(console, "3. The bot is stopped, and another process opens the same file")
        restarted(told)
    show(console, f"Done in {time.monotonic() - began:.0f} s; the temporary folder is gone.")
    console.print()
    show(console, f"Try it with your own chat: {command()} import --help")


if __name__ == "__main__":
    main()
