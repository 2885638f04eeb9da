"""Bad days: wrong events, failing plugins, models that break, calls that are given up."""

from __future__ import annotations

import asyncio

import pytest

from memory_plugin.embedding import HashingEmbedder
from memory_plugin.engine import Memory
from memory_plugin.errors import ClosedError, SettingsError, ValidationError
from memory_plugin.hookspecs import hookimpl
from memory_plugin.parts import Selection
from memory_plugin.types import Place, Scope

from .conftest import ROOM, said

HERE = Scope(agent_id="npc", place=ROOM)


def contents(found) -> list[str]:
    return [getattr(one, "event", one).content for one in found]


async def test_one_bad_event_taken_soon_does_not_keep_the_others_out(memory, caplog):
    memory.perceive_soon(said("first", id="A", external_id="1"))
    memory.perceive_soon(said("its id is taken", id="A", external_id="2"))
    memory.perceive_soon(said("bad", metadata={"edited_at": "yesterday"}))
    memory.perceive_soon(said("good", minutes=1))
    await memory.flush()

    assert contents(await memory.history("npc", ROOM)) == ["first", "good"]
    assert (await memory.status())["refused_events"] == 2
    assert (await memory.forget(Selection(agent_id="npc"))).events == 2
    assert "refused" in caplog.text


@pytest.mark.parametrize("wrong", [None, "text", {"content": "x"}])
async def test_what_is_no_event_is_refused_at_once(memory, wrong):
    with pytest.raises(ValidationError):
        memory.perceive_soon(wrong)
    with pytest.raises(ValidationError):
        await memory.perceive(wrong)


@pytest.mark.parametrize("hook", ["perceive", "perceived", "respond"])
async def test_a_plugin_that_trips_over_its_own_cancelled_task_is_skipped(open_memory, hook):
    async def trip():
        task = asyncio.create_task(asyncio.Event().wait())
        task.cancel()
        await task

    plugin = type("Tripping", (), {hook: hookimpl(staticmethod(trip))})()
    async with await open_memory(plugin) as memory:
        event = said("hello")
        assert await memory.perceive(event) is not None
        await memory.flush()
        context = await memory.build_context("npc", ROOM, event=event)
        assert await memory.respond(context, event) is None

        assert contents(await memory.history("npc", ROOM)) == ["hello"]


class Model:
    """A plugin whose embedder can be broken."""

    def __init__(self):
        self.embedder = HashingEmbedder(dim=64)
        self.real = self.embedder.embed

    @hookimpl(tryfirst=True)
    def open_embedder(self):
        return self.embedder

    def breaks(self, how):
        async def embed(texts, kind="passage"):
            return how(await self.real(texts, kind))

        self.embedder.embed = embed

    def works(self):
        self.embedder.embed = self.real


def raising(rows):
    raise RuntimeError("out of memory")


def nan(rows):
    return rows * float("nan")


def too_few(rows):
    return rows[:-1]


@pytest.mark.parametrize("how", [raising, nan, too_few])
async def test_a_model_that_fails_leaves_recall_by_words_and_says_so(open_memory, how, caplog):
    model = Model()
    async with await open_memory(model) as memory:
        await memory.perceive(said("my cat is called Tom"))
        model.breaks(how)

        assert contents(await memory.recall("cat", HERE)) == ["my cat is called Tom"]
        status = await memory.status()
        assert status["mode"] == "words only"
        assert status["words_only_because"]

        model.works()
        await memory.recall("cat", HERE)
        assert (await memory.status())["mode"] == "words and meaning"


async def test_one_text_without_a_vector_does_not_keep_the_others_from_theirs(open_memory, caplog):
    model = Model()

    async def embed(texts, kind="passage"):
        rows = await model.real(texts, kind)
        return rows * float("nan") if any("poison" in text for text in texts) else rows

    model.embedder.embed = embed
    async with await open_memory(model) as memory:
        await memory.perceive_many([said(f"line {n}", minutes=n) for n in range(9)])
        await memory.perceive(said("poison", minutes=10))
        await memory.embed_pending()

        status = await memory.status()
    assert status["awaiting_vectors"] == 1
    assert status["indexing"] == {"refused_by_model": 1, "running": True}


@pytest.mark.parametrize("answer", [0, "", "no", [], 1])
async def test_a_visible_hook_that_does_not_say_true_or_false_hides(open_memory, answer):
    class Vague:
        @hookimpl
        def visible(self):
            return answer

    async with await open_memory(Vague()) as memory:
        await memory.perceive(said("fish"))

        assert await memory.recall("fish", HERE) == []


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("activate", 5),
        ("activate", "fish"),
        ("activate", [3]),
        ("recall", 5),
        ("recall", [None]),
        ("truncate", 5),
        ("render_context", "text"),
    ],
)
async def test_a_hook_that_answers_nonsense_is_skipped(open_memory, hook, answer):
    plugin = type("Odd", (), {hook: hookimpl(staticmethod(lambda: answer))})()
    async with await open_memory(plugin) as memory:
        event = said("hello fish")
        await memory.perceive(event)

        context = await memory.build_context("npc", ROOM, event=event)
        hits = await memory.recall("fish", HERE)
        failures = next(
            one["failures"] for one in (await memory.status())["plugins"] if "Odd" in one["name"]
        )

    assert "hello fish" in context.text
    assert contents(hits) == ["hello fish"]
    assert failures > 0


