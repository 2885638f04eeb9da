"""The contract of a store: what every `memory_plugin.parts.Store` must do."""

from __future__ import annotations

from memory_plugin.testing.events import EventContract
from memory_plugin.testing.searching import SearchContract
from memory_plugin.testing.upkeep import UpkeepContract


class StoreContract(EventContract, SearchContract, UpkeepContract):
    """All that is asked of a store, as tests.

    Subclass it and give it the fixture `open_store`::

        class TestMyStore(StoreContract):
            @pytest.fixture
            def open_store(self, tmp_path):
                async def open_store():
                    return await MyStore.open(tmp_path / "memory.db")

                return open_store

    Each call of `open_store` within one test must open the same, at first empty, store.
    """
