"""Lines that somebody types, with editing and history, or that come through a pipe."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_plugin.cli.output import note

KEPT_LINES = 500


async def typed_lines(kept: Path) -> AsyncIterator[str]:
    """Lines without the space around them, until the end of input.

    `kept` is the file in which the history of what was typed lasts.
    """
    typed = sys.stdin.isatty()
    with _editing(kept, typed=typed):
        while True:
            try:
                line = await _next_line(typed=typed)
            except UnicodeDecodeError:
                note("that line is not UTF-8")
                continue
            if line is None:
                return
            yield line.strip()


async def _next_line(*, typed: bool) -> str | None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None, fault: UnicodeDecodeError | None) -> None:
        if answer.done():
            return
        if fault is None:
            answer.set_result(line)
        else:
            answer.set_exception(fault)

    def ask() -> None:
        line, fault = None, None
        try:
            line = (input("> ") if typed else sys.stdin.readline()) or ("" if typed else None)
        except UnicodeDecodeError as caught:
            fault = caught
        except (EOFError, ValueError, OSError):
            line = None
        # After Ctrl-C nobody waits for the line any more, and the loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, line, fault)

    # Not the loop's own threads: those are waited for at the end, and Ctrl-C would hang on a line
    # that is never typed.
    threading.Thread(target=ask, name="memory-plugin console", daemon=True).start()
    return await answer


@contextmanager
def _editing(kept: Path, *, typed: bool) -> Iterator[None]:
    if not typed:
        yield
        return
    _load_history(kept)
    try:
        with _terminal_as_it_was():
            yield
    finally:
        _save_history(kept)


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """Line editing that is left in the middle would leave a terminal that shows no typing."""
    try:
        import termios  # noqa: PLC0415 - Windows has none
    except ImportError:
        yield
        return
    before = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def _load_history(kept: Path) -> None:
    with suppress(ImportError, OSError):
        import readline  # noqa: PLC0415 - Windows has none

        readline.read_history_file(kept)


def forget_typed(kept: Path) -> None:
    """Remove the lines kept for the arrow keys, in memory and on disk."""
    with suppress(ImportError):
        import readline  # noqa: PLC0415 - Windows has none

        readline.clear_history()
    kept.unlink(missing_ok=True)


def _save_history(kept: Path) -> None:
    with suppress(ImportError, OSError):
        import readline  # noqa: PLC0415 - Windows has none

        readline.set_history_length(KEPT_LINES)
        readline.write_history_file(kept)
        # What somebody typed is nobody else's business.
        kept.chmod(0o600)
