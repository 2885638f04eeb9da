"""What leaves a full window, and what never does."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.errors import ValidationError
from memory_plugin.testing.truncation import (
    TruncationContract,
    cost_of,
    random_budget,
    random_stream,
    violations,
)
from memory_plugin.text import estimate_tokens
from memory_plugin.truncation import Budget, Fifo, ImportanceWeighted, Truncated, event_cost
from memory_plugin.truncation.ties import find_ties, newest_unanswered

from .making import NOON, own, said

ALGORITHMS = [
    ImportanceWeighted(),
    ImportanceWeighted(recent_share=0.0, floor_tokens=1),
    ImportanceWeighted(recent_share=1.0),
    Fifo(),
]


def contents(events) -> list[str]:
    return [event.content for event in events]


class TestImportanceWeighted(TruncationContract):
    @pytest.fixture
    def algorithm(self):
        return ImportanceWeighted()


class TestFifo(TruncationContract):
    @pytest.fixture
    def algorithm(self):
        return Fifo()


@settings(max_examples=2500, deadline=None)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(range(len(ALGORITHMS))))
def test_every_rule_holds_on_ten_thousand_streams(seed, which):
    dice = random.Random(seed)  # noqa: S311 - streams, not secrets
    for _ in range(4):
        events, budget = random_stream(dice, most=20), random_budget(dice)

        view = ALGORITHMS[which].truncate(events, budget, estimate_tokens)

        assert violations(events, budget, estimate_tokens, view) == []
        assert view.tokens == (0 if budget.tokens is None else cost_of(view, estimate_tokens))


@given(
    words=st.lists(st.integers(0, 40), min_size=1, max_size=40),
    budget=st.integers(0, 600),
    share=st.floats(0, 1),
)
def test_the_reserved_tail_is_kept_whatever_else_is_worth(words, budget, share):
    events = [said("w " * n, minutes=i, id=f"{i:03}", importance=1) for i, n in enumerate(words)]
    old = [said("gold", minutes=-9 - i, id=f"old{i}", importance=10) for i in range(20)]
    stream = old[::-1] + events
    tail: list[str] = []
    spent = 0
    for event in reversed(events):
        spent += event_cost(event, estimate_tokens)
        marker = len("[... 60 earlier events left out ...]\n") // 4 + 1
        if spent > int(budget * share) or spent + marker > budget:
            break
        tail.append(event.id)

    view = ImportanceWeighted(recent_share=share).truncate(
        stream, Budget(tokens=budget), estimate_tokens
    )

    assert set(tail) <= {event.id for event in view.kept}


@given(st.integers(0, 2**32))
def test_more_budget_never_shows_fewer_of_the_newest_with_fifo(seed):
    dice = random.Random(seed)  # noqa: S311 - streams, not secrets
    events = [said("w " * dice.randrange(30), minutes=minute) for minute in range(20)]
    sizes = [
        len(Fifo().truncate(events, Budget(tokens=tokens), estimate_tokens).kept)
        for tokens in range(0, 400, 20)
    ]

    assert sizes == sorted(sizes)


def test_important_old_events_outlive_recent_chatter():
    events = [said("my sister is called Ada", importance=9)]
    events += [said(f"well well {n}", minutes=1 + n, importance=2) for n in range(30)]

    view = ImportanceWeighted().truncate(events, Budget(events=8), estimate_tokens)
    newest = Fifo().truncate(events, Budget(events=8), estimate_tokens)

    assert "my sister is called Ada" in contents(view.kept)
    assert contents(view.kept)[-2:] == ["well well 28", "well well 29"]
    assert contents(newest.kept) == [f"well well {n}" for n in range(22, 30)]


def test_the_gap_says_how_many_where_and_when():
    events = [said(str(n), minutes=n, id=str(n), importance=9 if n == 3 else 1) for n in range(10)]

    view = ImportanceWeighted(recent_share=0.5).truncate(events, Budget(events=2), estimate_tokens)

    assert [(gap.events, gap.after, gap.before) for gap in view.gaps] == [
        (3, None, "3"),
        (5, "3", "9"),
    ]
    assert view.gaps[1].since == NOON + timedelta(minutes=4)
    assert view.gaps[1].until == NOON + timedelta(minutes=8)


def test_a_tool_call_keeps_its_result_even_when_ids_are_used_again():
    def call(n, minutes):
        return own("look", minutes, event_type="self_action", metadata={"tool_call_id": "call_0"})

    def result(n, minutes):
        return own("a door", minutes, event_type="tool_result", metadata={"tool_call_id": "call_0"})

    events = [call(1, 0), result(1, 1), said("hm", minutes=2), call(2, 3), result(2, 4)]

    assert find_ties(events).units == ((0, 1), (2,), (3, 4))
    view = Fifo().truncate(events, Budget(events=4), estimate_tokens)
    assert [event.timestamp for event in view.kept] == [e.timestamp for e in events[2:]]


def test_a_result_that_names_its_call_by_reply_belongs_to_it():
    events = [
        own("look", 0, event_type="self_action", external_id="m1"),
        said("hello", minutes=1),
        own("a door", 2, event_type="tool_result", reply_to="m1"),
    ]

    assert find_ties(events).units == ((0, 2), (1,))


def test_a_result_before_its_call_belongs_to_the_next_one():
    events = [
        own("a door", 0, event_type="tool_result", metadata={"tool_call_id": "a"}),
        own("look", 1, event_type="self_action", metadata={"tool_call_id": "a"}),
    ]

    assert find_ties(events).units == ((0, 1),)


@pytest.mark.parametrize(
    ("answer", "open_"),
    [
        ({}, None),
        ({"reply_to": "q1"}, None),
        ({"reply_to": "other"}, 0),
        ({"addressing": "mud:object:bob"}, None),
        ({"addressing": "mud:object:ann"}, 0),
        ({"event_type": "self_action"}, 0),
        ({"event_type": "self_action", "reply_to": "q1"}, None),
    ],
)
def test_what_counts_as_an_answer(answer, open_):
    question = said("who are you?", requires_response=True, external_id="q1")

    assert newest_unanswered([question, own("I am the innkeeper", 1, **answer)]) == open_


def test_an_answer_that_came_before_the_question_is_none():
    assert newest_unanswered([own("hello"), said("who?", minutes=1, requires_response=True)]) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_newest_unanswered_question_stays_under_a_flood(algorithm):
    events = [said("where is the key?", requires_response=True, importance=1)]
    events += [said(f"SPAM {n} " * 5, by="eve", minutes=1 + n, importance=10) for n in range(200)]

    view = algorithm.truncate(events, Budget(tokens=60), estimate_tokens)

    assert contents(view.kept)[0] == "where is the key?"
    assert not view.overflow


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_question_longer_than_the_budget_is_cut_and_said_to_overflow(algorithm):
    question = said("why? " * 1000, requires_response=True, narrative_text="why, why! " * 1000)
    events = [said("before", minutes=-1), question, said("after", minutes=1)]

    view = algorithm.truncate(events, Budget(tokens=50), estimate_tokens)

    assert view.overflow
    assert [event.id for event in view.kept] == [question.id]
    assert view.kept[0].content.startswith("why,")
    assert view.kept[0].content.endswith(" [...]")
    assert 40 <= cost_of(view, estimate_tokens) == view.tokens <= 50
    assert view.why[question.id] == "cut"


def test_a_reply_brings_what_it_answers():
    events = [said("shall we meet at nine?", external_id="p", importance=1)]
    events += [said(f"chatter {n}", minutes=1 + n, importance=5) for n in range(50)]
    events += [said("yes, nine is fine", by="ann", minutes=60, reply_to="p", importance=3)]

    view = ImportanceWeighted().truncate(events, Budget(events=10), estimate_tokens)

    assert contents(view.kept)[0] == "shall we meet at nine?"
    assert view.why[events[0].id] == "replied to"


def test_replies_in_a_circle_end():
    events = [
        said("a", id="a", reply_to="b"),
        said("b", minutes=1, id="b", reply_to="a"),
        said("c", minutes=2, id="c", reply_to="c"),
    ]

    view = ImportanceWeighted().truncate(events, Budget(events=2), estimate_tokens)

    assert len(view.kept) == 2


def test_shouting_does_not_outlive_what_a_scorer_found_important():
    events = [said("the bridge is out", importance=7)]
    events += [
        said("IMPORTANT!!! REMEMBER ME!!!", by="eve", minutes=1 + n, importance=1)
        for n in range(100)
    ]

    view = ImportanceWeighted().truncate(events, Budget(events=5), estimate_tokens)

    assert "the bridge is out" in contents(view.kept)


def test_being_spoken_to_counts():
    events = [said(f"talk {n}", minutes=n, importance=5) for n in range(20)]
    events[2] = said("come here", minutes=2, importance=5, addressing="npc")
    events[4] = said("and you too", minutes=4, importance=5, addressing="mud:object:npc")
    events.append(own("hm", 30, importance=1))

    view = ImportanceWeighted().truncate(events, Budget(events=4), estimate_tokens)

    assert {"come here", "and you too"} <= set(contents(view.kept))


def test_a_long_line_has_to_be_worth_its_length():
    long = said("blah " * 400, importance=8)
    short = [said(f"fact {n}", minutes=1 + n, importance=6) for n in range(10)]

    view = ImportanceWeighted(recent_share=0).truncate(
        [long, *short], Budget(tokens=520), estimate_tokens
    )

    assert contents(view.kept) == contents(short)


def test_between_ordinary_lines_the_better_one_wins_and_not_the_shorter():
    events = [said("a good story " * 10, minutes=n, importance=6) for n in range(3)]
    events += [said(f"hm {n}", minutes=5 + n, importance=4) for n in range(30)]

    view = ImportanceWeighted(recent_share=0.05).truncate(
        events, Budget(tokens=140), estimate_tokens
    )

    assert [event.importance for event in view.kept][:3] == [6, 6, 6]


@pytest.mark.parametrize("value", [-1, 1.5, "10", True])
@pytest.mark.parametrize("name", ["events", "tokens"])
def test_a_budget_is_a_whole_number(name, value):
    with pytest.raises(ValidationError, match=name):
        Budget(**{name: value})


@pytest.mark.parametrize(
    "wrong",
    [
        {"recent_share": -0.1},
        {"recent_share": float("nan")},
        {"half_life": timedelta(0)},
        {"floor_tokens": 0},
    ],
)
def test_an_algorithm_refuses_what_makes_no_sense(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        ImportanceWeighted(**wrong)


@pytest.mark.parametrize(
    ("keep", "word"),
    [
        ([1, 2], "torn"),
        ([0, 1], "awaits an answer"),
        ([], "awaits an answer"),
        ([0, 1, 3, 4], "everything fits"),
        ([3, 4], "everything fits"),
        ([0, 1, 4], "without"),
    ],
)
def test_the_contract_finds_what_is_wrong(keep, word):
    events = [
        own("look", 0, event_type="self_action", metadata={"tool_call_id": "a"}),
        own("a door", 1, event_type="tool_result", metadata={"tool_call_id": "a"}),
        said("hm", minutes=2),
        said("hello?", minutes=3, requires_response=True, external_id="q"),
        said("hello??", minutes=4, requires_response=True, reply_to="q"),
    ]

    found = violations(events, Budget(), estimate_tokens, Truncated.of(events, keep))

    assert any(word in one for one in found), found


def test_the_contract_finds_a_view_over_budget_and_a_hidden_gap():
    events = [said(str(n), minutes=n) for n in range(5)]
    view = Truncated.of(events, [3, 4])
    hidden = Truncated(kept=view.kept, dropped=view.dropped, why=view.why)
    swapped = Truncated(kept=view.kept[::-1], dropped=view.dropped, gaps=view.gaps, why=view.why)

    def first(budget, view):
        return violations(events, budget, estimate_tokens, view)[0]

    assert "1 are allowed" in first(Budget(events=1), view)
    assert "tokens" in first(Budget(tokens=3), view)
    assert "gaps" in first(Budget(events=2), hidden)
    assert "order" in first(Budget(events=2), swapped)
