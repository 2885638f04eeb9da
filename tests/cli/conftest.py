"""The command line as a process of its own, on a small memory without a model."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_plugin import PerceptionEvent, Place, Source
from memory_plugin.codec import dumps

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LINES = (
    ("ann", "Ann", "general", "the bakery on the hill sells rye bread"),
    ("bob", "Bob", "general", "my cat is called Pickle"),
    ("ann", "Ann", "garden", "tomatoes need a lot of sun"),
    ("sam1", "Sam", "garden", "I planted beans"),
    ("sam2", "Sam", "general", "I painted the fence green"),
)


def an_event(number: int, who: str, name: str, channel: str, text: str) -> PerceptionEvent:
    return PerceptionEvent(
        agent_id="bot",
        place=Place(
            platform="test", space="town", channel=channel, name=f"#{channel}", visibility="public"
        ),
        source=Source(entity_id=f"test:user:{who}", entity_name=name),
        content=text,
        timestamp=START + timedelta(minutes=number),
        external_id=f"m{number}",
    )


def write_export(path: Path, events: list[PerceptionEvent]) -> Path:
    path.write_text("".join(dumps(one) + "\n" for one in events), encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """Runs `memory-plugin` against one file in a temporary folder."""

    folder: Path
    env: dict[str, str]

    @property
    def db(self) -> Path:
        return self.folder / "data" / "memory.sqlite3"

    def words(self, *words: object) -> list[str]:
        program = "from memory_plugin.cli import main; main()"
        return [sys.executable, "-c", program, *map(str, words)]

    def __call__(
        self, *words: object, stdin: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words),
            input=stdin,
            capture_output=True,
            text=True,
            env=self.env | env,
            check=False,
            timeout=60,
        )


@pytest.fixture
def cli(tmp_path):
    env = os.environ | {
        "MEMORY_PLUGIN_PATH": str(tmp_path / "data" / "memory.sqlite3"),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "PYTHONIOENCODING": "utf-8",
    }
    env.pop("MEMORY_PLUGIN_MODEL_DIR", None)
    return CommandLine(folder=tmp_path, env=env)


@pytest.fixture
def export(tmp_path):
    events = [an_event(number, *line) for number, line in enumerate(LINES)]
    return write_export(tmp_path / "chat.jsonl", events)


@pytest.fixture
def filled(cli, export):
    done = cli("import", export, "--no-embed")
    assert done.returncode == 0, done.stderr
    return cli
