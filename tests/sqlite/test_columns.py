"""What stands in RAM is what a fresh look at the file would show."""

import asyncio
import shutil
import tempfile
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.parts import Selection
from memory_plugin.sqlite import SqliteStore, shelving
from memory_plugin.sqlite.columns import Columns, block_of
from memory_plugin.sqlite.search import Query, search
from memory_plugin.sqlite.shelving import Shelves
from memory_plugin.testing.searching import assert_same
from memory_plugin.testing.worlds import (
    ANN,
    ANNS_DOOR,
    BEN,
    BOT,
    CELLAR,
    FAR,
    INN,
    MILL,
    START,
    an_event,
    at,
    everything,
    seen_from,
)

PLACES = (INN, MILL, CELLAR, FAR, ANNS_DOOR)
SCOPES = (everything(), seen_from(), seen_from(CELLAR), seen_from(ANNS_DOOR), seen_from(FAR))
NUMBER = st.integers(0, 30)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), NUMBER, st.integers(-200, 200), st.sampled_from(PLACES)),
        st.tuples(st.just("edit"), NUMBER, st.sampled_from(["bread?", "wine in May", "butter"])),
        st.tuples(st.just("delete"), NUMBER),
        st.tuples(st.just("mend"), NUMBER, st.integers(1, 10)),
        st.tuples(st.just("embed"), st.integers(1, 5)),
        st.tuples(st.just("erase"), st.integers(-100, 100)),
        st.tuples(st.just("model"), st.sampled_from(["one", "two"])),
        st.tuples(st.just("follow"), st.booleans()),
        st.tuples(st.just("look")),
    ),
    max_size=40,
)
QUERY = Query(
    terms=("bread", "utte", "person1"), vector=np.array([1, 2, 0, -1], np.float32), model="one"
)


async def take(store, step):
    match step:
        case "add", number, minutes, place:
            event = an_event(f"bread {number}", minutes, place=place, external_id=str(number))
            await store.add([event])
        case "edit", number, text:
            await store.edit(BOT, str(number), text, START + timedelta(days=1))
        case "delete", number:
            await store.delete(BOT, [str(number)])
        case "mend", number, importance:
            for event in await store.history(BOT, limit=1_000):
                if event.external_id == str(number):
                    await store.set_importance(event.id, importance)
        case "embed", count:
            rng = np.random.default_rng(count)
            jobs = await store.unembedded(count)
            await store.add_vectors([(job, rng.standard_normal(4)) for job in jobs])
        case "erase", minutes:
            await store.erase(Selection(until=at(minutes - 150)))
        case "model", name:
            await store.use_model(name, 4)
        case "follow", wanted:
            await store.set_followed(ANN, followed=wanted)


async def cached(store, scope):
    return await store._search(lambda on: search(on, store._shelves, scope, QUERY))


async def fresh(store, scope):
    return await store._search(lambda on: search(on, Shelves(1 << 30), scope, QUERY))


async def same_after(steps):
    folder = Path(tempfile.mkdtemp())
    store = await SqliteStore.open(folder / "memory.db")
    try:
        await store.use_model("one", 4)
        lent = []
        for step in steps:
            await take(store, step)
            if step[0] == "look":
                for scope in SCOPES:
                    found = await cached(store, scope)
                    lent.append((found, [column.copy() for column in columns_of(found)]))
        for scope in SCOPES:
            assert_same(await cached(store, scope), await fresh(store, scope))
        for found, before in lent:
            for column, copy in zip(columns_of(found), before, strict=True):
                np.testing.assert_array_equal(column, copy)
    finally:
        await store.close()
        shutil.rmtree(folder)


def columns_of(found):
    return [getattr(found, one.name) for one in fields(found) if one.name != "terms"]


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_after_any_changes_columns_equal_a_fresh_load_and_lent_ones_stay(steps):
    asyncio.run(same_after(steps))


def linked(rows, together):
    columns = Columns(4)
    for start in range(0, len(rows), together):
        first = len(columns)
        columns.append(block_of(rows[start : start + together]))
        columns.link(first)
    return columns


def expected_links(rows):
    """Previous and session as their definition says it, one row after the other."""
    previous, session = [-1] * len(rows), [row[0] for row in rows]
    newest = {}
    for row in sorted(range(len(rows)), key=lambda one: (rows[one][1], rows[one][0])):
        before = newest.get(rows[row][3])
        if before is not None:
            previous[row] = before
            if rows[row][1] - rows[before][1] <= 3_600_000_000:
                session[row] = session[before]
        newest[rows[row][3]] = row
    return previous, session


ROWS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 20)), max_size=60).map(
    lambda pairs: [
        (3 * n + 1, seconds * 1_000_000, 1, place, 5, 2, 0, 0)
        for n, (seconds, place) in enumerate(pairs)
    ]
)


