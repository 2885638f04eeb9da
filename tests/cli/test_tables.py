"""How tables look to a person, in terminals of every width, and to a program."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios

import pytest

from tests.cli.conftest import an_event, write_export

LONG = "a-channel-with-quite-a-long-name-that-somebody-gave-it"


def seen_in_a_terminal(cli, columns, *words):
    """What a command shows in a terminal that is so many columns wide."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in cli.env.items() if name not in {"COLUMNS", "LINES"}}
    running = subprocess.Popen(
        cli.words(*words),
        env=env | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    seen = b""
    try:
        while more := os.read(ours, 65536):
            seen += more
    except OSError:
        pass  # the other side is closed
    os.close(ours)
    assert running.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).replace("\r\n", "\n")


@pytest.fixture
def long_names(cli, tmp_path):
    said = an_event(1, "ann", "Annabella the Magnificent of Somewhere", LONG, "my cat is Pickle")
    export = write_export(tmp_path / "long.jsonl", [said])
    cli("import", export, "--no-embed")
    return cli


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_long_names_and_reasons_leave_the_text_its_room(long_names, columns):
    seen = seen_in_a_terminal(long_names, columns, "recall", "cat", "--parts")

    assert {"my", "cat", "is", "Pickle"} <= set(seen.split())
    assert "words+" in seen
    assert max(len(line) for line in seen.splitlines()) <= columns


def test_reasons_stand_before_the_text_in_a_pipe(filled):
    done = filled("recall", "cat", "--parts", "--limit", "1")

    cells = done.stdout.rstrip("\n").split("\t")
    assert len(cells) == 6
    assert "words+" in cells[-2]
    assert cells[-1] == "my cat is called Pickle"
