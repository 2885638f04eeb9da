"""What may not be seen has no influence on what is seen; what was erased is gone to the byte."""

import asyncio
import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.errors import StoreError
from memory_plugin.parts import Selection
from memory_plugin.sqlite import SqliteStore
from memory_plugin.testing.searching import assert_same
from memory_plugin.testing.worlds import (
    ANN,
    ANNS_DOOR,
    BEN,
    BENS_DOOR,
    BOT,
    CELLAR,
    FAR,
    INN,
    MILL,
    an_event,
    at,
    everything,
    seen_from,
)
from memory_plugin.types import Place, Scope
from memory_plugin.visibility import shelves_for, shelves_of

WORDS = ("bread", "butter", "wine", "inn", "x1", "1xbread", "2xwine", "ähre", "", "", "東京")
TERMS = ["bread", "utte", "wine", "read", "1xbread", "ähre", "東京", "", "person2"]
PLACES = (
    INN,
    MILL,
    FAR,
    CELLAR,
    ANNS_DOOR,
    BENS_DOOR,
    Place(platform="%", space="_", channel="*", visibility="public"),
    Place(platform="discord", channel="inn", visibility="restricted", participants=(ANN,)),
)
EVENT = st.builds(
    dict,
    content=st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    minutes=st.integers(0, 300),
    place=st.sampled_from(PLACES),
    who=st.sampled_from([ANN, BEN]),
    agent_id=st.sampled_from([BOT, BOT, "other"]),
)
VECTOR = np.array([1, -2, 3, 0.5], np.float32)


async def candidates(events, scope, followed, late=()):
    """What is seen of events; those in `late` come when the others have been searched already."""
    folder = Path(tempfile.mkdtemp())
    store = await SqliteStore.open(folder / "memory.db")
    try:
        await store.use_model("model", 4)
        for one in followed:
            await store.set_followed(one, followed=True)
        for some in (events, late):
            await store.add(some)
            jobs = await store.unembedded(1_000)
            vectors = [np.random.default_rng(len(job.text)).standard_normal(4) for job in jobs]
            await store.add_vectors(list(zip(jobs, vectors, strict=True)))
            found = await store.search(scope, TERMS, VECTOR)
        return found, [event.id for event in await store.fetch(found.seq.tolist())]
    finally:
        await store.close()
        shutil.rmtree(folder)


def by_id(found, ids):
    """Candidates without numbers that the store chose: what can be told of each event by its id."""
    first = {}
    for row, session in enumerate(found.session.tolist()):
        first.setdefault(session, set()).add(ids[row])
    return {
        one: (
            found.at[row],
            ids[found.previous[row]] if found.previous[row] >= 0 else None,
            frozenset(first[int(found.session[row])]),
            found.importance[row],
            found.words[row],
            bool(found.question[row]),
            bool(found.eligible[row]),
            float(found.meaning[row]),
            tuple((m.term, m.inside) for m in found.terms if row in m.rows),
        )
        for row, one in enumerate(ids)
    }


SCOPE = st.builds(
    lambda place, audience: seen_from(place, audience=tuple(audience)),
    st.sampled_from(PLACES),
    st.sets(st.sampled_from([ANN, BEN, "discord:user:3"])),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(EVENT, max_size=25), SCOPE, st.sets(st.sampled_from([ANN, BEN])))
def test_hidden_events_leave_no_mark_on_what_is_seen(worlds, scope, followed):
    present = {*scope.place.participants, *scope.audience}
    shelves = set(shelves_for(scope, followed & present))
    events = [an_event(**world) for world in worlds]
    shown = [event for event in events if not shelves.isdisjoint(shelves_of(event))]
    hidden = [event for event in events if shelves.isdisjoint(shelves_of(event))]

    alone, alone_ids = asyncio.run(candidates(shown, scope, followed))
    mixed, mixed_ids = asyncio.run(candidates(events, scope, followed))
    later, later_ids = asyncio.run(candidates(shown, scope, followed, late=hidden))

    assert set(alone_ids) == {event.id for event in shown}
    assert by_id(mixed, mixed_ids) == by_id(alone, alone_ids)
    assert later_ids == alone_ids
    assert_same(later, alone)


