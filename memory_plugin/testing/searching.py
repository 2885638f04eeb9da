"""Contract: candidates with visibility inside, and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Candidates, Store, Unembedded, Vectors
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
    World,
    an_event,
    at,
    axis,
    contents,
    everything,
    holding,
    seen_from,
)
from memory_plugin.types import EventType, PerceptionEvent, Place, Scope


async def rows_by_content(store: Store, found: Candidates) -> dict[str, int]:
    """The row of every content."""
    events = await store.fetch(found.seq.tolist())
    assert len(events) == len(found)
    return {event.content: row for row, event in enumerate(events)}


async def embed_all(store: Store, vector_of: dict[str, Vectors]) -> int:
    """Give all waiting events the vectors named by their text."""
    jobs = await store.unembedded(100)
    return await store.add_vectors([(job, vector_of[job.text]) for job in jobs])


class SearchContract(World):
    """What `SearchStore` promises."""

    async def test_nothing_visible_is_empty_columns(self, store: Store) -> None:
        found = await store.search(seen_from(), ["bread"], axis(0))

        assert len(found) == len(found.meaning) == len(found.eligible) == 0
        assert [len(match.rows) for match in found.terms] == [0]

    async def test_columns_tell_of_each_event(self, store: Store) -> None:
        await store.add(
            [
                an_event("Who baked it yesterday?", 0, importance=8),
                an_event("I did", 1, who=BEN),
                an_event("at the mill", 2, place=MILL, name="Annie"),
                an_event("still here", 200, name="Anna"),
            ]
        )

        found = await store.search(seen_from(), [], None)

        row = await rows_by_content(store, found)
        asked, did, mill, still = (
            row[text] for text in ("Who baked it yesterday?", "I did", "at the mill", "still here")
        )
        assert found.at[still] - found.at[asked] == 200 * 60
        assert found.author[asked] == found.author[mill] == found.author[still]
        assert found.author[asked] != found.author[did]
        assert found.place[asked] == found.place[did] != found.place[mill]
        assert found.previous[[asked, did, mill, still]].tolist() == [-1, asked, -1, did]
        sessions = found.session[[asked, did, mill, still]].tolist()
        assert sessions[0] == sessions[1] and len(set(sessions)) == 3
        assert found.importance[[asked, did]].tolist() == [8, 5]
        assert found.words[[asked, did]].tolist() == [4, 2]
        assert found.question[[asked, did]].tolist() == [True, False]
        assert found.dated[[asked, did]].tolist() == [True, False]
        assert np.isnan(found.meaning).all()

    async def test_an_event_that_comes_late_stands_where_it_belongs(self, store: Store) -> None:
        await store.add([an_event("first", 0), an_event("third", 20)])
        await store.search(seen_from(), [], None)

        await store.add([an_event("second", 10), an_event("zeroth", -90)])
        found = await store.search(seen_from(), [], None)

        row = await rows_by_content(store, found)
        order = [row[text] for text in ("zeroth", "first", "second", "third")]
        assert found.previous[order].tolist() == [-1, *order[:3]]
        assert found.session[order[1]] == found.session[order[3]] != found.session[order[0]]

    async def test_words_are_found_by_their_stem(self, store: Store) -> None:
        await store.add([an_event("The dogs were running"), an_event("A cat sleeps")])

        assert await holding(store, "dog") == {"The dogs were running"}
        assert await holding(store, "run") == {"The dogs were running"}
        assert await holding(store, "sleeping") == {"A cat sleeps"}

    async def test_the_speakers_name_is_a_word_of_the_event(self, store: Store) -> None:
        await store.add([an_event("hello", name="Roswitha"), an_event("bye", name="Ben")])

        assert await holding(store, "roswitha") == {"hello"}

    async def test_prose_is_searched_too(self, store: Store) -> None:
        await store.add([an_event("waves", narrative_text="Ann greets the miller.")])

        assert await holding(store, "miller") == {"waves"}

    async def test_what_stands_after_a_nul_is_found(self, store: Store) -> None:
        await store.add([an_event("bread\0wine and cheesecake")])

        assert await holding(store, "wine") == {"bread\0wine and cheesecake"}
        assert await holding(store, "eesecak") == {"bread\0wine and cheesecake"}

    async def test_scripts_without_spaces_are_found(self, store: Store) -> None:
        await store.add([an_event("東京都に行く"), an_event("京都")])

        assert await holding(store, "東京") == {"東京都に行く"}
        assert await holding(store, "京*") == {"東京都に行く", "京都"}
        assert await holding(store, "都*") == {"東京都に行く", "京都"}

    async def test_a_text_inside_of_words_is_found_if_it_is_no_word(self, store: Store) -> None:
        await store.add([an_event("Rumpelstiltskin"), an_event("Rum and a stilt")])

        found = await store.search(seen_from(), ["stiltsk", "stilt", "zzz", "ab"], None)

        assert [match.inside for match in found.terms] == [True, False, False, False]
        assert [len(match.rows) for match in found.terms] == [1, 1, 0, 0]

    @pytest.mark.parametrize(
        "term",
        ['"', '"bread', "bread OR wine", "*", "-bread", "NEAR(bread", "body:bread", "^", "\0", "%",
         "a\0b", "(", "{body}", "b*d", "🙂", "𞤀x", "x" * 5_000],
    )  # fmt: skip
    async def test_no_text_of_a_user_is_a_command(self, store: Store, term: str) -> None:
        await store.add([an_event("bread"), an_event("wine")])

        found = await store.search(seen_from(), [term, "wine"], None)

        assert [match.term for match in found.terms] == [term, "wine"]
        assert len(found.terms[1].rows) == 1

    async def test_own_speech_and_ticks_are_there_but_not_eligible(self, store: Store) -> None:
        kinds: list[EventType] = ["external", "self_action", "self_speech", "tool_result", "tick"]
        await store.add([an_event(kind, n, event_type=kind) for n, kind in enumerate(kinds)])

        async def eligible(kinds: tuple[EventType, ...] | None) -> set[str]:
            found = await store.search(seen_from(event_types=kinds), [], None)
            assert len(found) == 5
            return await contents(store, found)

        assert await eligible(None) == {"external", "self_action", "tool_result"}
        assert await eligible(("self_speech",)) == {"self_speech"}
        assert await eligible(()) == set()

    async def test_filters_narrow_what_is_eligible(self, store: Store) -> None:
        await store.add(
            [an_event("Ann", 0), an_event("Ben", 1, who=BEN), an_event("mill", 2, place=MILL)]
        )

        async def eligible(**narrower: Any) -> set[str]:
            found = await store.search(seen_from(**narrower), [], None)
            assert len(found) == 3
            return await contents(store, found)

        assert await eligible(entities=(BEN,)) == {"Ben"}
        assert await eligible(entities=(BEN, ANN, "nobody")) == {"Ann", "Ben", "mill"}
        assert await eligible(entities=()) == set()
        assert await eligible(entities=("nobody",)) == set()
        assert await eligible(places=(MILL.key,)) == {"mill"}
        assert await eligible(places=()) == set()
        assert await eligible(since=at(1)) == {"Ben", "mill"}
        assert await eligible(until=at(1)) == {"Ann"}
        assert await eligible(since=at(1), until=at(2)) == {"Ben"}

    async def test_meaning_is_the_cosine_with_the_query(self, store: Store) -> None:
        await store.use_model("model", 4)
        await store.add([an_event("east"), an_event("north"), an_event("dumb")])
        slanted = np.array([3, -4, 0, 0], np.float32)
        jobs = {job.text.split()[-1]: job for job in await store.unembedded(9)}
        await store.add_vectors([(jobs["east"], axis(0) * 7), (jobs["north"], slanted)])

        found = await store.search(seen_from(), [], axis(0) * 0.01)

        row = await rows_by_content(store, found)
        assert found.meaning[row["east"]] == pytest.approx(1, abs=0.01)
        assert found.meaning[row["north"]] == pytest.approx(0.6, abs=0.01)
        assert np.isnan(found.meaning[row["dumb"]])
        assert np.isnan((await store.search(seen_from(), [], None)).meaning).all()

    async def test_meaning_is_known_of_the_eligible_and_those_before_them(
        self, store: Store
    ) -> None:
        await store.use_model("model", 4)
        await store.add([an_event(str(n), n, who=BEN if n == 7 else ANN) for n in range(9)])
        await store.add_vectors([(job, axis(0)) for job in await store.unembedded(9)])

        found = await store.search(seen_from(entities=(BEN,)), [], axis(0))

        row = await rows_by_content(store, found)
        assert found.meaning[[row["7"], row["6"]]] == pytest.approx([1, 1], abs=0.01)

    @pytest.mark.parametrize(
        "bad",
        [np.ones(3), np.ones((4, 1)), np.zeros(4), np.array([1, np.nan, 0, 0]),
         np.array([1, np.inf, 0, 0])],
        ids=["size", "shape", "zero", "nan", "infinity"],
    )  # fmt: skip
    async def test_a_vector_that_cannot_be_used_is_refused(
        self, store: Store, bad: Vectors
    ) -> None:
        await store.use_model("model", 4)
        await store.add([an_event("a"), an_event("b")])
        jobs = await store.unembedded(9)

        with pytest.raises(EmbedderError):
            await store.add_vectors([(jobs[0], axis(0)), (jobs[1], bad)])
        with pytest.raises(EmbedderError):
            await store.search(seen_from(), [], bad)

        assert await store.embedding_backlog() == 2

    async def test_vectors_need_a_model(self, store: Store) -> None:
        with pytest.raises(EmbedderError):
            await store.add_vectors([(Unembedded(seq=1, version=0, text=""), axis(0))])

    async def test_the_newest_are_embedded_first(self, store: Store) -> None:
        await store.add([an_event(str(n), n) for n in range(3)])

        jobs = await store.unembedded(2)

        assert [job.text for job in jobs] == ["Person1: 2", "Person1: 1"]
        assert await store.embedding_backlog() == 3

    async def test_a_text_that_has_changed_waits_for_another_vector(self, store: Store) -> None:
        await store.use_model("model", 4)
        await store.add([an_event("old", external_id="1"), an_event("gone", external_id="2")])
        jobs = await store.unembedded(9)
        await store.edit(BOT, "1", "new", at(1))
        await store.delete(BOT, ["2"])

        assert await store.add_vectors([(job, axis(0)) for job in jobs]) == 0

        assert [job.text for job in await store.unembedded(9)] == ["Person1: new"]
        assert await embed_all(store, {"Person1: new": axis(1)}) == 1
        await store.edit(BOT, "1", "newer", at(2))
        assert np.isnan((await store.search(seen_from(), [], axis(1))).meaning).all()

    async def test_another_model_queues_everything_again(self, store: Store) -> None:
        assert await store.use_model("one", 4) == 0
        await store.add([an_event("a"), an_event("b")])
        await embed_all(store, {"Person1: a": axis(0), "Person1: b": axis(0)})
        assert await store.use_model("one", 4) == 0
        await store.search(seen_from(), [], axis(0))

        assert await store.use_model("two", 3) == 2

        found = await store.search(seen_from(), [], axis(0, 3))
        assert len(found) == 2 and np.isnan(found.meaning).all()
        await embed_all(store, {"Person1: a": axis(0, 3), "Person1: b": axis(1, 3)})
        found = await store.search(seen_from(), [], axis(0, 3))
        assert sorted(found.meaning.round(2).tolist()) == [0, 1]
        with pytest.raises(EmbedderError):
            await store.use_model("two", 5)

    async def test_a_centre_is_kept_for_each_model(self, store: Store) -> None:
        assert await store.load_centre("one") is None

        await store.save_centre("one", axis(2))

        kept = await store.load_centre("one")
        assert kept is not None
        np.testing.assert_array_equal(kept, axis(2))
        assert await store.load_centre("two") is None
        assert await store.use_model("one", 4) == 0

    @pytest.mark.parametrize(
        ("place", "audience", "visible"),
        [
            (INN, (), {"inn", "mill"}),
            (CELLAR, (), {"inn", "mill", "cellar"}),
            (CELLAR, ("discord:user:3",), {"inn", "mill"}),
            (FAR, (), {"far"}),
            (ANNS_DOOR, (), {"Ann's door"}),
            (BENS_DOOR, (), {"Ben's door"}),
            (ANNS_DOOR, (BEN,), set()),
        ],
        ids=["public", "restricted", "stranger", "other space", "direct", "other", "overheard"],
    )
    async def test_only_what_all_present_could_have_perceived_is_there(
        self, store: Store, place: Place, audience: tuple[str, ...], visible: set[str]
    ) -> None:
        await store.add(
            [
                an_event("inn"),
                an_event("mill", place=MILL),
                an_event("cellar", place=CELLAR),
                an_event("far", place=FAR),
                an_event("Ann's door", place=ANNS_DOOR),
                an_event("Ben's door", place=BENS_DOOR, who=BEN),
                an_event("another agent's", agent_id="other"),
            ]
        )

        found = await store.search(seen_from(place, audience=audience), ["door", "person1"], None)

        assert await contents(store, found) == visible
        assert all(match.rows.max(initial=-1) < len(found) for match in found.terms)

    async def test_public_lines_follow_who_wished_it(self, store: Store) -> None:
        await store.add(
            [
                an_event("Ann far", place=FAR),
                an_event("Ben far", place=FAR, who=BEN),
                an_event("Ann here"),
                an_event("Ann hidden", place=CELLAR),
            ]
        )
        scope = seen_from(audience=(ANN, BEN))
        await store.search(scope, [], None)

        await store.set_followed(ANN, followed=True)
        found = await store.search(scope, ["ann", "far"], axis(0))

        assert sorted(event.content for event in await store.fetch(found.seq.tolist())) == [
            "Ann far",
            "Ann here",
        ]
        assert await holding(store, "far", scope) == {"Ann far"}
        await store.set_followed(ANN, followed=False)
        assert await contents(store, await store.search(scope, [], None)) == {"Ann here"}

    async def test_what_is_hidden_changes_nothing_in_the_answer(self, store: Store) -> None:
        shown = [an_event(f"bread and butter {n}?", n, who=ANN) for n in range(5)]
        hidden: list[PerceptionEvent] = [
            an_event(f"bread butter secret {n}", n, place=place, agent_id=agent)
            for n in range(300)
            for place, agent in ((BENS_DOOR, BOT), (CELLAR, BOT), (INN, "other"))
        ]
        terms = ["bread", "butt", "utte", "secret", "ecre", "4"]
        await store.add(shown)
        before = await store.search(seen_from(), terms, None)

        await store.add(hidden)
        after = await store.search(seen_from(), terms, None)

        assert_same(after, before)

    async def test_a_search_sees_what_was_written_before_it(self, store: Store) -> None:
        event = an_event("bread", external_id="1")
        await store.add([event, an_event("butter", 1, external_id="2")])
        await store.search(seen_from(), [], None)

        await store.set_importance(event.id, 9)
        await store.edit(BOT, "1", "Is there any wine?", at(2))
        await store.delete(BOT, ["2"])
        await store.add([an_event("cheese", 3)])
        found = await store.search(seen_from(), ["wine", "butter", "cheese"], None)

        row = await rows_by_content(store, found)
        assert set(row) == {"Is there any wine?", "cheese"}
        wine = row["Is there any wine?"]
        assert (found.importance[wine], found.words[wine], found.question[wine]) == (9, 4, True)
        assert [match.rows.tolist() for match in found.terms] == [[wine], [], [row["cheese"]]]
        assert found.previous[row["cheese"]] == wine

    async def test_fetch_keeps_the_order_and_leaves_out_the_erased(self, store: Store) -> None:
        await store.add([an_event(str(n), n, external_id=str(n)) for n in range(3)])
        found = await store.search(seen_from(), [], None)
        row = await rows_by_content(store, found)
        await store.delete(BOT, ["1"])

        events = await store.fetch([int(found.seq[row[text]]) for text in ("2", "1", "0")])

        assert [event.content for event in events] == ["2", "0"]

    async def test_the_owner_sees_everything_of_one_agent(self, store: Store) -> None:
        await store.add(
            [an_event("a", place=CELLAR), an_event("b", place=BENS_DOOR), an_event("c")]
        )

        assert await contents(store, await store.search(everything(), [], None)) == set("abc")
        other = Scope(agent_id="other", everything=True)
        assert len(await store.search(other, [], None)) == 0


def assert_same(left: Candidates, right: Candidates) -> None:
    """Every column and every match is the same, byte by byte."""
    for name in Candidates.__dataclass_fields__:
        if name != "terms":
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), name)
    assert [(m.term, m.inside, m.rows.tolist()) for m in left.terms] == [
        (m.term, m.inside, m.rows.tolist()) for m in right.terms
    ]
