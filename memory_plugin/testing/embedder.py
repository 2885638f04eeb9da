"""The contract of an embedder: what every `memory_plugin.parts.Embedder` must do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import numpy as np
import pytest

from memory_plugin.errors import ClosedError, EmbedderError
from memory_plugin.parts import Embedder, Vectors

Kind = Literal["passage", "query"]
KINDS: tuple[Kind, ...] = ("passage", "query")
OpenEmbedder = Callable[[], Awaitable[Embedder]]

# Of many lengths, and not sorted by them.
TEXTS = (
    "Bob: did anybody feed the dragon today?",
    "ok",
    "Ann: " + "we walked along the river until it was dark " * 12,
    "",
    "the innkeeper pours ale",
    "Cyd: " + "bread and cheese " * 90,
    "Dan: \U0001f409\U0001f525 !!!",
    "明日また話しましょう",
    "Ann: the third of May, I think",
)
STRANGE = (
    "",
    " \n\t ",
    "\x00",
    "a\x00b",
    "\U0001f469\u200d\U0001f469\u200d\U0001f466",
    "\u202eevil\u202c\u200b",
    "?",
    "x" * 5000,
    "one word and another " * 50_000,
)


def _cosines(one: Vectors, other: Vectors) -> Vectors:
    cosines: Vectors = (one * other).sum(axis=1)
    return cosines


class EmbedderContract:
    """All that is asked of an embedder, as tests.

    Subclass it and give it the fixture `open_embedder`::

        class TestMyEmbedder(EmbedderContract):
            @pytest.fixture
            def open_embedder(self):
                async def open_embedder():
                    return MyEmbedder()

                return open_embedder

    Each call of `open_embedder` opens the same model anew.
    """

    @pytest.fixture
    def open_embedder(self) -> OpenEmbedder:
        """How to open the embedder under test."""
        raise NotImplementedError("give the suite a fixture open_embedder")

    async def test_it_is_an_embedder_with_a_name_and_a_size(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        assert isinstance(embedder, Embedder)
        assert isinstance(embedder.name, str)
        assert embedder.name.strip()
        assert embedder.dim >= 1
        await embedder.close()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_rows_are_unit_vectors_of_its_size(
        self, open_embedder: OpenEmbedder, kind: Kind
    ) -> None:
        embedder = await open_embedder()

        rows = await embedder.embed(TEXTS, kind)

        assert rows.shape == (len(TEXTS), embedder.dim)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)
        await embedder.close()

    async def test_no_texts_give_no_rows(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()

        rows = await embedder.embed([])

        assert rows.shape == (0, embedder.dim)
        await embedder.close()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_text_has_the_same_vector_whatever_stands_beside_it(
        self, open_embedder: OpenEmbedder, kind: Kind
    ) -> None:
        embedder = await open_embedder()

        together = await embedder.embed(TEXTS, kind)
        alone = [(await embedder.embed([text], kind))[0] for text in TEXTS]

        # In the order asked, too: another text's vector is nowhere near.
        assert _cosines(together, np.array(alone)).min() > 0.9999
        await embedder.close()

    async def test_the_same_name_means_the_same_vectors(self, open_embedder: OpenEmbedder) -> None:
        first, second = await open_embedder(), await open_embedder()

        assert first.name == second.name
        assert first.dim == second.dim
        assert _cosines(await first.embed(TEXTS), await second.embed(TEXTS)).min() > 0.9999
        await first.close()
        await second.close()

    async def test_texts_that_are_alike_are_nearer_than_others(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        query = await embedder.embed(["who feeds the dragon?"], "query")
        near, far = await embedder.embed(
            ["Bob: I feed the dragon every morning", "Ann: my sister plays chess in the city"]
        )

        assert float(query[0] @ near) > float(query[0] @ far)
        await embedder.close()

    async def test_strange_texts_have_vectors_too(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()

        for kind in KINDS:
            rows = await embedder.embed(STRANGE, kind)

            assert np.isfinite(rows).all()
            assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)
        await embedder.close()

    @pytest.mark.parametrize("bad", ["half a sign: \ud83d", 5, None])
    async def test_what_is_no_text_is_refused_and_does_no_harm(
        self, open_embedder: OpenEmbedder, bad: Any
    ) -> None:
        embedder = await open_embedder()

        for kind in KINDS:
            with pytest.raises(EmbedderError):
                await embedder.embed([bad], kind)
            with pytest.raises(EmbedderError):
                await embedder.embed(["good", bad], kind)

        assert (await embedder.embed(["good"])).shape == (1, embedder.dim)
        await embedder.close()

    async def test_one_text_instead_of_a_list_is_refused(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()

        with pytest.raises(EmbedderError):
            await embedder.embed("hello")
        await embedder.close()

    async def test_callers_at_the_same_time_get_their_own_rows(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        apart = [await embedder.embed([text], "query") for text in TEXTS]
        fresh = await open_embedder()
        at_once = await asyncio.gather(*(fresh.embed([text], "query") for text in TEXTS))

        for one, other in zip(apart, at_once, strict=True):
            assert _cosines(one, other).min() > 0.9999
        await embedder.close()
        await fresh.close()

    async def test_an_answer_belongs_to_who_asked(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()

        mine = await embedder.embed(["where is the key?"], "query")
        kept = mine.copy()
        mine[:] = 0.0
        again = await embedder.embed(["where is the key?"], "query")

        assert _cosines(kept, again).min() > 0.9999
        await embedder.close()

    async def test_others_have_their_turn_while_it_works(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        other = asyncio.ensure_future(count_turns())
        await embedder.embed([f"{number} {text}" for number in range(8) for text in TEXTS])
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)

        assert turns > 8
        await embedder.close()

    async def test_a_caller_who_gives_up_leaves_it_working(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        task = asyncio.ensure_future(embedder.embed(TEXTS * 8))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await embedder.embed(["still here"])).shape == (1, embedder.dim)
        await embedder.close()

    async def test_tokens_are_counted_without_special_ones(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        assert embedder.count_tokens("") == 0
        short = embedder.count_tokens("the innkeeper pours ale")
        long = embedder.count_tokens("the innkeeper pours ale " * 400)

        assert 0 < short < 24
        assert embedder.count_tokens("the innkeeper pours ale") == short
        # Counting does not stop where the model would cut.
        assert 300 * short <= long <= 500 * short
        assert embedder.count_tokens("the innkeeper pours ale " * 50_000) > 100 * long
        await embedder.close()

    async def test_its_status_says_what_it_is(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()

        status = embedder.status()

        assert status["name"] == embedder.name
        assert status["dim"] == embedder.dim
        assert json.loads(json.dumps(dict(status))) == dict(status)
        await embedder.close()

    async def test_it_can_be_closed_twice_and_refuses_then(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()
        await embedder.embed(["hello"], "query")

        await embedder.close()
        await embedder.close()

        for kind in KINDS:
            with pytest.raises(ClosedError):
                await embedder.embed(["hello"], kind)

    async def test_closing_ends_the_wait_of_those_who_asked(
        self, open_embedder: OpenEmbedder
    ) -> None:
        embedder = await open_embedder()

        task = asyncio.ensure_future(embedder.embed(TEXTS * 16))
        await asyncio.sleep(0)
        await embedder.close()
        done, _ = await asyncio.wait([task], timeout=60)

        assert done, "embed never came back after close"
        # It may have finished in time; otherwise it says why not.
        assert task.exception() is None or isinstance(task.exception(), ClosedError)
