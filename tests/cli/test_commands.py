"""What the commands print, and the code they end with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memory_plugin.cli.app import app
from memory_plugin.cli.counting import bar
from memory_plugin.cli.output import printable
from memory_plugin.codec import loads

MODELLESS = """
from memory_plugin import hookimpl
from memory_plugin.parts import WordsOnly

@hookimpl
def open_embedder():
    return WordsOnly(reason="it is the test's wish")
"""


def test_importing_again_stores_nothing_twice(filled, export):
    done = filled("import", export, "--no-embed", "--json")

    counts = json.loads(done.stdout)
    assert (counts["stored"], counts["known"]) == (0, 5)


def test_what_cannot_be_read_is_counted_by_reason(cli, export):
    export.write_text(export.read_text() + "nonsense\n")

    done = cli("import", export, "--no-embed", "--json")

    counts = json.loads(done.stdout)
    assert counts["stored"] == 5
    assert counts["skipped"] == 1 == sum(counts["reasons"].values())


def test_a_dry_run_leaves_no_file(cli, export):
    done = cli("import", export, "--dry-run")

    assert done.returncode == 0
    assert "5 would be read" in done.stdout
    assert not cli.db.exists()


def test_recall_finds_by_words_and_says_so_in_json(filled):
    done = filled("recall", "what is the cat called?", "--json", "--limit", "1")

    hit = json.loads(done.stdout)
    assert hit["event"]["content"] == "my cat is called Pickle"
    assert 0 <= hit["score"] <= 1


def test_a_pipe_gets_one_plain_line_for_each_hit(filled):
    done = filled("recall", "bakery bread", "--limit", "1")

    assert done.stdout.count("\n") == 1
    assert done.stdout.rstrip("\n").split("\t")[2:] == [
        "#general",
        "Ann",
        "the bakery on the hill sells rye bread",
    ]
    assert "\x1b" not in done.stdout


def test_recall_by_person_needs_no_query(filled):
    done = filled("recall", "--person", "bob", "--json")

    people = {json.loads(line)["event"]["source"]["entity_id"] for line in done.stdout.splitlines()}
    assert people == {"test:user:bob"}


def test_finding_nothing_is_no_failure(filled):
    done = filled("recall", "bakery", "--since", "2030-01-01", "--json")

    assert (done.returncode, done.stdout) == (0, "")


def test_a_name_of_two_people_lists_both(filled):
    done = filled("recall", "--person", "Sam")

    assert done.returncode == 2
    assert "test:user:sam1" in done.stderr
    assert "test:user:sam2" in done.stderr


def test_an_unknown_agent_is_wrong_usage_in_one_line(filled):
    done = filled("recall", "bread", "--agent", "nobody")

    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("memory-plugin: no agent 'nobody'")
    assert "Traceback" not in done.stderr


def test_history_is_oldest_first(filled):
    done = filled("history", "--place", "#garden", "--json")

    said = [json.loads(line)["content"] for line in done.stdout.splitlines()]
    assert said == ["tomatoes need a lot of sun", "I planted beans"]


def test_stats_count_people_places_and_hours(filled):
    numbers = json.loads(filled("stats", "--json").stdout)

    assert (numbers["events"], numbers["authors"], numbers["places"]) == (5, 4, 2)
    assert numbers["by_hour"][9] == 5
    assert numbers["by_weekday"] == [5, 0, 0, 0, 0, 0, 0]


def test_context_names_the_place(filled):
    built = json.loads(filled("context", "bread", "--place", "#general", "--json").stdout)

    assert "#general" in built["text"]
    assert built["messages"][0]["role"] == "system"


def test_forgetting_asks_and_nobody_there_means_no(filled):
    done = filled("forget", "--person", "Bob")

    assert done.returncode == 2
    assert json.loads(filled("stats", "--json").stdout)["events"] == 5


def test_what_was_forgotten_does_not_come_back_by_import(filled, export):
    erased = json.loads(filled("forget", "--person", "Bob", "--yes", "--json").stdout)
    again = json.loads(filled("import", export, "--no-embed", "--json").stdout)

    assert erased["events"] == 1
    assert (again["refused"], again["stored"]) == (1, 0)


def test_an_export_reads_back_as_the_same_events(filled, export, tmp_path):
    target = tmp_path / "out.jsonl"

    done = filled("export", "--output", target)

    assert done.returncode == 0
    before = [loads(line).content for line in export.read_text().splitlines()]
    assert [loads(line).content for line in target.read_text().splitlines()] == before
    assert target.stat().st_mode & 0o077 == 0


def test_a_backup_restores_what_was_lost_only_by_force(filled, tmp_path):
    copy = tmp_path / "copy.sqlite3"
    filled("backup", copy)
    filled("forget", "--person", "Ann", "--yes")

    refused = filled("restore", copy)
    forced = filled("restore", copy, "--force")

    assert refused.returncode == 2
    assert forced.returncode == 0
    assert json.loads(filled("stats", "--json").stdout)["events"] == 5


def test_a_damaged_backup_replaces_nothing(filled, tmp_path):
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(b"this is no database" * 100)

    done = filled("restore", copy, "--force")

    assert done.returncode == 3
    assert json.loads(filled("stats", "--json").stdout)["events"] == 5
    assert [one.name for one in filled.db.parent.iterdir()] == [filled.db.name]


def test_a_corrupt_file_is_a_store_error_without_a_traceback(cli):
    cli.db.parent.mkdir()
    cli.db.write_bytes(b"this is no database" * 100)

    done = cli("stats")

    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
    assert str(cli.db) in done.stderr


def test_asking_where_there_is_no_file_makes_none(cli):
    done = cli("recall", "bread")

    assert done.returncode == 3
    assert "there is no memory" in done.stderr
    assert not cli.db.parent.exists()


@pytest.mark.parametrize("words", [("model", "show"), ("recall", "bread")])
def test_a_model_folder_that_does_not_work_is_an_error(filled, tmp_path, words):
    done = filled(*words, MEMORY_PLUGIN_MODEL_DIR=str(tmp_path / "nowhere"))

    assert done.returncode == 3
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_finds_a_missing_model(filled, tmp_path):
    done = filled("doctor", "--json", MEMORY_PLUGIN_MODEL_DIR=str(tmp_path / "nowhere"))

    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["ok"] is False
    assert any("nowhere" in one["seen"] for one in found["findings"] if one["state"] == "wrong")


def test_doctor_looks_at_the_model_and_the_plugins_before_there_is_a_file(cli, tmp_path):
    done = cli(
        "doctor", "--plugin", "no_such_plugin", MEMORY_PLUGIN_MODEL_DIR=str(tmp_path / "nowhere")
    )

    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    states = {name: state for state, name, _ in lines}
    assert (states["file"], states["model"], states["plugin"]) == ("note", "WRONG", "WRONG")
    assert done.stderr == f"memory-plugin: 2 of {len(lines)} checks failed\n"
    assert not cli.db.parent.exists()


def test_doctor_takes_a_memory_without_any_model_for_a_note(filled, tmp_path):
    (tmp_path / "modelless.py").write_text(MODELLESS)

    done = filled("doctor", "--plugin", "modelless", "--json")

    found = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    assert done.returncode == 0
    assert found["model"]["state"] == "note"
    assert found["model"]["seen"] == "words only, because it is the test's wish"


def test_doctor_names_no_python_values(filled):
    done = filled("doctor")

    assert done.returncode == 0
    assert not set("[]{}") & set(done.stdout)


def test_doctor_and_model_show_name_the_model_alike(filled):
    shown = filled("model", "show")
    if shown.returncode:
        pytest.skip("there is no model here")
    named = shown.stdout.splitlines()[0].removeprefix("model").strip()

    assert named in filled("doctor").stdout


def test_stats_of_a_few_events_leave_empty_hours_out(filled):
    hours = filled("stats").stdout.partition("By hour")[2].partition("By weekday")[0]

    assert [line.split()[:2] for line in hours.splitlines()[1:] if line] == [["09", "5"]]


def test_check_says_that_a_sound_file_is_well(filled):
    done = filled("check", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["problems"] == []


def test_a_reader_that_leaves_early_causes_no_complaint(filled):
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        filled.words("export"),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env=filled.env,
        check=False,
        timeout=60,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["import", "--help"], ["model", "show", "--help"]]
)
def test_help_and_version_need_no_memory(words):
    done = CliRunner().invoke(app, words)

    assert done.exit_code == 0
    assert done.output.strip()


@pytest.mark.parametrize("words", [[], ["model"]])
def test_every_command_is_described_in_a_line_that_is_not_cut(words):
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"})

    assert "..." not in done.output.partition("Commands:")[2]
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recall"], "One JSON object per line"),
        (["history"], "One JSON object per line"),
        (["chat"], "One JSON object per line"),
        (["stats"], "One JSON object on stdout"),
        (["context"], "One JSON object on stdout"),
    ],
)
def test_help_says_which_json_comes_out(words, said):
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "120"})

    assert said in " ".join(done.output.split())


def test_one_is_one_event(filled):
    done = filled("forget", "--person", "Bob", "--yes")

    assert done.stdout == "forgot 1 event and 0 vectors\n"


def test_a_bad_option_is_wrong_usage():
    assert CliRunner().invoke(app, ["recall", "--nonsense"]).exit_code == 2


def test_text_cannot_steer_the_terminal():
    assert printable("a\x1b[31mb\nc\u202ed") == "a [31mb c d"


def test_the_longest_bar_is_as_wide_as_the_chart_and_none_is_lost():
    assert len(bar(7, 7, width=10)) == 10
    assert bar(0, 7) == ""
    assert bar(1, 1_000_000) != ""


def test_the_shell_completes_commands_and_options(cli):
    asked = {"_MEMORY_PLUGIN_COMPLETE": "complete_bash", "COMP_WORDS": "memory-plugin re"}

    done = subprocess.run(
        [Path(sys.executable).with_name("memory-plugin")],
        env=cli.env | asked | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout.split() == ["recall", "restore"]
