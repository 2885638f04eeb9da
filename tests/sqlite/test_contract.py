"""The SQLite store does what every store must do."""

import pytest

from memory_plugin.sqlite import SqliteStore
from memory_plugin.testing import StoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        async def open_store():
            return await SqliteStore.open(tmp_path / "memory.db")

        return open_store
