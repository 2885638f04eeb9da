"""The command line: import, ask, count, forget, keep, and look after a memory."""

from memory_plugin.cli.app import app, main

__all__ = ["app", "main"]
