"""A store in a temporary file, and other processes that use the same file."""

import subprocess
import sys

import pytest

from memory_plugin.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path):
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


PREAMBLE = """
import asyncio, sys
from memory_plugin.sqlite import SqliteStore
from memory_plugin.parts import *
from memory_plugin.testing.worlds import *
"""


@pytest.fixture
def other_process():
    """Starts Python code in another process: functions of `worlds`, `SqliteStore`, `sys.argv`."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + code, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
