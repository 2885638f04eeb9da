from pathlib import Path

import pytest

from memory_plugin.embedding import HashingEmbedder, OnnxEmbedder, find_model, open_embedder
from memory_plugin.testing.embedder import EmbedderContract


class TestHashing(EmbedderContract):
    @pytest.fixture
    def open_embedder(self):
        async def opened():
            return HashingEmbedder(dim=64)

        return opened


class TestPackaged(EmbedderContract):
    @pytest.fixture
    def open_embedder(self, needs_model):
        async def opened():
            return await OnnxEmbedder.open(find_model(model_dir=None, cache_dir=Path()))

        return opened


class TestTrueInt8(EmbedderContract):
    @pytest.fixture
    def open_embedder(self, model_cache):
        async def opened():
            return await open_embedder(model_dir=None, cache_dir=model_cache)

        return opened


class TestTrueInt8OnTwoThreads(EmbedderContract):
    @pytest.fixture
    def open_embedder(self, model_cache):
        async def opened():
            return await open_embedder(model_dir=None, cache_dir=model_cache, threads=2)

        return opened
