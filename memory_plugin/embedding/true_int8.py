"""The packaged model in a form that computes in whole numbers: half the time, half the RAM.

The packaged file only stores its weights as int8; its graph turns them back into floats and
computes with those. From the same weights a graph of fused layers is built here and quantised
dynamically, per channel. It is built once, with the package `onnx`, and kept.
"""

from __future__ import annotations

import json
import logging
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memory_plugin.embedding.download import digest_of, write_atomically
from memory_plugin.embedding.files import MODEL, PACKAGED_SHA256, ModelFiles, sha256_of
from memory_plugin.embedding.runtime import Runtime
from memory_plugin.errors import EmbedderError

log = logging.getLogger(__name__)

# Part of the vectors' name: raise it when the graph comes out differently.
RECIPE = 1
LAYERS, HEADS = 6, 12
# Measured on chat: mean 0.991, least 0.972. A wrongly wired graph is far below.
LEAST_COSINE = 0.95
_PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_PROBES = (
    "Bob: where did you leave the keys?",
    "Ann: we went to the sea last summer and it rained every day",
    "the innkeeper pours ale for a traveller who has come a long way",
    "Ann: thank you very much",
)


def faster_form(files: ModelFiles, cache_dir: Path) -> tuple[ModelFiles, str]:
    """The packaged model's true-int8 form, built if it is not there, and a note for the status.

    Answers the packaged model itself, and why, when the form cannot be built or kept.
    """
    folder = cache_dir / "graphs"
    target = folder / f"{MODEL}-int8-{RECIPE}.onnx"
    faster = replace(files, name=f"{MODEL}/true-int8/{RECIPE}", model=target, one_by_one=True)
    if _is_whole(target):
        return faster, "true int8, from the cache"
    try:
        graph = _built(files)
        write_atomically(target, graph)
        record = {"sha256": digest_of(graph), "from": PACKAGED_SHA256, "recipe": RECIPE}
        write_atomically(_record_of(target), json.dumps(record).encode())
    except ImportError as fault:
        return files, f"as packaged, half as fast: the package {fault.name} is missing"
    except (EmbedderError, OSError) as fault:
        log.warning("the faster form of the model could not be made: %s", fault)
        return files, f"as packaged, half as fast: {fault}"
    return faster, "true int8, built now"


def _record_of(target: Path) -> Path:
    return target.with_suffix(".json")


def _is_whole(target: Path) -> bool:
    try:
        record = json.loads(_record_of(target).read_text(encoding="utf-8"))
        return bool(
            record["from"] == PACKAGED_SHA256
            and record["recipe"] == RECIPE
            and record["sha256"] == sha256_of(target)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _built(files: ModelFiles) -> bytes:
    """The bytes of the graph, after comparing it with the packaged one."""
    import onnx  # noqa: PLC0415 - needed once, and slow to import
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="memory-plugin-") as folder:
        floats, target = Path(folder) / "floats.onnx", Path(folder) / "int8.onnx"
        # The tool warns the root logger about a step that this graph has no use for.
        logging.getLogger().addFilter(_is_not_advice)
        try:
            onnx.save(_fused(_weights(onnx.load(files.model), onnx), onnx), floats)
            quantize_dynamic(
                floats,
                target,
                op_types_to_quantize=["MatMul", "Attention", "EmbedLayerNormalization"],
                # One scale a tensor is not enough here: cosines fall to 0.955.
                per_channel=True,
                weight_type=QuantType.QInt8,
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )
        except Exception as fault:  # the tools raise whatever their parts raise
            raise EmbedderError(f"building failed: {fault!r}") from fault
        finally:
            logging.getLogger().removeFilter(_is_not_advice)
        least = _least_cosine(files, replace(files, model=target, one_by_one=True))
        if least < LEAST_COSINE:
            raise EmbedderError(f"its vectors differ from the packaged model's ({least:.3f})")
        return target.read_bytes()


def _is_not_advice(record: logging.LogRecord) -> bool:
    return "pre-processing before quantization" not in str(record.msg)


def _least_cosine(one: ModelFiles, other: ModelFiles) -> float:
    vectors = []
    for files in (one, other):
        runtime = Runtime(files)
        rows = np.empty((len(_PROBES), runtime.dim), np.float32)
        for places, encoded in runtime.batches(_PROBES):
            rows[places] = runtime.vectors(encoded)
        vectors.append(rows)
    return float((vectors[0] * vectors[1]).sum(axis=1).min())


def _weights(model: Any, onnx: Any) -> dict[str, Any]:
    """The packaged weights as floats, under the names of the original checkpoint."""
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    floats = {
        name.removesuffix("_q"): value.astype(np.float32)
        * stored[name.removesuffix("_q") + "_scale"]
        for name, value in stored.items()
        if name.endswith("_q")
    }
    weights = {
        name.removeprefix("inner."): value
        for name, value in (stored | floats).items()
        if name.startswith("inner.")
    }
    # The dense layers have lost their names; they stand in the order they are computed.
    dense = [
        floats[node.input[1]]
        for node in model.graph.node
        if node.op_type == "MatMul" and node.input[1] in floats
    ]
    if len(dense) != LAYERS * len(_PARTS):
        raise EmbedderError(f"the packaged graph has {len(dense)} dense layers")
    for number, value in enumerate(dense):
        layer, part = divmod(number, len(_PARTS))
        weights[f"encoder.layer.{layer}.{_PARTS[part]}.weight"] = value
    return weights


