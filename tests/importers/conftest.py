"""Files as chat programs write them, made small."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from memory_plugin.importers import Options, Skipped, read
from memory_plugin.types import PerceptionEvent


class Chats:
    """A folder to write exports to, and what reading one gives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    @staticmethod
    def message(number: int, text: str = "hello", **more: object) -> dict[str, object]:
        return {
            "id": str(number),
            "type": "Default",
            "timestamp": "2023-05-07T14:03:22.123+02:00",
            "content": text,
            "author": {"id": "77", "name": "ann", "isBot": False},
        } | more

    def export(self, *messages: object) -> Path:
        document = {
            "guild": {"id": "5", "name": "Guild"},
            "channel": {"id": "9", "type": "GuildTextChat", "name": "general"},
            "messages": list(messages),
        }
        return self.file("export.json", json.dumps(document, indent=1))

    def package(self, *rows: object, owner: str = "77") -> Path:
        path = self.folder / "package.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("Account/user.json", json.dumps({"id": owner, "username": "ann"}))
            for channel, said in (("111111", rows), ("222222", ())):
                folder = f"Messages/c{channel}"
                about = {"id": channel, "type": "DM", "recipients": [owner, "88"]}
                archive.writestr(f"{folder}/channel.json", json.dumps(about))
                last = {"ID": "9", "Timestamp": "2023-05-07 15:00:00", "Contents": "last"}
                archive.writestr(f"{folder}/messages.json", json.dumps([*said, last]))
        return path

    def read(
        self, path: Path, kind: str | None = None, **asked: object
    ) -> tuple[list[PerceptionEvent], list[Skipped]]:
        """Events, and what was skipped."""
        events: list[PerceptionEvent] = []
        skipped: list[Skipped] = []
        for one in read(path, Options(**{"agent_id": "bot", **asked}), kind):
            (skipped if isinstance(one, Skipped) else events).append(one)
        return events, skipped


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    return Chats(tmp_path)
