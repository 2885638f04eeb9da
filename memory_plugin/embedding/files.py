"""What a model consists of on disk, and files that must be whole."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memory_plugin.errors import EmbedderError

Pooling = Literal["mean", "cls"]
MODEL = "all-MiniLM-L6-v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
# Texts are cut here for the vector only; what is stored stays whole.
MAX_TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model on disk: its graph, its tokenizer, and how its output becomes a vector."""

    name: str
    origin: str  # where it was found, in words
    model: Path
    tokenizer: Path
    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = MAX_TOKENS
    packaged: bool = False  # the installed package whose true-int8 form can be built
    # A graph that quantises its activations takes one scale for a whole batch, so a text's vector
    # would depend on its neighbours in the batch, who may be private.
    one_by_one: bool = False
    tried: tuple[str, ...] = ()  # the places looked at before, and why each was passed over


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(target: Path, data: bytes) -> None:
    """Put a file in place whole or not at all, also when two processes do it at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are their maker's alone; a model holds no secret, and others may share it.
        made.chmod(0o644)
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def json_of(path: Path) -> Mapping[str, Any]:
    """A JSON object from a file, empty where there is no file; raises `EmbedderError`."""
    value = json_value(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EmbedderError(f"{path} must hold a JSON object")
    return value


def json_value(path: Path) -> Any:
    """Any JSON from a file, None where there is no file; raises `EmbedderError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        raise EmbedderError(f"cannot read {path}: {fault}") from fault
