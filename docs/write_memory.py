"""The reference page about `Memory`, its values, parts and errors, made from their source."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import textwrap
from datetime import UTC, datetime
from typing import Any, get_args

import memory_plugin
from memory_plugin import (
    EventType,
    PerceptionEvent,
    Place,
    Source,
    SourceType,
    Visibility,
    codec,
    context,
    errors,
    parts,
    streams,
    truncation,
    types,
)
from memory_plugin.embedding import HashingEmbedder

GROUP = re.compile(r"    # (\w.*?) -{9,}")
VALUES: dict[str, tuple[type, ...]] = {
    "Events and places": (types.PerceptionEvent, types.Source, types.Place),
    "Recalling": (types.Scope, types.Hit, types.Cue),
    "Answers and wishes": (
        parts.Added,
        parts.Selection,
        parts.Erased,
        parts.Acquaintance,
        parts.Statistics,
    ),
    "Contexts": (context.Context, context.Material),
    "Truncating": (
        truncation.Budget,
        truncation.Truncated,
        truncation.Gap,
        truncation.Truncation,
        truncation.ImportanceWeighted,
        truncation.Fifo,
    ),
    "Streams": (
        streams.PerceptionManager,
        streams.StreamStorage,
        streams.MemoryStorage,
        streams.StoreStorage,
    ),
    "Parts": (
        parts.Embedder,
        HashingEmbedder,
        parts.WordsOnly,
        parts.Store,
        parts.EventStore,
        parts.SearchStore,
        parts.UpkeepStore,
        parts.Candidates,
        parts.TermMatch,
        parts.Unembedded,
        parts.Changes,
    ),
}
NAMES = frozenset(one.__name__ for group in VALUES.values() for one in group) | {"Memory"}
FUNCTIONS = {
    "Contexts": (context.compose,),
    "JSON form of an event": (codec.dumps, codec.loads),
}


def prose(docstring: str | None) -> str:
    """A docstring as Markdown."""
    return re.sub("(?<!`)``(?!`)", "`", inspect.cleandoc(docstring or ""))


def _node(thing: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _arguments(arguments: ast.arguments) -> list[str]:
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    shown = [_argument(*pair) for pair in zip(places, defaults, strict=True)]
    shown = [one for one in shown if one not in ("self", "cls")]
    if arguments.vararg:
        shown.append(f"*{ast.unparse(arguments.vararg)}")
    elif arguments.kwonlyargs:
        shown.append("*")
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return shown + [_argument(*pair) for pair in pairs]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + ("" if default is None else f" = {ast.unparse(default)}")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    """How it is called, with types; one argument a line where it is long."""
    given = _arguments(node.args)
    waits = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    answer = (
        "" if node.name == "__init__" or not node.returns else f" -> {ast.unparse(node.returns)}"
    )
    line = f"{waits}{name}({', '.join(given)}){answer}"
    if len(line) > 96:
        line = f"{waits}{name}(\n" + "".join(f"    {one},\n" for one in given) + f"){answer}"
    return f"```python\n{line}\n```"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "required"
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        made = next(one.value for one in value.keywords if one.arg == "default_factory")
        if isinstance(made, ast.Lambda):
            return f"`{ast.unparse(made.body)}`"
        return {"dict": "`{}`", "list": "`[]`"}[ast.unparse(made)]
    return f"`{ast.unparse(value)}`"


def _fields(node: ast.ClassDef, source: list[str]) -> list[str]:
    """The fields of a value as a table; what a comment beside one says is its last column."""
    rows = []
    for one in node.body:
        if isinstance(one, ast.AnnAssign):
            remark = source[one.lineno - 1].partition("  # ")[2]
            kind = ast.unparse(one.annotation).replace("|", "\\|")
            rows.append((f"`{ast.unparse(one.target)}`", f"`{kind}`", _default(one.value), remark))
    if not rows:
        return []
    width = 4 if any(row[3] for row in rows) else 3
    head = ("field", "type", "default", "what it is")[:width]
    lines = [head, ("---",) * width, *(row[:width] for row in rows)]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def import_line(thing: Any) -> str:
    """How to import something: from the face where it is there."""
    name = thing.__name__
    if name in memory_plugin.__all__:
        return f"`from memory_plugin import {name}`"
    module = thing.__module__
    package = module.rpartition(".")[0]
    if package != "memory_plugin":
        module = package
    return f"`from {module} import {name}`"


def _methods(node: ast.ClassDef, source: list[str], prefix: str) -> list[str]:
    """The public methods, in the order and under the headings of the source."""
    lines: list[str] = []
    headings = {i: found[1] for i, line in enumerate(source) if (found := GROUP.match(line))}
    for one in node.body:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) or one.name[0] == "_":
            continue
        for at in [at for at in headings if at < one.lineno]:
            lines += [f"### {headings.pop(at)}", ""]
        if prefix == "Memory":
            lines += [f"#### {one.name}", ""]
        doc = prose(ast.get_docstring(one))
        if any(ast.unparse(mark) == "property" for mark in one.decorator_list):
            lines += [f"`{prefix}.{one.name}`: {doc}", ""]
        else:
            lines += [_signature(one, f"{prefix}.{one.name}"), "", doc, ""]
    return lines


def _described(thing: type, level: str) -> list[str]:
    """A class: where it comes from, what it is for, how it is made, what it holds and does."""
    node, source = _node(thing), inspect.getsource(thing).splitlines()
    name = thing.__name__
    lines = [f"{level} {name}", "", import_line(thing), "", prose(thing.__doc__), ""]
    if not (dataclasses.is_dataclass(thing) or name == "Memory"):
        made = [one for one in node.body if getattr(one, "name", "") == "__init__"]
        lines += [part for one in made for part in (_signature(one, name), "")]
    lines += _fields(node, source)
    if name == "Memory":
        lines += ["### Opening", ""]
    return lines + _methods(node, source, name)


def _allowed() -> list[str]:
    """The words that three of the fields may hold."""
    lines = ["### Allowed words", "", "Anything else is a `ValidationError`.", ""]
    for name, words in (
        ("EventType", EventType),
        ("SourceType", SourceType),
        ("Visibility", Visibility),
    ):
        shown = ", ".join(f'`"{one}"`' for one in get_args(words))
        lines += [f"- `{name}` (`from memory_plugin import {name}`): {shown}"]
    return [*lines, ""]


EXAMPLE = PerceptionEvent(
    id="01JZ0000000000000000000000",
    agent_id="innkeeper",
    place=Place(platform="mud", space="game", channel="#12", name="Tavern", visibility="public"),
    source=Source(entity_id="mud:object:#5", entity_name="Ann"),
    content="My cat is called Miso.",
    timestamp=datetime(2024, 5, 1, 12, tzinfo=UTC),
    importance=6,
    requires_response=True,
    addressing="mud:object:#7",
    external_id="msg-1042",
    metadata={"mood": "happy"},
)


def _json_form() -> list[str]:
    shown = json.dumps(codec.event_to_json(EXAMPLE), indent=2)
    lines = ["## JSON form of an event", "", prose(codec.__doc__), "", f"```json\n{shown}\n```", ""]
    lines += [prose(codec.event_from_json.__doc__), ""]
    return lines + _functions("JSON form of an event")


def _functions(group: str) -> list[str]:
    lines: list[str] = []
    for one in FUNCTIONS.get(group, ()):
        lines += [f"### {one.__name__}", "", import_line(one), ""]
        lines += [_signature(_node(one), one.__name__), "", prose(one.__doc__), ""]
    return lines


def _errors() -> list[str]:
    lines = ["## Errors", "", prose(errors.__doc__), ""]
    lines += ["| error | is a | when |", "|---|---|---|"]
    for one in vars(errors).values():
        if isinstance(one, type):
            base = ", ".join(f"`{parent.__name__}`" for parent in one.__bases__)
            lines.append(f"| `{one.__name__}` | {base} | {' '.join(prose(one.__doc__).split())} |")
    return [*lines, "", "All of them: `from memory_plugin import ValidationError`, and so on.", ""]


def memory() -> str:
    """The page."""
    lines = [
        "# Memory, values, errors",
        "",
        "What hosts and plugins import, made from the code. A name that has an import line with a",
        "longer path than `memory_plugin` may change between versions.",
        "",
        *_described(memory_plugin.Memory, "##"),
    ]
    for group, classes in VALUES.items():
        lines += [f"## {group}", ""]
        for one in classes:
            lines += _described(one, "###")
        if group == "Events and places":
            lines += _allowed()
            lines += _json_form()
        else:
            lines += _functions(group)
    lines += _errors()
    return "\n".join(lines).rstrip() + "\n"
