"""Whose memory an import fills."""

from __future__ import annotations

import json


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
