"""All commands under one name."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from memory_plugin.cli import asking, chat, counting, doctor, importing, keeping, models
from memory_plugin.cli.running import log_to_stderr

HELP = """A memory that lasts for bots: one file, no server.

Data goes to stdout, everything else to stderr: errors are one plain line there, with --json too.

Exit codes: 0 done, also when nothing was found; 1 a problem was found; 2 wrong usage;
3 the store, the model or a setting failed; 130 interrupted.
"""

app = typer.Typer(
    name="memory-plugin",
    help=HELP,
    no_args_is_help=True,
    # Locals in a traceback would show what people said.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("import")(importing.import_)
app.command("recall")(asking.recall)
app.command("context")(asking.context)
app.command("history")(asking.history)
app.command("stats")(counting.stats)
app.command("forget")(keeping.forget)
app.command("export")(keeping.export)
app.command("backup")(keeping.backup)
app.command("restore")(keeping.restore)
app.command("check")(keeping.check)
app.add_typer(models.model, name="model")
app.command("doctor")(doctor.doctor)
app.command("chat")(chat.chat)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands it over so
    if wanted:
        typer.echo(f"memory-plugin {version('memory-plugin')}")
        raise typer.Exit


@app.callback()
def common(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Prepare what all commands share."""
    log_to_stderr()


common.__doc__ = HELP


def main() -> None:
    """The entry point of the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a sign shows its number rather than failing.
            stream.reconfigure(errors="backslashreplace")
    app()
