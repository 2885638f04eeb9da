import math
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.parts import Candidates, TermMatch
from memory_plugin.recall import parse_query, rank, rank_person
from memory_plugin.recall.pool import top
from tests.recall.memories import NOON, linked, rearranged

QUERIES = (
    "what did they say",
    "when did they come",
    "what was new lately",
    "what was said yesterday",
    "between 1 and 3 May 2024?",
)


@st.composite
def memories(draw, most=25):
    count = draw(st.integers(0, most))

    def column(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    place = np.array(column(st.integers(1, 3)), np.int32)
    minutes = np.array(column(st.integers(0, 30_000)), np.float64)
    at = NOON.timestamp() - 60 * minutes
    session, previous = linked(place, at)
    seq = np.array(draw(st.permutations(range(count))), np.int64)
    rows = st.lists(st.integers(0, max(0, count - 1)), max_size=count, unique=True)
    terms = draw(st.lists(st.tuples(rows, st.booleans()), max_size=4)) if count else []
    cosine = st.one_of(st.just(math.nan), st.floats(-1, 1, width=32))
    return Candidates(
        seq=seq,
        at=at,
        author=np.array(column(st.integers(0, 3)), np.int32),
        place=place,
        session=session,
        previous=previous,
        importance=np.array(column(st.integers(1, 10)), np.uint8),
        words=np.array(column(st.integers(0, 60)), np.float32),
        question=np.array(column(st.booleans()), np.bool_),
        dated=np.array(column(st.booleans()), np.bool_),
        eligible=np.array(column(st.booleans()), np.bool_),
        meaning=np.array(column(cosine), np.float32),
        terms=[
            TermMatch(term=f"t{n}", rows=np.array(sorted(found), np.int64), inside=inside)
            for n, (found, inside) in enumerate(terms)
        ],
    )


def ranked(candidates, text, limit):
    return rank(candidates, parse_query(text, NOON), now=NOON, limit=limit)


@given(memories(), st.sampled_from(QUERIES), st.integers(0, 30))
def test_hits_are_eligible_few_and_best_first(candidates, text, limit):
    found = ranked(candidates, text, limit)

    allowed = set(candidates.seq[candidates.eligible].tolist())
    assert len(found) <= limit
    assert {hit.seq for hit in found} <= allowed
    assert len({hit.seq for hit in found}) == len(found)
    scores = [hit.score for hit in found]
    assert all(one >= other - 1e-12 for one, other in pairwise(scores))


@given(memories(), st.sampled_from(QUERIES))
def test_a_score_is_the_logistic_function_of_its_parts(candidates, text):
    for hit in [*ranked(candidates, text, 30), *rank_person(candidates, now=NOON, limit=30)]:
        logit = sum(hit.parts.values())

        assert 0 <= hit.score <= 1
        assert all(math.isfinite(part) for part in hit.parts.values())
        assert hit.score == pytest.approx(1 / (1 + math.exp(-logit)))


@given(memories(), st.sampled_from(QUERIES), st.data())
def test_the_order_of_the_rows_makes_no_difference(candidates, text, data):
    order = np.array(data.draw(st.permutations(range(len(candidates)))), np.int64)
    other = rearranged(candidates, order)

    one, two = ranked(candidates, text, 30), ranked(other, text, 30)
    old, new = (rank_person(some, now=NOON, limit=30) for some in (candidates, other))

    assert {hit.seq: pytest.approx(hit.score, abs=1e-6) for hit in one} == {
        hit.seq: hit.score for hit in two
    }
    assert old == new


@given(memories(), st.sampled_from(QUERIES), st.integers(1, 10))
def test_asking_for_more_only_adds_hits(candidates, text, limit):
    few, many = ranked(candidates, text, limit), ranked(candidates, text, limit + 5)

    assert many[:limit] == few


@given(memories(), st.sampled_from(QUERIES))
def test_the_same_question_has_the_same_answer(candidates, text):
    assert ranked(candidates, text, 30) == ranked(candidates, text, 30)


@given(memories(), st.sampled_from(QUERIES), st.integers(0, 60))
def test_a_line_elsewhere_that_may_not_be_a_hit_never_makes_one_of_others(candidates, text, words):
    wider = with_a_line(candidates, words)

    found = ranked(wider, text, 30)

    assert {hit.seq for hit in found} <= set(candidates.seq[candidates.eligible].tolist())


def with_a_line(candidates, words):
    """One more row: at a place of its own, holding every term, not eligible."""
    count = len(candidates)
    new = {
        "seq": 10_000, "at": NOON.timestamp(), "author": 9, "place": 9, "session": 10_000,
        "previous": -1, "importance": 10, "words": words, "question": False, "dated": True,
        "eligible": False, "meaning": 1.0,
    }  # fmt: skip
    columns = {
        name: np.append(
            getattr(candidates, name), np.array([value], getattr(candidates, name).dtype)
        )
        for name, value in new.items()
    }
    terms = [replace(term, rows=np.append(term.rows, count)) for term in candidates.terms]
    return replace(candidates, **columns, terms=terms)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1000)), unique_by=lambda one: one[1]),
    st.integers(0, 12),
)
def test_the_top_of_a_column_is_what_sorting_would_give(pairs, count):
    strength = np.array([one[0] for one in pairs], np.float32)
    seq = np.array([one[1] for one in pairs], np.int64)

    chosen = top(strength, seq, count) if count else np.empty(0, np.int64)

    best = sorted(zip(strength.tolist(), seq.tolist(), strict=True), reverse=True)[:count]
    assert sorted(seq[chosen].tolist()) == sorted(one[1] for one in best)


