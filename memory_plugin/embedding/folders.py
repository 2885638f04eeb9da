"""A model in a folder, in the layout that sentence-transformers exports."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from memory_plugin.embedding.files import (
    MAX_TOKENS,
    ModelFiles,
    json_of,
    json_value,
    sha256_of,
)
from memory_plugin.errors import EmbedderError

_GRAPHS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
_OWN = "memory_plugin.json"
_KEYS = {"pooling", "query_prefix", "passage_prefix", "max_tokens"}
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "mean": "mean",
    "cls": "cls",
}
_MODULES = {"Transformer", "Pooling", "Normalize"}


def model_in_folder(folder: Path, *, origin: str, label: str | None = None) -> ModelFiles:
    """The model that lies in `folder`; raises `EmbedderError` that names what is missing or wrong.

    Its name is made of what the files hold, not of where they lie: a folder that is moved or
    copied to another machine stays the same model.
    """
    if not folder.is_dir():
        raise EmbedderError(f"{folder} is not a folder")
    graphs = [folder / name for name in _GRAPHS if (folder / name).is_file()]
    graphs += sorted(folder.glob("onnx/*.onnx"))
    if not graphs:
        raise EmbedderError(f"{folder} has no model.onnx or onnx/model.onnx")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderError(f"{folder} has no tokenizer.json")
    use = _use(folder)
    return ModelFiles(
        name=f"{label or _label(folder)}/{_digest(graphs[0], tokenizer, use)}",
        origin=origin,
        model=graphs[0],
        tokenizer=tokenizer,
        **use,
    )


def _label(folder: Path) -> str:
    said = json_of(folder / "config.json").get("_name_or_path")
    name = said.rstrip("/").rsplit("/", 1)[-1] if isinstance(said, str) else ""
    return name[:64] if name and name.isprintable() else "onnx"


def _digest(graph: Path, tokenizer: Path, use: Mapping[str, Any]) -> str:
    """What decides the vectors, in 16 hex digits: weights, tokenizer, and how they are used."""
    # Large graphs keep their weights in files beside them.
    weights = [graph, *sorted(graph.parent.glob(f"{graph.name}_data*"))]
    parts = [*(sha256_of(path) for path in (*weights, tokenizer)), repr(sorted(use.items()))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _use(folder: Path) -> dict[str, Any]:
    """Pooling, prefixes and length, from our own file or else from the exporter's."""
    use: dict[str, Any] = {"max_tokens": MAX_TOKENS} | _exported(folder)
    own = folder / _OWN
    said = json_of(own)
    unknown = said.keys() - _KEYS
    if unknown:
        raise EmbedderError(
            f"{own} has an unknown key {min(unknown)!r}; known are {', '.join(sorted(_KEYS))}"
        )
    if said.get("pooling", "mean") not in ("mean", "cls"):
        raise EmbedderError(f"{own}: pooling must be mean or cls, not {said['pooling']!r}")
    for key in ("query_prefix", "passage_prefix"):
        if not isinstance(said.get(key, ""), str):
            raise EmbedderError(f"{own}: {key} must be text, not {said[key]!r}")
    use |= said
    most = json_of(folder / "config.json").get("max_position_embeddings")
    most = most if _is_count(most) and most <= 8192 else 8192
    tokens = use["max_tokens"]
    if "max_tokens" not in said and _is_count(tokens):
        tokens = use["max_tokens"] = min(tokens, most)
    if not _is_count(tokens) or not 8 <= tokens <= most:
        raise EmbedderError(f"{own}: max_tokens must be from 8 to {most}, not {tokens!r}")
    return use


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _exported(folder: Path) -> dict[str, Any]:
    """What the files of sentence-transformers say; refuses models of parts we do not have."""
    for module in json_value(folder / "modules.json") or ():
        kind = str(module.get("type", "") if isinstance(module, dict) else module)
        if kind.rsplit(".", 1)[-1] not in _MODULES:
            raise EmbedderError(
                f"{folder} needs a layer outside its ONNX file ({kind}); export it with the graph"
            )
    use: dict[str, Any] = {}
    pooling = _pooling(folder / "1_Pooling" / "config.json")
    if pooling is not None:
        use["pooling"] = pooling
    length = json_of(folder / "sentence_bert_config.json").get("max_seq_length")
    if _is_count(length):
        use["max_tokens"] = length
    prompts = json_of(folder / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict):
        for ours, theirs in (
            ("query_prefix", ("query",)),
            ("passage_prefix", ("passage", "document")),
        ):
            found = [prompts[key] for key in theirs if isinstance(prompts.get(key), str)]
            if found:
                use[ours] = found[0]
    return use


def _pooling(path: Path) -> str | None:
    said = json_of(path)
    if not said:
        return None
    # The older form has a switch for each way, the newer one names the way.
    ways = [key for key, on in said.items() if key.startswith("pooling_mode_") and on is True]
    if isinstance(said.get("pooling_mode"), str):
        ways = [said["pooling_mode"]]
    if len(ways) != 1 or ways[0] not in _POOLINGS:
        raise EmbedderError(f"{path}: can pool by mean or cls, not by {' and '.join(ways) or '?'}")
    return _POOLINGS[ways[0]]
