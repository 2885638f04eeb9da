"""Words are found however they are written."""

from __future__ import annotations

import unicodedata

import pytest

from memory_plugin.types import Scope

from .conftest import ROOM, said

HERE = Scope(agent_id="npc", place=ROOM)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("I live at the Hauptstraße", "hauptstrasse"),
        ("I live at the HAUPTSTRASSE", "Hauptstraße"),
        (unicodedata.normalize("NFD", "the résumé is ready"), "résumé"),
        ("the résumé is ready", unicodedata.normalize("NFD", "résumé")),
        ("the résumé is ready", "resume"),
        ("\uff28\uff25\uff2c\uff2c\uff2f there", "hello"),  # full-width letters
        ("나는 한국어를 공부하고 있어요", "공부"),
        ("我昨天去了北京的故宫", "北京"),
        ("私は東京に住んでいます", "東京"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("Привет, Мария", "мария"),
        ("ΟΔΥΣΣΕΥΣ came home", "οδυσσευς"),
        ("the autobiography of a cat", "biograph"),
    ],
)
async def test_a_word_is_found_in_any_way_of_writing_it(open_memory, text, query):
    async with await open_memory(model="none") as memory:
        await memory.perceive(said("something else entirely"))
        await memory.perceive(said(text, minutes=1, external_id="1"))

        hits = await memory.recall(query, HERE, limit=1)
        assert [hit.event.content for hit in hits] == [text]
        assert hits[0].parts.get("words", 0) > 0

        await memory.delete("npc", ["1"])
        assert await memory.check() == []
