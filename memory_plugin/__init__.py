"""A memory that lasts for Python bots.

The names a host or a plugin needs; everything else may change between versions.
"""

from memory_plugin.context import Context, Material, Message, compose
from memory_plugin.embedding import HashingEmbedder
from memory_plugin.engine import Memory
from memory_plugin.errors import (
    ClosedError,
    CorruptStoreError,
    EmbedderError,
    ImportFileError,
    MemoryPluginError,
    PluginError,
    SchemaError,
    SettingsError,
    StoreError,
    ValidationError,
)
from memory_plugin.hookspecs import DROP, hookimpl
from memory_plugin.parts import (
    Acquaintance,
    Added,
    Embedder,
    Erased,
    Selection,
    Statistics,
    Store,
    WordsOnly,
)
from memory_plugin.settings import Settings
from memory_plugin.streams import MemoryStorage, PerceptionManager, StoreStorage, StreamStorage
from memory_plugin.truncation import (
    Budget,
    Fifo,
    Gap,
    ImportanceWeighted,
    Truncated,
    Truncation,
)
from memory_plugin.types import (
    Cue,
    EventType,
    Hit,
    PerceptionEvent,
    Place,
    Scope,
    Source,
    SourceType,
    Visibility,
)

__all__ = [
    "DROP",
    "Acquaintance",
    "Added",
    "Budget",
    "ClosedError",
    "Context",
    "CorruptStoreError",
    "Cue",
    "Embedder",
    "EmbedderError",
    "Erased",
    "EventType",
    "Fifo",
    "Gap",
    "HashingEmbedder",
    "Hit",
    "ImportFileError",
    "ImportanceWeighted",
    "Material",
    "Memory",
    "MemoryPluginError",
    "MemoryStorage",
    "Message",
    "PerceptionEvent",
    "PerceptionManager",
    "Place",
    "PluginError",
    "SchemaError",
    "Scope",
    "Selection",
    "Settings",
    "SettingsError",
    "Source",
    "SourceType",
    "Statistics",
    "Store",
    "StoreError",
    "StoreStorage",
    "StreamStorage",
    "Truncated",
    "Truncation",
    "ValidationError",
    "Visibility",
    "WordsOnly",
    "compose",
    "hookimpl",
]
