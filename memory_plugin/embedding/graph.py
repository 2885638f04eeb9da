"""BERT of six layers, put together from bare weights with the runtime's fused operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory_plugin.embedding.files import MODEL
from memory_plugin.errors import EmbedderError

LAYERS, HEADS, WIDTH = 6, 12, 384
_PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def packaged_weights(model: Any, onnx: Any) -> dict[str, Any]:
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


def fused_graph(weights: dict[str, Any], onnx: Any) -> Any:
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
            [value("last_hidden_state", kind.FLOAT, ["batch", "length", WIDTH])],
            self._kept,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets)
        # What onnxruntime 1.20 reads; newer ones read it too.
        made.ir_version = 8
        return made
