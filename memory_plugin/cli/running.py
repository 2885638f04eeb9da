"""From a command's body to an exit code: every failure is one clear line."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import ParamSpec

import typer

from memory_plugin.cli.output import note, printable
from memory_plugin.errors import MemoryPluginError, ValidationError

P = ParamSpec("P")

PROBLEM, USAGE, FAILED, INTERRUPTED = 1, 2, 3, 130


class UsageError(Exception):
    """Something the user typed that cannot be meant; exit code 2."""


class ProblemError(Exception):
    """The command ran and found that something is wrong; exit code 1."""


_CODES: Mapping[type[Exception], int] = {UsageError: USAGE, ProblemError: PROBLEM}


def command(body: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """A command for typer: runs `body` in its own event loop and turns failures into codes."""

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        code = _code_of(lambda: asyncio.run(body(*args, **kwargs)))
        if code:
            raise typer.Exit(code)

    return run


def _code_of(work: Callable[[], None]) -> int:
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at exit.
        _silence_stdout()
    except KeyboardInterrupt:
        return _failed("interrupted; everything stored so far is kept", INTERRUPTED)
    except (UsageError, ProblemError, MemoryPluginError, OSError) as fault:
        return _failed(_line_of(fault), _CODES.get(type(fault), FAILED))
    return 0


def _line_of(fault: Exception) -> str:
    if isinstance(fault, ValidationError):
        # The value may be what somebody said, so it is not shown.
        return f"{fault.field}: {fault.problem}"
    if isinstance(fault, OSError):
        named = f"{fault.filename}: " if fault.filename else ""
        return f"{named}{fault.strerror or fault}"
    return str(fault)


def _failed(line: str, code: int) -> int:
    if line:
        note(f"memory-plugin: {printable(line)}")
    return code


def _silence_stdout() -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def log_to_stderr() -> None:
    """Warnings are told, one line each, without tracebacks."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    root = logging.getLogger("memory_plugin")
    for old in root.handlers:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The message, and of an exception only its kind."""
        line = printable(self._style.format(self._with_message(record)))
        if record.exc_info and record.exc_info[0] is not None:
            line += f" ({record.exc_info[0].__name__})"
        return line

    @staticmethod
    def _with_message(record: logging.LogRecord) -> logging.LogRecord:
        record.message = record.getMessage()
        return record
