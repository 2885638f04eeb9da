"""A true third-party distribution: installed by pip, found by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUEST = Path(__file__).parent / "guest"
PROGRAM = """
import asyncio, sys
from datetime import UTC, datetime
from memory_plugin import Memory, PerceptionEvent, Place, Source

async def main():
    blocked = ("echo",) if "blocked" in sys.argv else ()
    settings = {"path": sys.argv[1], "model": "none", "blocked_plugins": blocked}
    async with await Memory.open(settings) as memory:
        room = Place(platform="mud", channel="#2", visibility="public")
        bob = Source(entity_id="mud:object:#5", entity_name="Bob")
        event = PerceptionEvent(agent_id="npc", place=room, source=bob, content="fire!",
                                timestamp=datetime.now(UTC))
        await memory.perceive(event)
        kept = (await memory.history("npc", room))[0]
        context = await memory.build_context("npc", room, event=event)
        print(kept.metadata.get("heard_by"), kept.importance == 10,
              await memory.respond(context, event))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that pip installed the guest into."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(target),
            str(GUEST),
        ],
        check=True,
    )
    return target


def run(installed: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_installed_guest_is_found_and_has_its_say(installed, tmp_path):
    assert run(installed, str(tmp_path / "m.db")) == "echo True You said: fire!"


def test_a_blocked_guest_has_no_say(installed, tmp_path):
    assert run(installed, str(tmp_path / "m.db"), "blocked") == "None False None"
