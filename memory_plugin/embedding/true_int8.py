"""The packaged model in a form that computes in whole numbers: half the time, half the RAM.

The packaged file only stores its weights as int8; its graph turns them back into floats and
computes with those. The faster form is built once from the same weights (see `building`), kept in
the cache folder, and checked each time it is opened.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from memory_plugin.embedding.files import MODEL, ModelFiles, json_of, sha256_of
from memory_plugin.embedding.runtime import Runtime
from memory_plugin.embedding.sources import PACKAGED_SHA256
from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Vectors

log = logging.getLogger(__name__)

# Part of the vectors' name: raise it when the graph comes out differently.
RECIPE = 1
# To the packaged model's vectors of the same texts. Measured on 400 chat turns: 0.993 on average,
# 0.985 at worst; of the probes "ok" is the worst, 0.973. One scale a tensor instead of one a
# channel gives 0.955 on average, a processor whose byte sums overflow gives less.
LEAST_MEAN_COSINE = 0.98
LEAST_COSINE = 0.96
BUILD_TIMEOUT_S = 300
PROBES = (
    "Bob: where did you leave the keys?",
    "Ann: we went to the sea last summer and it rained every day",
    "the innkeeper pours ale for a traveller who has come a long way",
    "Ann: thank you very much",
    "Cyd: my sister's birthday is on the third of May, she will be nine",
    "ok",
)
# The child looks for our package where we found it.
_BUILD = (
    "import sys; sys.path[:] = {path!r}; from memory_plugin.embedding.building import main; main()"
)


def fastest(files: ModelFiles, cache_dir: Path) -> tuple[Runtime, str]:
    """The packaged model loaded in its true-int8 form, built if need be, and a note for the status.

    Answers the packaged model itself, and why, when the form cannot be built, kept or trusted.
    """
    target = cache_dir / "graphs" / f"{MODEL}-int8-{RECIPE}.onnx"
    faster = replace(files, name=f"{MODEL}/true-int8/{RECIPE}", model=target, one_by_one=True)
    try:
        return _opened(faster), "true int8, from the cache"
    except (EmbedderError, OSError) as fault:
        log.info("building the faster form of the model, once: %s", fault)
    try:
        _build(files, target)
        return _opened(faster), "true int8, built now"
    except (EmbedderError, OSError) as fault:
        log.warning("the model runs as it is packaged, half as fast: %s", fault)
        return Runtime(files), f"as packaged, half as fast: {fault}"


def record_of(target: Path) -> Path:
    """Where the checksum of a graph is, and the packaged model's vectors to compare with."""
    return target.with_suffix(".json")


def _opened(files: ModelFiles) -> Runtime:
    """The kept graph, if it is the one that was built and computes here as it should."""
    if not files.model.is_file():
        raise EmbedderError("it is not there yet")
    record = json_of(record_of(files.model))
    wanted = {"recipe": RECIPE, "from": PACKAGED_SHA256, "sha256": sha256_of(files.model)}
    if {key: record.get(key) for key in wanted} != wanted:
        raise EmbedderError(f"{files.model} is damaged or of another recipe")
    runtime = Runtime(files)
    try:
        packaged = np.asarray(record["vectors"], np.float32)
        compare(runtime, packaged)
    except (KeyError, TypeError, ValueError) as fault:
        raise EmbedderError(f"{record_of(files.model)} is damaged") from fault
    return runtime


def compare(runtime: Runtime, packaged: Vectors) -> None:
    """Raise `EmbedderError` if the vectors of the probes are too far from the packaged model's."""
    cosines = (runtime.embed(PROBES) * packaged).sum(axis=1)
    # Written so that NaN fails.
    if not (cosines.mean() >= LEAST_MEAN_COSINE and cosines.min() >= LEAST_COSINE):
        raise EmbedderError(
            "its vectors differ from the packaged model's"
            f" (cosine {cosines.mean():.3f} on average, {cosines.min():.3f} at worst)"
        )


def _build(files: ModelFiles, target: Path) -> None:
    """Build in a process of its own: it takes seconds of Python and 150 MB that never come back."""
    if importlib.util.find_spec("onnx") is None:
        raise EmbedderError('needs the package onnx: pip install "memory-plugin[model]"')
    if not sys.executable:
        raise EmbedderError("this program does not say which Python it is")
    code = _BUILD.format(path=sys.path)
    order = [sys.executable, "-c", code, str(files.model), str(files.tokenizer), str(target)]
    try:
        # What it takes is our own code and paths.
        subprocess.run(  # noqa: S603
            order,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as fault:
        raise EmbedderError(f"building took longer than {BUILD_TIMEOUT_S} s") from fault
    except subprocess.CalledProcessError as fault:
        said = fault.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word why"]
        raise EmbedderError(f"building failed: {said[-1]}") from fault


def record_bytes(sha256: str, vectors: Vectors) -> bytes:
    """The record to be kept beside a graph."""
    values = np.round(vectors.astype(np.float64), 5).tolist()
    record = {"recipe": RECIPE, "from": PACKAGED_SHA256, "sha256": sha256, "vectors": values}
    return json.dumps(record).encode()
