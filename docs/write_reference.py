"""Writes the reference pages that are made from code: ``python docs/write_reference.py``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from write_commands import commands
from write_memory import NAMES, memory

from memory_plugin import hookspecs
from memory_plugin._plugins import HOOKS
from memory_plugin.settings import MODEL_DIR_VARIABLE, PATH_VARIABLE, Settings

HERE = Path(__file__).parent / "reference"
KINDS = {
    "Parts": ("open_store", "open_embedder"),
    "Opinions": (
        "perceive",
        "score_importance",
        "recall",
        "truncate",
        "visible",
        "activate",
        "render_context",
        "respond",
    ),
    "News": ("perceived", "truncated", "forgotten"),
}


def _page(docstring: str) -> str:
    """A docstring as Markdown: sections in bold, arguments as a list, the example as code."""
    lines: list[str] = []
    section = ""
    for line in inspect.cleandoc(docstring).splitlines():
        head, colon, rest = line.partition(":")
        if (
            colon
            and head in ("Arguments", "Answer", "Failing", "Example")
            and not line[0].isspace()
        ):
            section = head
            lines += [f"**{head}.**{rest}", ""] if not rest else [f"**{head}.**{rest}"]
            if head == "Example":
                lines.append("```python")
        elif section == "Example":
            lines.append(line.removeprefix("    "))
        elif section == "Arguments" and line.strip():
            text = line.removeprefix("    ")
            name, _, meaning = text.partition(": ")
            lines.append(f"  {text.strip()}" if text[0].isspace() else f"- `{name}`: {meaning}")
        else:
            lines.append(line)
    if section == "Example":
        lines.append("```")
    return re.sub("(?<!`)``(?!`)", "`", "\n".join(lines)).rstrip()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _types(spec: Callable[..., Any]) -> list[str]:
    """Links to the values that a hook is given or answers."""
    said = " ".join(str(one) for one in spec.__annotations__.values())
    links = [
        *(
            f"[{one}](memory.md#{one.lower()})"
            for one in sorted(NAMES & set(re.findall(r"\w+", said)))
        ),
        *(["[Settings](settings.md)"] if "Settings" in said else []),
    ]
    return [f"**Types.** {', '.join(links)}."] if links else []


def hooks() -> str:
    """The page about hooks."""
    parts = ["# Hooks", "", _page(hookspecs.__doc__ or "").partition("\n")[2].strip(), ""]
    parts += [
        "The project name for pluggy and the entry-point group are both `memory_plugin`. The names",
        "in the examples come from:",
        "",
        "```python",
        "from memory_plugin import DROP, Cue, Fifo, HashingEmbedder, WordsOnly, compose, hookimpl",
        "```",
        "",
        "`MyStore`, `my_model`, `dashboard`, `summariser` and `cache` stand for things of your",
        "own. The types of arguments and answers are described [with the memory](memory.md).",
        "",
    ]
    assert sorted(HOOKS) == sorted(sum(KINDS.values(), ())), "every hook belongs to one kind"  # noqa: S101
    for kind, names in KINDS.items():
        parts += [f"## {kind}", ""]
        for name in names:
            spec: Callable[..., Any] = getattr(hookspecs, name)
            arguments = ", ".join(inspect.signature(spec).parameters)
            parts += [f"### `{name}({arguments})`", "", _page(spec.__doc__ or ""), ""]
            parts += [*_types(spec), ""]
    return "\n".join(parts).rstrip() + "\n"


def settings() -> str:
    """The page about settings."""
    doc = inspect.cleandoc(Settings.__doc__ or "")
    intro, _, described = doc.partition("\n\n")
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in described.splitlines():
        head, colon, rest = line.partition(": ")
        if colon and not line[0].isspace():
            names = [one.strip() for one in head.split(",")]
            meanings |= dict.fromkeys(names, rest)
        else:
            for name in names:
                meanings[name] += " " + line.strip()
    rows = [
        f"| `{one.name}` | `{_shown(one.default)}` | {meanings[one.name].replace('``', '`')} |"
        for one in fields(Settings)
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            intro,
            "",
            "| setting | default | meaning |",
            "|---|---|---|",
            *rows,
            "",
            f"The environment may override two of them for adapters and the command line: "
            f"`{PATH_VARIABLE}` (`path`) and `{MODEL_DIR_VARIABLE}` (`model_dir`).",
            "",
        ]
    )


def _shown(value: object) -> str:
    return str(value) if isinstance(value, Path) else repr(value)


PAGES: dict[str, Callable[[], str]] = {
    "hooks.md": hooks,
    "settings.md": settings,
    "memory.md": memory,
    "command-line.md": commands,
}


def main() -> int:
    """Write every page."""
    HERE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
