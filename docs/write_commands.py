"""The reference page about the command line, made from its commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from memory_plugin.cli import app
from memory_plugin.settings import MODEL_DIR_VARIABLE, PATH_VARIABLE

KINDS: dict[Any, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "PATH"}


def _text(words: str | None) -> str:
    """Help as Markdown; a single line break in it is no new paragraph."""
    return inspect.cleandoc(words or "").strip()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _kind(option: Any) -> str:
    kind = option.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return "\\|".join(str(one) for one in get_args(kind))
    while get_args(kind):
        kind = get_args(kind)[0]
    return KINDS.get(kind, "TEXT")


def _row(one: Any) -> str:
    if one.param_type_name == "argument":
        name = f"`{one.name.upper()}`" + (" ..." if one.nargs != 1 else "")
    else:
        name = ", ".join(f"`{opt}`" for opt in (*one.opts, *one.secondary_opts))
        if not one.is_flag:
            name += f" {_kind(one)}"
    silent = not one.show_default or any(one.default is nothing for nothing in (None, False, ""))
    default = "" if silent else f"`{one.default}`"
    if one.required:
        default = "required"
    return f"| {name} | {default} | {_cell(one.help or '')} |"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from _commands(one, f"{path} {name}")
        else:
            yield f"{path} {name}", one


def commands() -> str:
    """The page."""
    top = get_command(app)
    lines = ["# Command line", "", _text(top.help), ""]
    lines += [
        f"The memory file is the one `--db` names, else the one the variable `{PATH_VARIABLE}`",
        "names, else `~/.local/share/memory-plugin/memory.sqlite3` (in `$XDG_DATA_HOME` where that",
        f"is set). `{MODEL_DIR_VARIABLE}` names a folder with another model.",
        "",
    ]
    for name, one in _commands(top, "memory-plugin"):
        lines += [f"## {name}", "", _text(one.help), ""]
        shown = [param for param in one.params if not param.hidden]
        if shown:
            lines += ["| argument or option | default | meaning |", "|---|---|---|"]
            lines += [*(_row(param) for param in shown), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"
