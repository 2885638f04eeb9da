"""Reference pages say what the code says."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import textwrap
from pathlib import Path

import pytest

import memory_plugin
from memory_plugin import codec, hookspecs
from memory_plugin._plugins import HOOKS

DOCS = Path(__file__).parent.parent / "docs"


def _writer():
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("write_reference")
    finally:
        sys.path.remove(str(DOCS))


WRITER = _writer()
ALL = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("name", WRITER.PAGES)
def test_a_reference_page_is_what_the_code_says_now(name):
    page = (DOCS / "reference" / name).read_text(encoding="utf-8")

    assert page == WRITER.PAGES[name](), "run: python docs/write_reference.py"


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_describes_every_argument_its_answer_its_failing_and_an_example(name):
    spec = getattr(hookspecs, name)
    doc = inspect.getdoc(spec)
    arguments = spec.__code__.co_varnames[: spec.__code__.co_argcount]

    assert all(re.search(rf"^    {one}: ", doc, re.MULTILINE) for one in arguments)
    assert all(f"\n{one}:" in doc for one in ("Answer", "Failing", "Example"))
    ast.parse(textwrap.dedent(re.split(r"\nExample:\n", doc)[1]))


def test_the_event_that_is_shown_as_json_is_one():
    page = (DOCS / "reference" / "memory.md").read_text(encoding="utf-8")
    shown = re.search(r"```json\n(.*?)```", page, re.DOTALL)[1]

    event = codec.loads(shown)

    assert codec.event_to_json(event) == json.loads(shown)


@pytest.mark.parametrize("name", memory_plugin.__all__)
def test_every_public_name_stands_in_the_reference(name):
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]

    assert any(re.search(rf"\b{name}\b", page) for page in pages)


def test_every_import_line_of_the_reference_works():
    page = (DOCS / "reference" / "memory.md").read_text(encoding="utf-8")
    lines = sorted(set(re.findall(r"`(from memory_plugin[\w.]* import \w+)`", page)))

    assert len(lines) > 30
    for line in lines:
        exec(line, {})  # noqa: S102


def _headings(page):
    """The anchors of a page; a repeated heading is an anchor nobody can mean."""
    anchors = [
        re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    ]
    return {one for one in anchors if anchors.count(one) == 1}


@pytest.mark.parametrize("page", ALL, ids=lambda one: str(one.relative_to(DOCS.parent)))
def test_every_link_leads_to_a_page_and_a_heading_that_are_there(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))

    for target, heading in links:
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not heading or heading in _headings(there), f"{target}#{heading}"
