"""The store that is a single SQLite file."""

from memory_plugin.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