def _fused(weights: dict[str, Any], onnx: Any) -> Any:
    """BERT as the runtime's fused operators, with the same inputs and output as the packaged."""
    graph = _Graph(weights, onnx)
    graph.node("Cast", ["input_ids"], ["ids"], domain="", to=onnx.TensorProto.INT32)
    graph.node("Cast", ["attention_mask"], ["mask"], domain="", to=onnx.TensorProto.INT32)
    # All chat is of the first segment, so its embedding is part of every position's.
    positions = (
        weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    graph.node(
        "EmbedLayerNormalization",
        [
            "ids",
            "",
            graph.kept("words", weights["embeddings.word_embeddings.weight"]),
            graph.kept("positions", positions),
            "",
            graph.kept("gamma", weights["embeddings.LayerNorm.weight"]),
            graph.kept("beta", weights["embeddings.LayerNorm.bias"]),
            "mask",
        ],
        ["hidden", "mask_index"],
        epsilon=1e-12,
    )
    hidden = "hidden"
    for number in range(LAYERS):
        hidden = graph.layer(number, hidden)
    graph.node("Identity", [hidden], ["last_hidden_state"], domain="")
    return graph.model()


class _Graph:
    """A graph in the making: nodes and the weights they use."""

    def __init__(self, weights: dict[str, Any], onnx: Any) -> None:
        self._weights = weights
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._kept: list[Any] = []

    def kept(self, name: str, value: Any) -> str:
        """Put a weight into the graph; answers its name."""
        array = np.ascontiguousarray(value, np.float32)
        self._kept.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(
        self,
        kind: str,
        inputs: list[str],
        outputs: list[str],
        domain: str = "com.microsoft",
        **how: Any,
    ) -> None:
        """Add an operator."""
        make = self._onnx.helper.make_node
        self._nodes.append(make(kind, inputs, outputs, domain=domain, **how))

    def layer(self, number: int, hidden: str) -> str:
        """One transformer layer; answers the name of its output."""
        weights, prefix = self._weights, f"encoder.layer.{number}."

        def named(name: str) -> str:
            return f"{name}{number}"

        def of(part: str, what: str = "weight") -> Any:
            return weights[f"{prefix}{part}.{what}"]

        attention = _PARTS[:3]
        self.node(
            "Attention",
            [
                hidden,
                self.kept(named("qkv"), np.concatenate([of(one) for one in attention], axis=1)),
                self.kept(
                    named("qkv_bias"), np.concatenate([of(one, "bias") for one in attention])
                ),
                "mask",
            ],
            [named("attended")],
            num_heads=HEADS,
        )
        mixed = self._dense(named("mix"), named("attended"), of("attention.output.dense"))
        seen = self._normed(named("seen"), mixed, hidden, prefix + "attention.output")
        wide = self._dense(named("widen"), seen, of("intermediate.dense"))
        bias = self.kept(named("wide_bias"), of("intermediate.dense", "bias"))
        self.node("BiasGelu", [wide, bias], [named("bent")])
        narrow = self._dense(named("narrow"), named("bent"), of("output.dense"))
        return self._normed(named("layer"), narrow, seen, prefix + "output")

    def _dense(self, name: str, value: str, weight: Any) -> str:
        self.node("MatMul", [value, self.kept(f"{name}_weight", weight)], [name], domain="")
        return name

    def _normed(self, name: str, value: str, skip: str, part: str) -> str:
        weights = self._weights
        self.node(
            "SkipLayerNormalization",
            [
                value,
                skip,
                self.kept(f"{name}_gamma", weights[f"{part}.LayerNorm.weight"]),
                self.kept(f"{name}_beta", weights[f"{part}.LayerNorm.bias"]),
                self.kept(f"{name}_bias", weights[f"{part}.dense.bias"]),
            ],
            [name],
            epsilon=1e-12,
        )
        return name

    def model(self) -> Any:
        """The finished model."""
        helper, kind = self._onnx.helper, self._onnx.TensorProto

        def value(name: str, element: int, shape: list[Any]) -> Any:
            return helper.make_tensor_value_info(name, element, shape)

        graph = helper.make_graph(
            self._nodes,
            MODEL,
            [
                value(one, kind.INT64, ["batch", "length"])
                for one in ("input_ids", "attention_mask")
            ],
            [value("last_hidden_state", kind.FLOAT, ["batch", "length", 384])],
            self._kept,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets)
        # What onnxruntime 1.20 reads; newer ones read it too.
        made.ir_version = 8
        return made
