"""Damage is found, named and mended; copies are consistent."""

import asyncio
import sqlite3

import numpy as np
import pytest

from memory_plugin.sqlite import SqliteStore
from memory_plugin.testing.worlds import BOT, an_event, axis, holding, seen_from


@pytest.fixture
async def filled(store):
    await store.use_model("model", 4)
    await store.add([an_event(f"bread {n}", n, external_id=str(n)) for n in range(50)])
    await store.add_vectors([(job, axis(0)) for job in await store.unembedded(20)])
    return store


DAMAGES = {
    "insert into words (words) values ('delete-all')": "words holds 0 of 50",
    "insert into inside (inside) values ('delete-all')": "inside holds 0 of 50",
    "delete from event_shelf where seq = 7": "places on shelves",
    "delete from unembedded": "30 events have no vector and do not wait",
    "update vector set code = x'00' where seq = 50": "1 vectors have a wrong size",
    "delete from event where seq = 50": "names a row of event that is not there",
    "update words_data set block = x'ffffffff' where id = (select max(id) from words_data)": (
        "the text index words is damaged"
    ),
    "update inside_data set block = zeroblob(9) where id = (select max(id) from inside_data)": (
        "the text index inside is damaged"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_is_named_and_mended(filled, path, damage):
    assert await filled.check() == []
    await filled.search(seen_from(), ["bread"], axis(0))
    await filled.close()
    other = sqlite3.connect(path)
    other.execute(damage)
    other.commit()
    other.close()
    store = await SqliteStore.open(path)
    await store.use_model("model", 4)

    found = await store.check()
    done = await store.repair()

    assert any(DAMAGES[damage] in problem for problem in found), found
    assert any("indexes" in one for one in done)
    assert await store.check() == []
    rest = {event.content for event in await store.history(BOT, limit=100)}
    assert len(rest) >= 49
    assert await holding(store, "bread") == await holding(store, "read") == rest
    await store.close()


async def test_a_repair_is_seen_by_shelves_in_memory(filled):
    before = await filled.search(seen_from(), ["bread"], axis(0))
    await filled._write(lambda on: on.connection.execute("delete from vector where seq > 45"))

    await filled.repair()
    after = await filled.search(seen_from(), ["bread"], axis(0))

    assert np.count_nonzero(~np.isnan(before.meaning)) == 20
    assert np.count_nonzero(~np.isnan(after.meaning)) == 15
    assert await filled.embedding_backlog() == 35


async def test_a_backup_is_of_one_moment_while_writing_goes_on(filled, tmp_path):
    target = tmp_path / "copy.db"

    async def write():
        for n in range(300):
            await filled.add([an_event(f"later {n}", 100 + n, external_id=f"later {n}")])

    await asyncio.gather(filled.backup(target), write())

    copy = await SqliteStore.open(target)
    kept = [event.content for event in await copy.history(BOT, limit=1_000)]
    assert kept[:50] == [f"bread {n}" for n in range(50)]
    assert kept[50:] == [f"later {n}" for n in range(len(kept) - 50)]
    assert await copy.check() == []
    assert len(await filled.history(BOT, limit=1_000)) == 350
    await copy.close()


async def test_a_backup_that_fails_leaves_no_file(filled, tmp_path, monkeypatch):
    target = tmp_path / "none" / "copy.db"

    with pytest.raises(Exception, match="name another"):
        await filled.backup(target)

    assert not target.parent.exists()


async def test_status_says_what_is_there(filled, path):
    await filled.search(seen_from(), [], None)

    status = await filled.status()

    assert status["path"] == str(path)
    assert (status["schema"], status["events"], status["vectors"]) == (1, 50, 20)
    assert (status["awaiting_vectors"], status["model"]) == (30, "model")
    assert status["cached_shelves"] == 1
    assert status["bytes"] >= path.stat().st_size > 0