def large(count, rng):
    place = rng.integers(1, 6, count).astype(np.int32)
    at = np.sort(NOON.timestamp() - rng.random(count) * 3e7)
    session, previous = linked(place, at)
    return Candidates(
        seq=np.arange(count),
        at=at,
        author=rng.integers(0, 9, count).astype(np.int32),
        place=place,
        session=session,
        previous=previous,
        importance=rng.integers(1, 11, count).astype(np.uint8),
        words=rng.integers(1, 60, count).astype(np.float32),
        question=rng.random(count) < 0.2,
        dated=rng.random(count) < 0.2,
        eligible=rng.random(count) < 0.8,
        meaning=rng.normal(0, 0.1, count).astype(np.float32),
        terms=[
            TermMatch(term=str(share), rows=np.flatnonzero(rng.random(count) < share))
            for share in (0.3, 0.05, 0.01, 0.003)
        ],
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_large_memory_gives_nearly_the_hits_that_a_look_at_every_row_would_give(text):
    candidates = large(4_000, np.random.default_rng(1))

    # So many hits are asked for that every row is looked at closely.
    quick, thorough = ranked(candidates, text, 10), ranked(candidates, text, 1_000)[:10]

    assert len({hit.seq for hit in quick} & {hit.seq for hit in thorough}) >= 8
    assert quick[0].seq == thorough[0].seq


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_the_order_of_very_many_rows_makes_no_difference(seed):
    rng = np.random.default_rng(seed)
    candidates = large(1_500, rng)
    other = rearranged(candidates, rng.permutation(len(candidates)))

    one, two = (ranked(some, "what did they say", 10) for some in (candidates, other))

    assert [hit.seq for hit in one] == [hit.seq for hit in two]


def test_what_is_asked_for_by_time_is_found_among_very_many():
    candidates = large(4_000, np.random.default_rng(2))
    bare = replace(candidates, terms=[], meaning=np.full(4_000, np.nan, np.float32))

    found = ranked(bare, "what was said yesterday", 10)

    day = (NOON - timedelta(days=1)).replace(hour=0).timestamp()
    then = bare.seq[bare.eligible & (bare.at >= day) & (bare.at < day + 86_400)]
    assert {hit.seq for hit in found} <= set(then.tolist())
    assert len(found) == min(10, len(then))


def test_nothing_is_found_among_very_many_that_have_nothing_to_do_with_it():
    candidates = large(2_000, np.random.default_rng(3))
    bare = replace(candidates, terms=[], meaning=np.full(2_000, np.nan, np.float32))

    assert ranked(bare, "what did they say", 10) == []


def test_of_a_large_memory_the_same_is_recalled_by_person_as_by_a_look_at_every_row():
    candidates = large(4_000, np.random.default_rng(4))

    quick, thorough = (rank_person(candidates, now=NOON, limit=limit) for limit in (10, 1_000))

    assert quick == thorough[:10]
