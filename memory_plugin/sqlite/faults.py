"""What SQLite complains about, as errors that say what mends it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memory_plugin.errors import CorruptStoreError, StoreError

_MENDS = {
    sqlite3.SQLITE_FULL: "the disk or the allowed file size is full; free some space",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; give this user write access",
    sqlite3.SQLITE_PERM: "this user may not access it; give it read and write access",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; does the folder exist, may you write there?",
    sqlite3.SQLITE_BUSY: "another process has been holding it too long; end it or wait",
    sqlite3.SQLITE_LOCKED: "another process has been holding it too long; end it or wait",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; is it full, unplugged or damaged?",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_DAMAGE = {
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database; choose another path or restore a backup",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a backup",
}


def code_of(fault: sqlite3.Error) -> int:
    """The primary result code of an SQLite error, 0 if the driver itself raised it."""
    code: int = getattr(fault, "sqlite_errorcode", 0)
    return code & 0xFF


def store_error(path: Path, fault: sqlite3.Error) -> StoreError:
    """Our error for an error of SQLite; raise it `from` the fault."""
    code = code_of(fault)
    if code in _DAMAGE:
        return CorruptStoreError(f"cannot use {path}: {_DAMAGE[code]} ({fault})")
    mend = _MENDS.get(code, "this is unexpected; run a check of the store")
    return StoreError(f"cannot use {path}: {mend} ({fault})")