@settings(deadline=None)
@given(ROWS, st.integers(1, 25), st.sets(st.integers(0, 59), max_size=30))
def test_neighbours_are_found_in_any_order_of_arrival_and_after_removals(rows, together, removed):
    columns = linked(rows, together)
    columns.lend()
    columns.remove(np.array([rows[n][0] for n in removed if n < len(rows)], np.int64))

    left = [row for n, row in enumerate(rows) if n not in removed]
    previous, session = expected_links(left)
    block = columns.lend()
    assert block["seq"].tolist() == [row[0] for row in left]
    assert block["previous"].tolist() == previous
    assert block["session"].tolist() == session
    # And what comes after finds its place too.
    first = len(columns)
    more = [(1_000 + n, (n * 7_000 % 20_000) * 1_000_000, 1, n % 25, 5, 2, 0, 0) for n in range(40)]
    columns.append(block_of(more))
    columns.link(first)
    previous, session = expected_links([*left, *more])
    block = columns.lend()
    assert (block["previous"].tolist(), block["session"].tolist()) == (previous, session)


CHANGES = {
    "update": lambda columns: columns.update(block_of([(4, 0, 1, 1, 9, 77, 3, 0)])),
    "remove": lambda columns: columns.remove(np.array([4])),
    "late": lambda columns: (
        columns.append(block_of([(50, 5_000_000, 1, 1, 5, 2, 0, 0)])),
        columns.link(10),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_columns_that_were_lent_do_not_change(change):
    columns = linked([(n, n * 10_000_000, 1, 1, 5, 2, 0, 0) for n in range(10)], 10)
    lent = columns.lend()
    before = {name: column.copy() for name, column in lent.items()}

    CHANGES[change](columns)

    for name, column in before.items():
        np.testing.assert_array_equal(lent[name], column)
    changed = columns.lend()
    assert any(not np.array_equal(changed[name], before[name]) for name in before)


async def test_shelves_that_do_not_fit_go_the_longest_unused_first(path):
    store = await SqliteStore.open(path, cache_mb=1)
    places = [INN, CELLAR, FAR, ANNS_DOOR]
    await store.use_model("model", 384)
    for place in places:
        await store.add([an_event(f"{n}", n, place=place) for n in range(900)])

    for place in places:
        await store.search(seen_from(place), [], None)

    status = await store.status()
    assert 1 <= status["cached_shelves"] < 4
    assert status["cached_bytes"] <= 1_000_000
    await store.search(everything(), [], None)
    status = await store.status()
    assert status["cached_shelves"] == 1
    assert status["cached_bytes"] > 1_000_000
    assert len(await store.search(seen_from(FAR), [], None)) == 900
    await store.close()


@pytest.mark.parametrize("many", [10, 3_000])
async def test_few_and_many_new_rows_are_both_seen(store, many):
    await store.add([an_event(f"old {n}", n, who=BEN) for n in range(50)])
    before = await store.search(seen_from(), [], None)

    await store.add([an_event(f"new {n}", n) for n in range(many)])

    assert len(before) == 50
    assert len(await store.search(seen_from(), [], None)) == 50 + many
    assert_same(await cached(store, seen_from()), await fresh(store, seen_from()))


async def test_removals_that_are_no_longer_listed_make_a_shelf_load_anew(store, monkeypatch):
    monkeypatch.setattr("memory_plugin.sqlite.erasure.MOST_GONE", 3)
    await store.add([an_event(str(n), n, external_id=str(n)) for n in range(30)])
    await store.search(seen_from(), [], None)
    start = await store.changes(0)

    await store.delete(BOT, [str(n) for n in range(10)])
    await store.erase(Selection(until=at(12)))

    found = await cached(store, seen_from())
    assert len(found) == 18
    assert_same(found, await fresh(store, seen_from()))
    assert (await store.changes(start.revision)).windows is None


def test_a_bulk_is_loaded_in_blocks(monkeypatch):
    monkeypatch.setattr(shelving, "_LOAD_BLOCK", 7)

    asyncio.run(
        same_after([("add", n, n, PLACES[n % 5]) for n in range(30)] + [("embed", 5), ("look",)])
    )


@pytest.mark.parametrize("query", ["_CHANGED", "_VECTORS", "_GONE", "_HOW_MANY"])
async def test_catching_up_costs_what_has_changed_and_not_what_there_is(store, query):
    sql = getattr(shelving, query)

    plan = await store._read(
        lambda on: on.execute(f"explain query plan {sql}", (1,) * sql.count("?")).fetchall()
    )

    steps = [row[3] for row in plan if not row[3].startswith("SCAN (subquery")]
    assert not [step for step in steps if step.startswith("SCAN")]
