"""Vectors of text: the ONNX embedder, where its model comes from, and one without a model."""

from memory_plugin.embedding.centre import question_centre
from memory_plugin.embedding.download import PINNED, Pin, PinnedFile, fetch_model
from memory_plugin.embedding.embedder import OnnxEmbedder, open_embedder
from memory_plugin.embedding.files import ModelFiles
from memory_plugin.embedding.hashing import HashingEmbedder
from memory_plugin.embedding.sources import find_model

__all__ = [
    "PINNED",
    "HashingEmbedder",
    "ModelFiles",
    "OnnxEmbedder",
    "Pin",
    "PinnedFile",
    "fetch_model",
    "find_model",
    "open_embedder",
    "question_centre",
]
