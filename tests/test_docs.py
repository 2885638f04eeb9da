"""Reference pages say what the code says."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from memory_plugin import hookspecs
from memory_plugin._plugins import HOOKS

DOCS = Path(__file__).parent.parent / "docs"


def _writer():
    spec = importlib.util.spec_from_file_location("write_reference", DOCS / "write_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = _writer()


@pytest.mark.parametrize("name", WRITER.PAGES)
def test_a_reference_page_is_what_the_code_says_now(name):
    page = (DOCS / "reference" / name).read_text(encoding="utf-8")

    assert page == WRITER.PAGES[name](), "run: python docs/write_reference.py"


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_describes_every_argument_its_answer_its_failing_and_an_example(name):
    spec = getattr(hookspecs, name)
    doc = spec.__doc__
    arguments = spec.__code__.co_varnames[: spec.__code__.co_argcount]

    assert all(re.search(rf"^        {one}: ", doc, re.MULTILINE) for one in arguments)
    assert all(f"    {one}:" in doc for one in ("Answer", "Failing", "Example"))
    ast.parse(re.split(r"\n    Example:\n", doc)[1].replace("\n        ", "\n").strip())
