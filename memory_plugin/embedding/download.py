"""Fetching a model once: a pinned revision, checked, resumed, put in place in one step."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memory_plugin.embedding.files import MODEL, TOKENIZER_SHA256, sha256_of
from memory_plugin.errors import EmbedderError

Progress = Callable[[int, int], None]

TIMEOUT_S = 30.0
TRIES = 3
_BLOCK = 1 << 16


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


def fetch_model(folder: Path, pin: Pin = PINNED, on_progress: Progress | None = None) -> Path:
    """Download the files of a pin into `folder`; answers the folder.

    Files that are there and whole are kept; a broken transfer goes on where it stopped, also in
    the next call. `on_progress` gets (bytes so far, bytes in all). Raises `EmbedderError`.
    """
    total = sum(one.size for one in pin.files)
    done = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in pin.files:
            target = folder / one.name
            if not (target.is_file() and sha256_of(target) == one.sha256):
                seen = partial(_report, on_progress, done, total)
                _fetch(f"{pin.base_url}/{one.path}", target, one, seen)
            done += one.size
            if on_progress is not None:
                on_progress(done, total)
    except OSError as fault:
        raise EmbedderError(f"cannot keep the model in {folder}: {fault}") from fault
    return folder


def _report(on_progress: Progress | None, done: int, total: int, size: int) -> None:
    if on_progress is not None:
        on_progress(done + size, total)


def _fetch(url: str, target: Path, one: PinnedFile, report: Callable[[int], None]) -> None:
    part = target.with_name(target.name + ".part")
    fault: Exception | None = None
    for _ in range(TRIES):
        try:
            _transfer(url, part, one, report)
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            TimeoutError,
            ConnectionError,
        ) as caught:
            fault = caught
            if isinstance(caught, urllib.error.HTTPError) and caught.code not in (
                408,
                429,
                500,
                502,
                503,
                504,
            ):
                break
            continue
        found = sha256_of(part)
        if part.stat().st_size == one.size and found == one.sha256:
            part.replace(target)
            return
        # What arrived is not what was pinned; going on from it could never come right.
        part.unlink()
        fault = EmbedderError(f"sha256 is {found}, expected {one.sha256}")
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
                    raise http.client.HTTPException(f"longer than the pinned {one.size} bytes")
                file.write(block)
                report(size)
    if size < one.size:
        raise http.client.IncompleteRead(b"", one.size - size)


def digest_of(data: bytes) -> str:
    """The SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def write_atomically(target: Path, data: bytes) -> None:
    """Put a file in place whole or not at all, also when two processes do it at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.move(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
