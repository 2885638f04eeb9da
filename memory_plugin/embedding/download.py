"""Fetching a model once: a pinned revision, checked, resumed, put in place in one step."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from memory_plugin.embedding.files import MODEL, TOKENIZER_SHA256, sha256_of, write_atomically
from memory_plugin.embedding.sources import FETCHED, download_folder
from memory_plugin.errors import EmbedderError

Progress = Callable[[int, int], None]

TIMEOUT_S = 30.0
TRIES = 3
_BLOCK = 1 << 16
_ABANDONED_S = 86_400
# Too many requests, or a server that is ill at the moment.
_TRANSIENT = {408, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """One file of a pin: its path there, its name here, and what it must be."""

    path: str
    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A model at one revision: nothing else is ever accepted under this name."""

    base_url: str
    files: tuple[PinnedFile, ...]


PINNED = Pin(
    base_url=(
        f"https://huggingface.co/sentence-transformers/{MODEL}"
        "/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
    ),
    files=(
        PinnedFile(
            path="tokenizer.json", name="tokenizer.json", sha256=TOKENIZER_SHA256, size=466_247
        ),
        PinnedFile(
            path="onnx/model.onnx",
            name="model.onnx",
            sha256="6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
            size=90_405_214,
        ),
    ),
)


def fetch_model(cache_dir: Path, pin: Pin = PINNED, on_progress: Progress | None = None) -> Path:
    """Download the files of a pin; answers the folder they are in. Blocks.

    Files that are there and whole are kept; a broken transfer goes on where it stopped, also in
    the next call. `on_progress` gets (bytes so far, bytes in all), in this thread; what it raises
    ends the download. Raises `EmbedderError`.
    """
    folder = download_folder(cache_dir)
    total = sum(one.size for one in pin.files)
    done = 0
    report = on_progress or _ignore
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in pin.files:
            target = folder / one.name
            if not (target.is_file() and sha256_of(target) == one.sha256):
                _fetch(
                    f"{pin.base_url}/{one.path}", target, one, partial(_add, report, done, total)
                )
            done += one.size
            report(done, total)
        record = {one.name: one.sha256 for one in pin.files}
        write_atomically(folder / FETCHED, json.dumps(record).encode())
    except OSError as fault:
        raise EmbedderError(f"cannot keep the model in {folder}: {fault}") from fault
    return folder


def _ignore(done: int, total: int) -> None:
    del done, total


def _add(report: Progress, done: int, total: int, size: int) -> None:
    report(done + size, total)


def _fetch(url: str, target: Path, one: PinnedFile, report: Callable[[int], None]) -> None:
    part = target.with_name(f"{target.name}.part")
    # Taken out of the others' way first: another process may be fetching the same file.
    mine = target.with_name(f"{target.name}.{uuid4().hex}.part")
    for left in target.parent.glob(f"{target.name}.*.part"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()
    with suppress(FileNotFoundError):
        part.replace(mine)
    try:
        _insist(url, mine, one, report)
        mine.replace(target)
    finally:
        with suppress(FileNotFoundError):
            mine.replace(part)


def _insist(url: str, part: Path, one: PinnedFile, report: Callable[[int], None]) -> None:
    """Fetch until the file is what was pinned, `TRIES` times at most."""
    fault: Exception | None = None
    for _ in range(TRIES):
        try:
            _transfer(url, part, one, report)
        except urllib.error.HTTPError as caught:
            # The error is also the answer, with its connection.
            caught.close()
            fault = caught
            if caught.code == 416:
                # What we have is not the beginning of what they have.
                part.unlink(missing_ok=True)
            elif caught.code not in _TRANSIENT:
                break
            continue
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            TimeoutError,
            ConnectionError,
        ) as caught:
            fault = caught
            continue
        found = sha256_of(part)
        if found == one.sha256:
            return
        # Going on from what is not the pinned file could never come right.
        part.unlink()
        fault = EmbedderError(f"its sha256 is {found}, expected {one.sha256}")
    raise EmbedderError(f"cannot download {url}: {fault}") from fault


def _transfer(url: str, part: Path, one: PinnedFile, report: Callable[[int], None]) -> None:
    """Fetch what is missing of a file; stops as soon as it grows beyond its pinned size."""
    have = part.stat().st_size if part.exists() else 0
    if have >= one.size:
        part.unlink()
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "memory-plugin"})  # noqa: S310
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - pinned url
        resumed = have > 0 and answer.status == 206
        size = have if resumed else 0
        with part.open("ab" if resumed else "wb") as file:
            while block := answer.read(_BLOCK):
                size += len(block)
                if size > one.size:
                    raise http.client.HTTPException(f"it is longer than {one.size} bytes")
                file.write(block)
                report(size)
    if size < one.size:
        raise http.client.HTTPException(f"it ended after {size} of {one.size} bytes")
