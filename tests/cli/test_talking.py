"""The console agent through a pipe, and an import that is interrupted."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from contextlib import closing

import pytest

from memory_plugin.cli.console import forget_typed
from tests.cli.conftest import an_event, write_export

MANY = 60_000
RESPONDER = """
from memory_plugin import hookimpl


@hookimpl
def respond(event):
    return "You said: " + event.content
"""


def test_the_agent_remembers_between_runs(cli):
    first = cli("chat", "--name", "Ann", stdin="my dog is called Biscuit\n/quit\n")
    second = cli("chat", "--name", "Ann", stdin="what is my dog called?\n")

    assert "we have not met" in first.stdout
    assert "Hello again Ann" in second.stdout
    assert "my dog is called Biscuit" in second.stdout


def test_another_person_is_not_told(cli):
    cli("chat", "--name", "Ann", stdin="my dog is called Biscuit\n")

    done = cli("chat", "--name", "Bob", stdin="what is the dog called?\n")

    assert "Biscuit" not in done.stdout


def test_forgetting_in_a_chat_erases_both_sides(cli):
    done = cli("chat", "--name", "Ann", stdin="my dog is called Biscuit\n/forget\nyes\n/who\n")

    assert "Erase 2 things said here for good? (yes/no)" in done.stdout
    assert "I forgot 2 things" in done.stdout
    assert "I know nothing of you yet" in done.stdout


@pytest.mark.parametrize("answer", ["no", "/quit", "the weather is fine"])
def test_forgetting_in_a_chat_needs_a_yes(cli, answer):
    said = f"my dog is called Biscuit\n/forget\n{answer}\nyes\n"

    done = cli("chat", "--name", "Ann", stdin=said)

    assert "I forgot" not in done.stdout
    assert "Biscuit" in cli("history").stdout


def test_why_and_help_answer(cli):
    done = cli("chat", "--name", "Ann", "--json", stdin="hello there\n/why\n/help\n/what\n")

    answers = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert len(answers) == 5
    assert "tokens used" in answers[2]
    assert "/quit ends" in answers[3]
    assert "There is no command /what" in answers[4]


def test_a_plugin_answers_instead(cli):
    (cli.folder / "parrot.py").write_text(RESPONDER)

    done = cli("chat", "--name", "Ann", "--plugin", "parrot", stdin="good morning\n")

    assert "You said: good morning" in done.stdout


def test_a_plugin_in_the_folder_one_is_in_is_found(cli, tmp_path):
    folder = tmp_path / "alarms"
    folder.mkdir()
    (folder / "fire_alarm.py").write_text(RESPONDER)

    # As the installed command has it: `python -c` would put the folder there by itself.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memory_plugin", "chat", "--plugin", "fire_alarm"],
        input="good morning\n",
        capture_output=True,
        text=True,
        env=cli.env,
        cwd=folder,
        check=False,
        timeout=60,
    )

    assert "You said: good morning" in done.stdout, done.stderr


def test_a_plugin_that_is_not_there_is_said_to_be_from_the_option(cli):
    done = cli("chat", "--plugin", "no_such_plugin", stdin="good morning\n")

    assert done.returncode == 3
    assert "cannot load plugin 'no_such_plugin' from --plugin" in done.stderr


def _stored(path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("select count(*) from event").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.timeout(120)
def test_an_interrupted_import_keeps_its_batches_and_goes_on(cli, tmp_path):
    events = [an_event(n, "ann", "Ann", "general", f"line number {n}") for n in range(MANY)]
    export = write_export(tmp_path / "many.jsonl", events)
    words = cli.words("import", export, "--no-embed")
    running = subprocess.Popen(words, env=cli.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not _stored(cli.db) and time.monotonic() < until:
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    kept = _stored(cli.db)

    again = json.loads(cli("import", export, "--no-embed", "--json").stdout)

    assert running.returncode == 130
    assert told.decode().count("\n") == 1
    assert 0 < kept < MANY
    assert (again["known"], again["stored"]) == (kept, MANY - kept)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_ctrl_c_ends_a_chat_in_a_terminal_and_leaves_it_as_it_was(cli):
    ours, theirs = os.openpty()
    before = termios.tcgetattr(theirs)
    running = subprocess.Popen(
        cli.words("chat", "--name", "Ann"),
        env=cli.env | {"TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    seen = b""
    while b"> " not in seen:
        seen += os.read(ours, 4096)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)

    assert running.returncode == 130
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_what_was_typed_goes_when_it_is_forgotten(tmp_path):
    kept = tmp_path / "chat-history"
    kept.write_text("my secret\n", encoding="utf-8")

    forget_typed(kept)
    forget_typed(kept)

    assert not kept.exists()
