"""The memory as a host uses it: in, out, restart, forget."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from memory_plugin.engine import Memory
from memory_plugin.errors import ClosedError, PluginError, SettingsError, ValidationError
from memory_plugin.hookspecs import hookimpl
from memory_plugin.parts import Selection
from memory_plugin.settings import Settings
from memory_plugin.types import Place, Scope, Source

from .conftest import NOON, ROOM, said

HERE = Scope(agent_id="npc", place=ROOM)


def contents(found) -> list[str]:
    return [getattr(one, "event", one).content for one in found]


async def test_what_was_said_is_recalled_by_its_words_at_once(memory):
    await memory.perceive(said("my cat is called Tom"))
    await memory.perceive(said("the weather is fine", minutes=1))

    hits = await memory.recall("what is the name of the cat?", HERE, limit=1)

    assert contents(hits) == ["my cat is called Tom"]
    assert 0 <= hits[0].score <= 1
    assert hits[0].parts["words"] > 0


async def test_what_was_said_is_recalled_by_meaning_once_it_has_a_vector(memory):
    await memory.perceive(said("the kitten sleeps", minutes=0))
    await memory.perceive(said("bread and butter", minutes=1))

    assert await memory.embed_pending() >= 0
    hits = await memory.recall("kittens sleeping", HERE, limit=1)

    assert contents(hits) == ["the kitten sleeps"]
    assert hits[0].parts["meaning"] > 0


async def test_the_same_event_twice_is_one(memory):
    first = await memory.perceive(said("hello", external_id="m1"))
    second = await memory.perceive(said("hello", external_id="m1"))

    assert first == second
    assert contents(await memory.history("npc", ROOM)) == ["hello"]


async def test_an_edit_replaces_text_and_words(memory):
    await memory.perceive(said("the key is under the mat", external_id="m1"))

    edited = await memory.edit("npc", "m1", "nothing to see", NOON + timedelta(minutes=5))

    assert edited
    assert (
        contents(await memory.recall("where is the key under the mat", HERE, min_score=0.3)) == []
    )
    assert contents(await memory.window("npc", ROOM)) == ["nothing to see"]


async def test_a_deleted_event_stays_away_even_when_it_comes_again(memory):
    await memory.perceive(said("oops", external_id="m1"))

    assert await memory.delete("npc", ["m1", "m2"]) == 1

    assert await memory.perceive(said("oops", external_id="m1")) is None
    assert await memory.perceive(said("late", external_id="m2")) is None
    assert await memory.history("npc", ROOM) == []
    assert await memory.window("npc", ROOM) == []


async def test_own_speech_is_not_recalled_as_a_fact_unless_asked_for(memory):
    await memory.perceive(said("the treasure is in the cellar", by="npc", event_type="self_speech"))
    own = Scope(agent_id="npc", place=ROOM, event_types=("self_speech",))

    assert await memory.recall("where is the treasure", HERE) == []
    assert contents(await memory.recall("where is the treasure", own)) == [
        "the treasure is in the cellar"
    ]


async def test_a_whisper_stays_between_the_two(memory):
    ann = Place(
        platform="mud", space="game", channel="w", visibility="direct", participants=("ann",)
    )
    bob = Place(
        platform="mud", space="game", channel="w", visibility="direct", participants=("bob",)
    )
    await memory.perceive(said("the password is swordfish", by="ann", place=ann))

    elsewhere = [
        await memory.recall("password swordfish", Scope(agent_id="npc", place=place))
        for place in (ROOM, bob)
    ]
    with_ann = await memory.recall("password", Scope(agent_id="npc", place=ann))

    assert elsewhere == [[], []]
    assert contents(with_ann) == ["the password is swordfish"]


async def test_recall_by_person_needs_no_words(memory):
    await memory.perceive(said("I love fishing", by="bob"))
    await memory.perceive(said("I hate fishing", by="ann", minutes=1))

    hits = await memory.recall(
        None, Scope(agent_id="npc", place=ROOM, entities=("mud:object:bob",))
    )

    assert contents(hits) == ["I love fishing"]


async def test_a_token_budget_bounds_the_hits(memory):
    for number in range(20):
        await memory.perceive(said(f"fish number {number}", minutes=number))

    hits = await memory.recall("fish", HERE, limit=20, budget_tokens=30)

    spent = sum(
        memory.count_tokens(f"{one.event.source.entity_name}: {one.event.content}") for one in hits
    )
    assert 0 < len(hits) < 20
    assert spent <= 30


async def test_everything_comes_back_after_a_restart(open_memory):
    async with await open_memory() as memory:
        await memory.perceive(said("my cat is called Tom", external_id="m1"))
        await memory.perceive(said("I pour ale", by="npc", minutes=1, event_type="self_action"))
        before = await memory.build_context("npc", ROOM, query="cat", agent_name="Innkeeper")

    async with await open_memory() as memory:
        window = await memory.window("npc", ROOM)
        after = await memory.build_context("npc", ROOM, query="cat", agent_name="Innkeeper")

    assert contents(window) == ["my cat is called Tom", "I pour ale"]
    assert after.text == before.text


async def test_what_another_memory_on_the_same_file_writes_is_seen_at_once(open_memory):
    async with await open_memory() as one, await open_memory() as two:
        await one.perceive(said("first", external_id="a"))
        assert contents(await two.window("npc", ROOM)) == ["first"]

        await two.perceive(said("second fish", minutes=1, external_id="b"))
        assert contents(await one.window("npc", ROOM)) == ["first", "second fish"]
        assert contents(await one.recall("fish", HERE, limit=1)) == ["second fish"]

        await two.delete("npc", ["b"])
        assert contents(await one.window("npc", ROOM)) == ["first"]
        assert "second fish" not in contents(await one.recall("fish", HERE))


async def test_perceive_soon_is_stored_in_order_and_flushed_at_close(open_memory):
    memory = await open_memory()
    for number in range(300):
        memory.perceive_soon(said(f"line {number}", minutes=number))
    await memory.close()

    async with await open_memory() as memory:
        kept = contents(await memory.history("npc", ROOM, limit=1000))
    assert kept == [f"line {number}" for number in range(300)]


async def test_perceive_soon_may_be_called_from_another_thread(memory):
    thread = threading.Thread(
        target=lambda: [memory.perceive_soon(said(f"t {n}", minutes=n)) for n in range(50)]
    )
    thread.start()
    await asyncio.to_thread(thread.join)
    await memory.flush()

    assert len(await memory.history("npc", ROOM, limit=100)) == 50


async def test_forgetting_a_person_leaves_nothing_of_theirs(memory):
    await memory.perceive(said("my secret is zanzibar", by="ann", external_id="m1"))
    await memory.perceive(said("good day", by="bob", minutes=1))

    erased = await memory.forget(Selection(entity_id="mud:object:ann"))

    assert erased.events == 1
    assert contents(await memory.window("npc", ROOM)) == ["good day"]
    assert await memory.recall("zanzibar", HERE, min_score=0.3) == []
    assert await memory.perceive(said("my secret is zanzibar", by="ann", external_id="m1")) is None


async def test_a_context_and_its_reason(memory):
    await memory.perceive(said("my cat is called Tom", by="ann"))
    for number in range(30):
        await memory.perceive(said(f"small talk {number}", minutes=600 + number))
    question = said("what is the name of Ann's cat?", by="bob", minutes=700)
    await memory.perceive(question)

    context = await memory.build_context(
        "npc", ROOM, event=question, identity="You are an innkeeper.", agent_name="Inn"
    )
    why = await memory.why("npc", ROOM)

    assert "my cat is called Tom" in context.text
    assert "## Current Conversation" in context.text
    assert context.tokens <= memory.settings.context_tokens
    assert why is not None
    assert "my cat is called Tom" in why


async def test_a_context_for_one_person_is_the_same_with_and_without_anothers_secrets(
    open_memory, path
):
    async def context_of(*secrets) -> str:
        path.unlink(missing_ok=True)
        async with await open_memory() as memory:
            await memory.perceive_many(
                [
                    said("my cat is called Tom", by="ann", id="a"),
                    *secrets,
                    said("hm", minutes=9, id="b"),
                ]
            )
            await memory.embed_pending()
            made = await memory.build_context(
                "npc",
                ROOM,
                query="the cat",
                speaker=Source(entity_id="mud:object:bob", entity_name="Bob"),
            )
            hits = await memory.recall("the cat", HERE)
            return made.text + repr([(one.score, dict(one.parts)) for one in hits])

    dm = Place(
        platform="mud", space="game", channel="w", visibility="direct", participants=("ann",)
    )
    secrets = [said(f"the cat is a spy {n}", by="bob", minutes=n, place=dm) for n in range(1, 6)]

    assert await context_of() == await context_of(*secrets)


async def test_a_closed_memory_refuses(open_memory):
    memory = await open_memory()
    await memory.close()
    await memory.close()

    with pytest.raises(ClosedError):
        await memory.perceive(said("too late"))
    with pytest.raises(ClosedError):
        memory.perceive_soon(said("too late"))
    with pytest.raises(ClosedError):
        await memory.recall("x", HERE)


async def test_without_a_model_it_works_by_words_and_says_so(path):
    async with await Memory.open(Settings(path=path, model="none")) as memory:
        await memory.perceive(said("my cat is called Tom"))

        assert contents(await memory.recall("cat", HERE)) == ["my cat is called Tom"]
        status = await memory.status()
    assert status["mode"] == "words only"
    assert "model='none'" in status["words_only_because"]


async def test_an_unknown_setting_names_the_near_match():
    with pytest.raises(SettingsError, match="window_messages"):
        await Memory.open({"window_message": 5})


async def test_a_plugin_that_gives_no_store_stops_the_start(path):
    class Wrong:
        @hookimpl
        def open_store(self):
            return object()

    with pytest.raises(PluginError, match="not a Store"):
        await Memory.open(Settings(path=path, model="none"), plugins=[Wrong()])


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", "the of and", "%", '"', "a* NOT b", "x" * 10_000, "日本"]
)
async def test_any_query_is_answered(memory, query):
    await memory.perceive(said("hello 日本語 world"))

    assert isinstance(await memory.recall(query, HERE), list)


async def test_a_query_that_is_no_text_is_refused(memory):
    with pytest.raises(ValidationError):
        await memory.recall("\ud800", HERE)
