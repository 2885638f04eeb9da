"""Events for measuring speed, made from the texts of the PyPI package chitchat-dataset."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from memory_plugin.types import PerceptionEvent, Place, Source

AGENT = "bot"
START = datetime(2022, 1, 1, tzinfo=UTC)
# Half of what is said is the start of one message and the end of another, so that a million
# events are not a quarter of a million texts four times over.
_MIXED = 0.5


def texts() -> list[tuple[str, str]]:
    """(sender, text) of every utterance, in the order of the data set."""
    spec = find_spec("chitchat_dataset")
    if spec is None or spec.origin is None:
        raise SystemExit("needs the chat data: pip install chitchat-dataset")
    data = json.loads((Path(spec.origin).parent / "dataset.json").read_text(encoding="utf-8"))
    return [
        (message["sender"][:8], message["text"])
        for conversation in data.values()
        for burst in conversation["messages"]
        for message in burst
        if message["text"].strip()
    ]


def channel(number: int) -> Place:
    """One of the public channels of one guild."""
    return Place(
        platform="discord",
        space="guild",
        channel=f"c{number}",
        name=f"chan-{number}",
        visibility="public",
    )


def events(count: int, scoped: int, seed: int = 1) -> Iterator[PerceptionEvent]:
    """`count` events in 50 channels; `scoped` of them by ``person`` and as many in channel 0."""
    rng = random.Random(seed)
    pool = texts()
    share = scoped / count
    places = [channel(number) for number in range(50)]
    for number in range(count):
        sender, text = rng.choice(pool)
        if rng.random() < _MIXED:
            first, last = text.split(), rng.choice(pool)[1].split()
            text = " ".join(first[: len(first) // 2 + 1] + last[len(last) // 2 :])
        who = "person" if rng.random() < share else sender
        where = places[0] if rng.random() < share else places[rng.randrange(1, 50)]
        yield PerceptionEvent(
            agent_id=AGENT,
            place=where,
            source=Source(entity_id=f"discord:user:{who}", entity_name=who, source_type="channel"),
            content=text,
            timestamp=START + timedelta(seconds=30 * number),
            external_id=f"discord:{number}",
        )


def questions(count: int, seed: int = 7) -> list[str]:
    """Questions that people in the data asked, five words or longer."""
    rng = random.Random(seed)
    asked = [
        text for _, text in texts() if text.rstrip().endswith("?") and 5 <= len(text.split()) < 25
    ]
    return rng.sample(asked, count)
