"""Whose memory an import fills."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import an_event, write_export


def test_an_import_for_a_named_agent_is_that_agents(filled, export):
    done = filled("import", export, "--agent", "npc", "--no-embed", "--json")
    again = filled("import", export, "--agent", "npc", "--no-embed", "--json")

    assert json.loads(done.stdout)["stored"] == 5
    assert json.loads(again.stdout)["known"] == 5
    assert "Pickle" in filled("history", "--agent", "npc").stdout


def test_an_import_for_nobody_in_particular_keeps_the_agents_of_the_file(cli, export):
    export.write_text(export.read_text().replace('"bot"', '"other"'))

    done = cli("import", export, "--no-embed", "--json")

    assert json.loads(done.stdout)["stored"] == 5
    assert "Pickle" in cli("history", "--agent", "other").stdout


def test_importing_prose_says_what_a_log_looks_like(cli, tmp_path):
    readme = tmp_path / "README"
    readme.write_text("Once upon a time\nthere was nothing\n")

    done = cli("import", readme)

    assert done.returncode != 0
    assert "is no chat log" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_chat_does_not_keep_the_others_from_being_read(cli, export, tmp_path):
    readme = tmp_path / "README"
    readme.write_text("Once upon a time\nthere was nothing\n")

    done = cli("import", readme, export, "--no-embed", "--json")

    counts = json.loads(done.stdout)
    assert done.returncode == 1
    assert counts["stored"] == 5
    assert list(counts["unreadable"]) == [str(readme)]
    assert "1 of 2 files could not be read" in done.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.log", "[2023-05-07 14:03] ann: hello"),
        ("a.jsonl", '{"author": "ann", "text": "hello", "time": "2023-05-07 14:03"}'),
    ],
)
def test_a_zone_that_was_assumed_is_told(cli, tmp_path, name, line):
    log = tmp_path / name
    log.write_text(line + "\n")

    silent = cli("import", log, "--dry-run")
    told = cli("import", log, "--dry-run", "--timezone", "Europe/Berlin", "--json")

    assert "1 time named no offset and was taken as UTC" in silent.stderr
    assert json.loads(told.stdout)["times_assumed_utc"] == 0


def test_times_that_name_their_zone_leave_nothing_to_assume(cli, tmp_path):
    log = tmp_path / "a.jsonl"
    log.write_text('{"author": "ann", "text": "hello", "time": "2023-05-07T14:03:00Z"}\n')

    done = cli("import", log, "--dry-run", "--json")

    assert json.loads(done.stdout)["times_assumed_utc"] == 0


def test_the_name_of_today_counts_before_one_that_another_once_had(cli, tmp_path):
    events = [
        an_event(1, "p1", "Ann", "general", "I was called Ann"),
        an_event(2, "p1", "Anna", "general", "now I am Anna"),
        an_event(3, "p2", "Ann", "general", "I am the Ann of today"),
    ]
    cli("import", write_export(tmp_path / "names.jsonl", events), "--no-embed")

    of_today = cli("history", "--person", "ann")
    of_an_id = cli("history", "--person", "test:user:p1")

    assert of_today.stdout.count("\n") == 1
    assert "of today" in of_today.stdout
    assert of_an_id.stdout.count("\n") == 2


def test_a_person_who_is_not_among_the_busiest_is_found_by_a_former_name(cli, tmp_path):
    busy = [an_event(n, f"b{n % 25}", f"Busy {n % 25}", "general", "hey") for n in range(75)]
    rare = [
        an_event(100, "rare", "Rosie", "general", "once"),
        an_event(101, "rare", "Rose", "general", "twice"),
    ]
    cli("import", write_export(tmp_path / "names.jsonl", busy + rare), "--no-embed")

    assert cli("history", "--person", "Rosie").stdout.count("\n") == 2
    assert cli("history", "--person", "test:user:rare").stdout.count("\n") == 2


def test_a_visibility_that_comes_too_late_is_said_to_change_nothing(cli, tmp_path):
    log = tmp_path / "a.log"
    log.write_text("[2023-05-07 14:03] ann: hello\n[2023-05-07 14:04] ann: anybody here?\n")

    first = cli("import", log, "--no-embed")
    again = cli("import", log, "--no-embed", "--visibility", "public")

    assert "2 events will be recalled only in the place of origin" in first.stderr
    assert "nothing is new, so --visibility changed nothing" in again.stderr
    assert "place of origin" not in again.stderr
    visibility = json.loads(cli("history", "--limit", "1", "--json").stdout)["place"]["visibility"]
    assert visibility == "restricted"


def test_a_public_import_and_a_plain_repetition_need_no_remark(cli, tmp_path):
    log = tmp_path / "a.log"
    log.write_text("[2023-05-07 14:03] ann: hello\n")
    zone = ("--timezone", "UTC", "--no-embed")

    first = cli("import", log, "--visibility", "public", *zone)
    again = cli("import", log, *zone)

    assert (first.stderr, again.stderr) == ("", "")