async def test_who_keeps_copies_hears_of_an_event_before_it_is_forgotten(open_memory):
    kept = {}

    class Copies:
        @hookimpl
        async def perceived(self, event):
            await asyncio.sleep(0.01)
            kept[event.id] = event.content

        @hookimpl
        def forgotten(self, erased):
            for one in erased.ids:
                kept.pop(one, None)

    async with await open_memory(Copies()) as memory:
        await memory.perceive(said("a secret", by="ann", external_id="1"))
        await memory.perceive(said("edited", by="ann", external_id="1"))
        await memory.perceive(said("stays", by="bob"))
        await memory.perceive(said("deleted", by="bob", external_id="2"))
        await memory.delete("npc", ["2"])
        await memory.forget(Selection(entity_id="mud:object:ann"))

    assert list(kept.values()) == ["stays"]


async def test_a_text_is_no_list_of_ids(memory):
    with pytest.raises(ValidationError):
        await memory.delete("npc", "123")
    with pytest.raises(ValidationError):
        await memory.build_context("npc", ROOM, query="x", audience="bob")


async def test_giving_up_a_close_or_a_forget_does_not_leave_it_half_done(open_memory):
    memory = await open_memory()
    await memory.perceive_many([said(f"line {n}", minutes=n) for n in range(1200)])
    forgetting = asyncio.create_task(memory.forget(Selection(agent_id="npc")))
    await asyncio.sleep(0)
    forgetting.cancel()
    closing = [asyncio.create_task(memory.close()) for _ in range(2)]
    await asyncio.sleep(0)
    closing[0].cancel()
    await closing[1]

    with pytest.raises(ClosedError):
        await memory.agents()
    async with await open_memory() as memory:
        assert await memory.history("npc", ROOM) == []


async def test_a_whisper_in_a_room_is_no_part_of_the_room(memory):
    aside = Place(
        platform=ROOM.platform,
        space=ROOM.space,
        channel=ROOM.channel,
        visibility="direct",
        participants=("mud:object:ann",),
    )
    await memory.perceive(said("good day", by="bob"))
    for number in range(30):
        await memory.perceive(said(f"secret {number}", by="ann", minutes=number, place=aside))
    await memory.build_context("npc", aside, query="secret")

    assert contents(await memory.window("npc", ROOM)) == ["good day"]
    assert contents(await memory.history("npc", ROOM)) == ["good day"]
    assert await memory.why("npc", ROOM) is None
    assert "secret" in await memory.why("npc", aside)


async def test_a_place_without_a_space_that_becomes_public_does_not_open_what_was_said(memory):
    closed = Place(platform="irc", channel="#x")
    opened = Place(platform="irc", channel="#x", visibility="public")
    await memory.perceive(said("the code is swordfish", place=closed))
    await memory.perceive(said("the code of conduct", minutes=1, place=opened))

    assert contents(await memory.recall("code", Scope(agent_id="npc", place=opened))) == [
        "the code of conduct"
    ]
    assert len(await memory.recall("code", Scope(agent_id="npc", place=closed))) == 2


async def test_first_recalls_at_once_learn_the_questions_once(open_memory):
    model = Model()
    asked = 0

    async def embed(texts, kind="passage"):
        nonlocal asked
        asked += len(texts)
        return await model.real(texts, kind)

    async with await open_memory(model) as memory:
        await memory.perceive(said("fish"))
        await memory.embed_pending()
        model.embedder.embed = embed
        await asyncio.gather(*(memory.recall("fish", HERE) for _ in range(20)))

    assert asked < 400


async def test_what_no_file_can_be_asked_is_refused_and_nothing_else(memory):
    with pytest.raises(ValidationError):
        said("huge", metadata={"n": 10**5000})
    await memory.perceive(said("hello"))
    for asking in (
        lambda: memory.history("\ud800"),
        lambda: memory.history("npc", limit=2**70),
        lambda: memory.history("npc", event_types=["foo"]),
        lambda: memory.statistics("\ud800"),
        lambda: memory.export(Selection(agent_id="npc"), 2**70),
        lambda: memory.why("npc", "\ud800"),
        lambda: memory.recall("x", None),
        lambda: memory.forget(None),
        lambda: memory.build_context("npc", "x"),
        lambda: memory.build_context("npc", ROOM, speaker="bob"),
        lambda: memory.build_context("npc", ROOM, budget_tokens=0),
    ):
        with pytest.raises(ValidationError):
            await asking()
    with pytest.raises(ValidationError):
        Selection(agent_id="\ud800")


async def test_a_window_may_be_asked_for_by_key(memory):
    await memory.perceive(said("hello"))

    assert contents(await memory.window("npc", ROOM.key)) == ["hello"]


@pytest.mark.parametrize(
    "wrong", [{"plugins": 5}, {"blocked_plugins": None}, {"path": "~nobody-here/x"}, 5]
)
async def test_wrong_settings_are_a_settings_error(wrong):
    with pytest.raises(SettingsError):
        await Memory.open(wrong)
