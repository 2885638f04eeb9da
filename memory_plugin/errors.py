"""What can go wrong, in one place: every error this package raises on purpose."""

from __future__ import annotations


class MemoryPluginError(Exception):
    """Anything this package refuses or cannot do; catch it to catch them all."""


class ValidationError(MemoryPluginError, ValueError):
    """A value that a perception event, a scope or a setting cannot hold.

    `field` is the dotted name of the place it was found in (``source.entity_id``), `value` the
    value itself.
    """

    def __init__(self, field: str, value: object, problem: str) -> None:
        self.field = field
        self.value = value
        self.problem = problem
        shown = repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{field}: {problem} (got {shown})")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.field, self.value, self.problem)


class SettingsError(MemoryPluginError, ValueError):
    """A setting that is unknown, contradicts another, or has a wrong value."""


class PluginError(MemoryPluginError):
    """A plugin that cannot be loaded or whose part (store, embedder) failed to open."""


class StoreError(MemoryPluginError):
    """The store could not do what was asked; the message says why and what mends it."""


class SchemaError(StoreError):
    """The file was written by a newer version of this package than the one that runs."""


class CorruptStoreError(StoreError):
    """The file is not a database, or is damaged."""


class EmbedderError(MemoryPluginError):
    """The model is missing, damaged, or gave vectors that cannot be used."""


class ImportFileError(MemoryPluginError):
    """A chat export that cannot be read at all (single bad lines are reported, not raised)."""


class ClosedError(MemoryPluginError):
    """The memory was closed, or never opened."""
