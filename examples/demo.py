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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
WIDTH = 98
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
    "Which program is like Adobe Illustrator?",
    "Where can I get a good burger?",
    "Who found out from a DNA test where their family comes from?",
    "What strange dreams did people have?",
)


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


def pseudonym(sender: str) -> str:
    """A readable name for an anonymous id, always the same one."""
    digest = blake2b(sender.encode(), digest_size=4).digest()
    return f"{NAMES[digest[0] % len(NAMES)]} {chr(65 + digest[1] % 26)}"


def events() -> list[PerceptionEvent]:
    """The conversations as an agent perceives them: each one a public channel of one server."""
    found = []
    for number, (name, said) in enumerate(conversations(), start=1):
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
                    entity_name=pseudonym(one["sender"]),
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
    console.print(f"── {text} ".ljust(WIDTH, "─"), style="bold", markup=False)
    console.print()


def show(console: Console, text: str, *, indent: str = "  ") -> None:
    """Text as it is, folded to the width of the page."""
    for line in text.splitlines():
        folded = textwrap.fill(
            line, WIDTH, initial_indent=indent, subsequent_indent=indent + "    "
        )
        console.print(folded, markup=False, highlight=False, soft_wrap=True)


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


async def take_in(memory: Memory, said: Sequence[PerceptionEvent]) -> None:
    """Store everything, then wait until all of it is understood by meaning too."""
    with Progress(
        TextColumn("  {task.description:<10}"),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
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


async def first_run(console: Console, path: Path) -> None:
    """Import the chat and ask about it."""
    said = events()
    # One day after the last line was said, so that ages read as they would have then.
    today = max(one.timestamp for one in said) + timedelta(days=1)
    people = len({one.source.entity_id for one in said})
    places = len({one.place.key for one in said})
    async with await Memory.open({"path": path}, clock=lambda: today) as memory:
        heading(console, "1. A bot listens")
        show(
            console, f"{len(said):,} lines by {people} people in {places} channels go into a file."
        )
        await take_in(memory, said)
        status = await memory.status()
        size = status["store"]["bytes"] / 1e6
        show(console, f"Recall by {status['mode']}. The file has {size:.1f} MB.")

        heading(console, "2. It is asked about what it heard")
        answers = [await ask(memory, question, said[-1].place) for question in QUESTIONS]
        for answer in answers:
            show_answer(console, answer)
        show(console, "(The first question takes longer: it brings the memory into RAM.)")
        found = [answer for answer in answers if answer.hits]
        if not found:
            sys.exit("Nothing came to mind: something is wrong with this installation.")
        best = max(found, key=lambda one: one.hits[0].score)

    heading(console, "3. The bot is stopped, and another process opens the same file")
    command = [sys.executable, __file__, str(path), today.isoformat()]
    about = [best.hits[0].event.place.key, best.question]
    console.file.flush()
    await asyncio.to_thread(subprocess.run, [*command, *about], check=True)


async def second_run(console: Console, path: Path, today: datetime, key: str, query: str) -> None:
    """What a fresh process knows: the recent conversation, and a context for a language model."""
    async with await Memory.open({"path": path}, clock=lambda: today) as memory:
        newest = (await memory.history(AGENT, key, limit=1))[-1]
        window = await memory.window(AGENT, newest.place)
        show(console, f"The last lines of {newest.place.name} are back:")
        for event in window[-4:]:
            show(console, f"{event.source.entity_name}: {event.content}", indent="    ")
        console.print()
        show(console, f"Somebody asks there: {query}")
        show(console, "This is what a language model would be given:")
        console.print()
        context = await memory.build_context(
            AGENT,
            newest.place,
            query=query,
            speaker=newest.source,
            identity="You are a friendly bot on a campus chat server.",
            budget_tokens=600,
        )
        show(console, context.text, indent="  │ ")
        console.print()
        show(console, f"{context.tokens} tokens of 600. Nothing was lost.")


def main() -> None:
    """Both runs, or, called with a file, only the second."""
    console = Console(width=WIDTH + 2)
    if len(sys.argv) > 1:
        path, today, key, query = sys.argv[1:]
        at = datetime.fromisoformat(today).astimezone(UTC)
        asyncio.run(second_run(console, Path(path), at, key, query))
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memory-plugin-demo-") as folder:
        asyncio.run(first_run(console, Path(folder) / "memory.sqlite3"))
    show(console, f"Done in {time.monotonic() - began:.0f} s; the temporary folder is gone.")
    console.print()
    show(console, "Try it with your own chat: memory-plugin import --help")


if __name__ == "__main__":
    main()