MARKER = "xyzzyplugh"


def bytes_of(path):
    files = [path, *path.parent.glob(path.name + "-*")]
    return b"".join(one.read_bytes() for one in files).lower()


@pytest.mark.parametrize("seed", range(4))
async def test_not_a_byte_of_what_was_erased_is_left(path, seed):
    rng = np.random.default_rng(seed)
    store = await SqliteStore.open(path)
    await store.use_model("model", 4)
    who = {"who": f"discord:user:{MARKER}", "name": f"Name{MARKER}"}
    for start in range(0, 1_800, 60):
        events = []
        for n in range(start, start + 60):
            secret = n % 3 == 0
            text = f"{MARKER} {n} " * int(rng.integers(1, 80)) if secret else f"bread {n} " * 9
            place = Place(
                platform="discord",
                channel=f"{MARKER}{n % 5}" if secret else "inn",
                name=f"Room {MARKER}" if secret else "Inn",
            )
            events.append(
                an_event(
                    text,
                    n,
                    # In no order, so that pages of the index are split and keep copies.
                    id=f"{rng.random()} {MARKER if secret else 'plain'}",
                    place=place,
                    external_id=f"{MARKER if secret else 'plain'} {n}",
                    narrative_text=text if secret and n % 2 else None,
                    metadata={"note": MARKER} if secret else {},
                    reply_to=f"{MARKER} 0" if secret else None,
                    **(who if secret else {}),
                )
            )
        await store.add(events)
        await store.edit(BOT, f"{MARKER} {start}", f"{MARKER} edited", at(10_000))
        await store.delete(BOT, [f"{MARKER} {start + 3}"])
        jobs = await store.unembedded(30)
        await store.add_vectors([(job, rng.standard_normal(4)) for job in jobs])
    await store.save_trace(BOT, "place", {"ids": [events[0].id], "who": [who["who"]]})
    assert MARKER.encode() in bytes_of(path)
    spare = bytes_of(path).count(b"bread")

    erased = await store.erase(Selection(entity_id=who["who"]))

    assert erased.events == 570
    left = bytes_of(path)
    for part in (MARKER, MARKER[:5], "yzzyp"):
        assert part.encode() not in left
    assert left.count(b"bread") > 0 < spare
    assert await store.check() == []
    await store.close()
    assert MARKER.encode() not in bytes_of(path)


async def test_a_deleted_text_is_in_no_row_and_no_index(path, store):
    await store.add([an_event(f"{MARKER} said", external_id="1"), an_event("bread")])

    await store.delete(BOT, ["1"])

    found = await store.search(everything(), [MARKER, MARKER[2:7], "said"], None)
    assert [len(match.rows) for match in found.terms] == [0, 0, 0]
    assert await store.check() == []


async def test_erasure_says_when_somebody_keeps_the_old_state(path, store, monkeypatch):
    monkeypatch.setattr("memory_plugin.sqlite.erasure._EMPTY_LOG_S", 0.05)
    await store.add([an_event(MARKER), an_event("bread", who=BEN)])
    other = await SqliteStore.open(path)
    holding_on = asyncio.Event()
    loop = asyncio.get_running_loop()
    done = threading.Event()

    def hold(on):
        on.execute("select count(*) from event").fetchone()
        loop.call_soon_threadsafe(holding_on.set)
        done.wait(30)

    reading = asyncio.ensure_future(other._keep(hold))
    await holding_on.wait()

    with pytest.raises(StoreError, match="close that process and erase again"):
        await store.erase(Selection(entity_id=ANN))
    done.set()
    await reading
    await store.erase(Selection(entity_id=ANN))

    assert MARKER.encode() not in bytes_of(path)
    await other.close()


async def test_a_scope_of_nobody_sees_nothing(store):
    await store.add([an_event("bread", place=CELLAR), an_event("wine", place=BENS_DOOR)])

    found = await store.search(Scope(agent_id=BOT, place=FAR), ["bread", "wine"], None)

    assert len(found) == 0
