"""Contract suites for the parts that others may supply; they need pytest and pytest-asyncio.

Subclass a suite in your own tests and give it the fixture that it names.
"""

import pytest

# The asserts of a suite shall explain themselves in somebody else's test run too.
pytest.register_assert_rewrite(
    "memory_plugin.testing.embedder",
    "memory_plugin.testing.events",
    "memory_plugin.testing.searching",
    "memory_plugin.testing.truncation",
    "memory_plugin.testing.upkeep",
    "memory_plugin.testing.worlds",
)

from memory_plugin.testing.embedder import EmbedderContract  # noqa: E402
from memory_plugin.testing.store import StoreContract  # noqa: E402
from memory_plugin.testing.truncation import TruncationContract  # noqa: E402

__all__ = ["EmbedderContract", "StoreContract", "TruncationContract"]
