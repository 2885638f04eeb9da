"""One file, several processes: nothing is lost, everything is seen."""

import asyncio

import numpy as np

from memory_plugin.sqlite import SqliteStore
from memory_plugin.testing.worlds import BOT, an_event, axis, everything, holding, seen_from

WRITE_AND_SAY = """
async def main():
    store = await SqliteStore.open(sys.argv[1])
    async def one(number):
        (added,) = await store.add([an_event(f"line {number}", external_id=str(number))])
        print(number, flush=True)
    for start in range(0, 10_000, 20):
        await asyncio.gather(*(one(number) for number in range(start, start + 20)))
asyncio.run(main())
"""
WRITE_MANY = """
async def main():
    name, alone = sys.argv[2], int(sys.argv[3])
    store = await SqliteStore.open(sys.argv[1])
    for number in range(alone):
        await store.add([an_event(f"{name} {number}", external_id=f"{name} {number}")])
    rest = [an_event(f"{name} {n}", external_id=f"{name} {n}") for n in range(alone, 5_000)]
    await store.add(rest)
    await store.close()
    print("done")
asyncio.run(main())
"""
CHANGE = """
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.use_model("model", 4)
    await store.edit(BOT, "1", "edited wine", at(5))
    await store.delete(BOT, ["2"])
    await store.add([an_event("added", 6, external_id="4")])
    jobs = [job for job in await store.unembedded(9) if "third" in job.text]
    assert await store.add_vectors([(job, axis(1)) for job in jobs]) == 1
    await store.close()
asyncio.run(main())
"""
ERASE = """
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.erase(Selection(entity_id=BEN))
    await store.close()
asyncio.run(main())
"""


def finished(process):
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out


async def test_a_killed_process_has_lost_nothing_that_it_awaited(path, other_process):
    process = other_process(WRITE_AND_SAY, path)
    said = [int(process.stdout.readline()) for _ in range(1_500)]

    process.kill()
    said += [int(line) for line in process.communicate()[0].split()]

    store = await SqliteStore.open(path)
    kept = {int(one.external_id) for one in await store.history(BOT, limit=20_000)}
    assert 1_500 <= len(said) < 10_000
    assert set(said) <= kept
    assert await store.check() == []
    await store.close()


async def test_two_processes_write_five_thousand_events_each(path, other_process):
    one = other_process(WRITE_MANY, path, "one", 1_500)
    two = other_process(WRITE_MANY, path, "two", 1_500)

    assert (finished(one), finished(two)) == ("done\n", "done\n")

    store = await SqliteStore.open(path)
    kept = {event.content for event in await store.history(BOT, limit=20_000)}
    assert kept == {f"{name} {n}" for name in ("one", "two") for n in range(5_000)}
    assert await store.check() == []
    await store.close()


async def test_what_another_process_did_is_in_the_next_search(path, store, other_process):
    await store.use_model("model", 4)
    await store.add(
        [an_event(text, n, external_id=str(n + 1)) for n, text in enumerate(("first", "second"))]
    )
    await store.add([an_event("third", 3, external_id="3")])
    before = await store.search(seen_from(), ["wine"], axis(1))

    process = other_process(CHANGE, path)
    await asyncio.to_thread(finished, process)
    after = await store.search(seen_from(), ["wine", "first", "second"], axis(1))

    assert len(before) == 3
    assert len(before.terms[0].rows) == 0
    events = [event.content for event in await store.fetch(after.seq.tolist())]
    assert sorted(events) == ["added", "edited wine", "third"]
    assert [len(match.rows) for match in after.terms] == [1, 0, 0]
    third = events.index("third")
    assert abs(after.meaning[third] - 1) < 0.01
    assert np.isnan(np.delete(after.meaning, third)).all()


async def test_numbers_of_names_that_another_process_erased_are_not_used(
    path, store, other_process
):
    ben = {"who": "discord:user:2", "name": "Ben"}
    await store.add([an_event("old", **ben)])

    await asyncio.to_thread(finished, other_process(ERASE, path))
    await store.add([an_event("new", 1, **ben)])

    assert [one.source.entity_name for one in await store.history(BOT)] == ["Ben"]
    assert await holding(store, "new", everything()) == {"new"}
    assert await store.check() == []
