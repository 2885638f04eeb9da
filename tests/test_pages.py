"""Every command and every program in the README and the docs runs as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(python|console|json|text|toml)(?: title=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL
)
# What sets up the project itself, or would fetch from the network.
NOT_HERE = re.compile(r"^(make |git clone|cd |pip install|python3? -m (venv|pip))")


def _steps(page: Path) -> list[tuple[str, str, str]]:
    """(kind, file name, text) of the blocks of a page, in order."""
    if page.parent.name == "reference":
        return []
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [one for one in PAGES if _steps(one)], ids=lambda one: one.stem)
def test_a_page_runs_as_it_is_printed(page, tmp_path):
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def run(command: list[str], shown: str) -> None:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{shown}\n{done.stdout}\n{done.stderr}"

    for kind, name, text in _steps(page):
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif kind == "python":
            run([sys.executable, "-c", text], text)
        elif kind == "console":
            for line in text.splitlines():
                command = line.removeprefix("$ ")
                if line.startswith("$ ") and not NOT_HERE.match(command):
                    run(["bash", "-c", command], command)
