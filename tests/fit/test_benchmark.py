"""The truncation benchmark runs on a small file of its shape and writes what it shows."""

from __future__ import annotations

import json
from datetime import timedelta

from benchmarks.truncation import main

from .making import NOON


def test_the_benchmark_measures_every_policy_at_every_budget(tmp_path, capsys):
    turns = [
        {
            "id": f"t{n}",
            "speaker": ("Ann", "Bob")[n % 2],
            "text": f"I saw {n} ships on Monday" if n % 10 == 0 else "well well " * (1 + n % 4),
            "image_caption": None,
            "session": 1,
            "timestamp": (NOON + timedelta(minutes=n)).isoformat(),
        }
        for n in range(60)
    ]
    questions = [{"question": "how many?", "category": "x", "evidence": ["t0", "t10", "t20"]}]
    source, target = tmp_path / "talks.json", tmp_path / "out.json"
    source.write_text(json.dumps([{"name": "a", "turns": turns, "questions": questions}]))

    assert main([str(source), "--json", str(target)]) == 0

    kept = json.loads(target.read_text())["kept"]
    assert "oracle" in capsys.readouterr().out
    assert len(kept) == 7
    assert all(list(by_budget) == ["10%", "25%", "50%", "75%"] for by_budget in kept.values())
    assert all(one["used"] <= 1 for by_budget in kept.values() for one in by_budget.values())
    assert kept["oracle"]["25%"]["evidence"] == kept["ours"]["50%"]["evidence"] == 1.0
    assert kept["FIFO"]["50%"]["evidence"] == 0.0
    assert kept["FIFO"]["25%"]["last"] < kept["FIFO"]["50%"]["last"] == 1.0
