"""`model show` and `model fetch`: which model gives the vectors."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import typer

from memory_plugin.cli.opening import DbOption, JsonOption, settings_for
from memory_plugin.cli.output import progress, say, say_json
from memory_plugin.cli.running import command
from memory_plugin.embedding import fetch_model, find_model
from memory_plugin.embedding.sources import download_folder

model = typer.Typer(help="The model that turns text into vectors.", no_args_is_help=True)


@model.command("show")
@command
async def show(*, db: DbOption = None, as_json: JsonOption = False) -> None:
    """Show which model is used and where it comes from; exit code 3 if there is none."""
    settings = settings_for(db, "auto")
    found = await asyncio.to_thread(
        find_model, model_dir=settings.model_dir, cache_dir=settings.cache_dir()
    )
    if as_json:
        say_json(asdict(found))
        return
    for name in ("name", "origin", "model", "tokenizer"):
        say(f"{name:<10}{getattr(found, name)}")
    say(f"{'downloads':<10}{download_folder(settings.cache_dir())}")


@model.command("fetch")
@command
async def fetch(*, db: DbOption = None, as_json: JsonOption = False) -> None:
    """Download the pinned model (about 90 MB) once; a broken download goes on where it stopped."""
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
