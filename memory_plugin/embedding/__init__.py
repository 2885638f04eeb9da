"""Vectors of text: the ONNX embedder, where its model comes from, and one without a model."""

from memory_plugin.embedding.embedder import OnnxEmbedder, open_embedder
from memory_plugin.embedding.files import ModelFiles, find_model
from memory_plugin.embedding.hashing import HashingEmbedder

__all__ = ["HashingEmbedder", "ModelFiles", "OnnxEmbedder", "find_model", "open_embedder"]
