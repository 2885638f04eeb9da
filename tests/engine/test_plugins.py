"""Other packages' hooks: found, ordered, awaited, guarded."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from memory_plugin.errors import PluginError
from memory_plugin.hookspecs import DROP, hookimpl
from memory_plugin.settings import Settings
from memory_plugin.types import Cue, Hit, Scope

from .conftest import NOON, ROOM, said

HERE = Scope(agent_id="npc", place=ROOM)


async def test_perceive_hooks_are_chained_and_may_drop(open_memory):
    class Shout:
        @hookimpl
        def perceive(self, event):
            return replace(event, content=event.content.upper())

    class Censor:
        @hookimpl
        async def perceive(self, event):
            return DROP if "SECRET" in event.content else None

    async with await open_memory(Shout(), Censor()) as memory:
        assert await memory.perceive(said("a secret")) is None
        await memory.perceive(said("hello"))

        assert [one.content for one in await memory.history("npc", ROOM)] == ["HELLO"]


async def test_a_failing_hook_never_loses_the_event(open_memory, caplog):
    class Broken:
        @hookimpl
        def perceive(self, event):
            raise RuntimeError("bug")

        @hookimpl
        def score_importance(self, event):
            return "very"

        @hookimpl
        def recall(self, hits):
            raise RuntimeError("bug")

        @hookimpl
        def truncate(self, events):
            return events

        @hookimpl
        def perceived(self, event):
            raise RuntimeError("bug")

    async with await open_memory(Broken()) as memory:
        await memory.perceive(said("hello fish"))
        await memory.flush()
        hits = await memory.recall("fish", HERE)
        context = await memory.build_context("npc", ROOM, query="fish")
        status = await memory.status()

    assert [hit.event.content for hit in hits] == ["hello fish"]
    assert hits[0].event.importance is not None
    assert "hello fish" in context.text
    broken = next(one for one in status["plugins"] if "Broken" in one["name"])
    assert broken["failures"] >= 5
    assert "Broken" in caplog.text


async def test_a_hook_that_takes_too_long_is_given_up(open_memory):
    class Sleepy:
        @hookimpl
        async def perceive(self, event):
            await asyncio.Event().wait()

    async with await open_memory(Sleepy(), hook_timeout_s=0.05) as memory:
        assert await memory.perceive(said("hello")) is not None


async def test_a_slow_scorer_does_not_delay_storing_and_mends_afterwards(open_memory):
    asked = asyncio.Event()
    answer = asyncio.Event()

    class Thinker:
        @hookimpl
        async def score_importance(self, event):
            asked.set()
            await answer.wait()
            return 10

    async with await open_memory(Thinker()) as memory:
        await memory.perceive(said("hello"))
        await asked.wait()
        before = (await memory.history("npc", ROOM))[0].importance
        answer.set()
        await memory.flush()
        after = (await memory.history("npc", ROOM))[0].importance

    assert before is not None
    assert before < 10
    assert after == 10


async def test_the_hosts_importance_is_not_scored_again(open_memory):
    class Ten:
        @hookimpl
        def score_importance(self):
            return 10

    async with await open_memory(Ten()) as memory:
        await memory.perceive(said("hello", importance=2))

        assert (await memory.history("npc", ROOM))[0].importance == 2


async def test_visible_can_only_tighten_and_fails_closed(open_memory):
    class Strict:
        @hookimpl
        def visible(self, event):
            if "bug" in event.content:
                raise RuntimeError
            return "secret" not in event.content

    async with await open_memory(Strict()) as memory:
        await memory.perceive_many([said("fish"), said("secret fish"), said("bug fish")])

        hits = await memory.recall("fish", HERE)
        context = await memory.build_context("npc", ROOM, query="fish")

    assert [hit.event.content for hit in hits] == ["fish"]
    assert "secret" not in context.text
    assert "bug" not in context.text


async def test_a_recall_hook_cannot_show_what_the_scope_may_not_see(open_memory):
    foreign = said("from another agent", agent_id="other")

    class Smuggler:
        @hookimpl
        def recall(self, hits):
            return [Hit(event=foreign, score=1.0, parts={}), *hits]

    async with await open_memory(Smuggler()) as memory:
        await memory.perceive(said("fish"))

        assert [hit.event.content for hit in await memory.recall("fish", HERE)] == ["fish"]


async def test_activate_brings_back_more_than_the_words_of_the_event(open_memory):
    class Arrivals:
        @hookimpl
        def activate(self, event):
            if event.metadata.get("move") == "arrive":
                return [Cue(entity_id=event.source.entity_id)]
            return None

    async with await open_memory(Arrivals(), window_messages=1) as memory:
        await memory.perceive(said("I love the sea", by="ann"))
        await memory.perceive(said("small talk", minutes=60))
        arrival = said("Ann has arrived.", by="ann", minutes=90, metadata={"move": "arrive"})
        await memory.perceive(arrival)

        context = await memory.build_context("npc", ROOM, event=arrival)

    assert "I love the sea" in context.text


async def test_respond_goes_to_the_first_who_answers(open_memory):
    class Quiet:
        @hookimpl
        async def respond(self):
            return None

    class Echo:
        @hookimpl
        async def respond(self, event):
            return f"You said: {event.content}"

    async with await open_memory(Quiet(), Echo()) as memory:
        event = said("hello")
        context = await memory.build_context("npc", ROOM, event=event)

        assert await memory.respond(context, event) == "You said: hello"


async def test_news_come_in_order_after_storing(open_memory):
    heard = []

    class Listener:
        @hookimpl
        async def perceived(self, event):
            await asyncio.sleep(0)
            heard.append(event.content)

    async with await open_memory(Listener()) as memory:
        for number in range(10):
            await memory.perceive(said(str(number), minutes=number, external_id=str(number)))
        await memory.perceive(said("9", minutes=9, external_id="9"))
        await memory.flush()

    assert heard == [str(number) for number in range(10)]


async def test_status_shows_plugins_in_the_order_they_are_asked(open_memory):
    class One:
        @hookimpl
        def perceived(self):
            pass

    class Two:
        @hookimpl
        def perceived(self):
            pass

    async with await open_memory(One(), Two()) as memory:
        names = [one["name"].rsplit(".")[-1] for one in (await memory.status())["plugins"]]

    assert names == ["One", "Two", "Hashed", "defaults"]


def unknown_hook():
    class Plugin:
        @hookimpl
        def percieve(self, event):
            return None

    return Plugin()


def unknown_argument():
    class Plugin:
        @hookimpl
        def perceive(self, evnt):
            return None

    return Plugin()


def wrapper():
    class Plugin:
        @hookimpl(wrapper=True)
        def perceive(self, event):
            return (yield)

    return Plugin()


def nothing():
    return object()


@pytest.mark.parametrize("made", [unknown_hook, unknown_argument, wrapper, nothing])
async def test_a_plugin_that_does_not_fit_stops_the_start_by_name(open_memory, made):
    with pytest.raises(PluginError, match=r"Plugin|object"):
        await open_memory(made())


async def test_a_plugin_that_cannot_be_imported_is_named(open_memory):
    with pytest.raises(PluginError, match="no_such_module_here"):
        await open_memory(plugins=["no_such_module_here"])


async def test_a_failing_part_stops_the_start_and_leaves_nothing_open(open_memory, path):
    class Broken:
        @hookimpl
        async def open_embedder(self, settings):
            raise RuntimeError("no GPU")

    with pytest.raises(PluginError, match="no GPU"):
        await open_memory(Broken())

    async with await open_memory() as memory:
        await memory.perceive(said("the file is free again", timestamp=NOON))


def test_settings_refuse_what_is_no_list_of_names():
    with pytest.raises(Exception, match="plugins"):
        Settings(plugins="one")


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.INFO)
