"""Building the true-int8 graph: the one step that needs `onnx`, run in a process of its own."""

from __future__ import annotations

import hashlib
import logging
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from memory_plugin.embedding.files import ModelFiles, write_atomically
from memory_plugin.embedding.graph import fused_graph, packaged_weights
from memory_plugin.embedding.runtime import Runtime
from memory_plugin.embedding.true_int8 import PROBES, compare, record_bytes, record_of


def build(files: ModelFiles, target: Path) -> None:
    """Build the graph from the packaged model, compare the two, keep it and its record.

    Raises `EmbedderError` when they differ too much, and whatever the tools raise.
    """
    import onnx  # noqa: PLC0415 - an optional extra, and slow to import
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="memory-plugin-") as folder:
        floats, made = Path(folder) / "floats.onnx", Path(folder) / "int8.onnx"
        onnx.save(fused_graph(packaged_weights(onnx.load(files.model), onnx), onnx), floats)
        # The tool warns the root logger about a step that this graph has no use for.
        logging.disable(logging.WARNING)
        try:
            quantize_dynamic(
                floats,
                made,
                op_types_to_quantize=["MatMul", "Attention", "EmbedLayerNormalization"],
                # One scale a tensor is not enough here: cosines fall to 0.955.
                per_channel=True,
                weight_type=QuantType.QInt8,
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )
        finally:
            logging.disable(logging.NOTSET)
        packaged = Runtime(files)
        vectors = packaged.embed(PROBES)
        compare(Runtime(replace(files, model=made, one_by_one=True)), vectors)
        graph = made.read_bytes()
    write_atomically(target, graph)
    write_atomically(record_of(target), record_bytes(hashlib.sha256(graph).hexdigest(), vectors))


def main() -> None:
    """Take the packaged model, its tokenizer and the target from the command line."""
    model, tokenizer, target = map(Path, sys.argv[1:])
    build(ModelFiles(name="packaged", origin="", model=model, tokenizer=tokenizer), target)
