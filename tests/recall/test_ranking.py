from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from memory_plugin.parts import TermMatch
from memory_plugin.recall import parse_query, rank
from tests.recall.memories import NOON, Line, remembered

LATER = NOON + timedelta(days=400)


def hits(lines, query, *, now=LATER, limit=10):
    """(text, hit) of the best lines for a query, best first."""
    found = rank(remembered(lines, query), parse_query(query, now), now=now, limit=limit)
    return [(lines[hit.seq // 10].text, hit) for hit in found]


def texts(lines, query, **more):
    return [text for text, _ in hits(lines, query, **more)]


def small_talk(count, *, by="bob", start=0.0, **more):
    """Lines that have nothing to do with anything, two days apart."""
    return [
        Line(text=f"well that is number {n} of them", by=by, hours=start + 48 * n, **more)
        for n in range(count)
    ]


def test_the_line_with_the_words_is_found():
    lines = [*small_talk(20), Line(text="my cat is called Tom", hours=2000)]

    assert texts(lines, "what is the cat called") == ["my cat is called Tom"]


def test_a_rare_word_counts_for_more_than_a_common_one():
    lines = [
        *[Line(text=f"the garden looks fine today {n}", hours=48 * n) for n in range(20)],
        Line(text="the zebra looks fine today now", hours=2000),
    ]

    assert texts(lines, "garden zebra")[0] == "the zebra looks fine today now"


def test_a_word_inside_another_counts_less_than_the_word():
    lines = [*small_talk(20), Line(text="a fisherman it was who came")]
    whole = [*small_talk(20), Line(text="a fish it was who came")]

    (_, within), *_ = hits(lines, "fish")
    (_, word), *_ = hits(whole, "fish")

    assert within.score < word.score


def test_lines_that_share_nothing_with_the_query_are_no_hits():
    lines = [*small_talk(3), Line(text="my cat is called Tom", hours=2000)]

    assert texts(lines, "submarine") == []
    assert texts(lines[:1], "submarine") == []


def test_without_any_vectors_words_are_enough():
    lines = [Line(text="second fish"), Line(text="first", hours=-2)]

    (text, hit), *others = hits(lines, "fish")

    assert text == "second fish"
    assert others == []
    assert "meaning" not in hit.parts


def test_the_nearest_in_meaning_is_found_without_a_common_word():
    lines = [
        *small_talk(20, meaning=0.01),
        Line(text="our kitten sleeps all day", hours=2000, meaning=0.55),
    ]

    (text, hit), *_ = hits(lines, "feline rest")

    assert text == "our kitten sleeps all day"
    assert hit.parts["meaning"] > 1


def test_a_line_without_a_vector_yet_is_found_by_its_words_among_others_that_have_one():
    lines = [*small_talk(20, meaning=0.02), Line(text="the submarine has sunk", hours=2000)]

    assert texts(lines, "submarine")[0] == "the submarine has sunk"


def test_equal_cosines_say_nothing():
    lines = [Line(text=f"line of text {n}", hours=48 * n, meaning=0.3) for n in range(5)]

    found = hits(lines, "submarine")

    assert all("meaning" not in hit.parts for _, hit in found)


def test_the_answer_to_a_question_is_found_by_the_words_of_the_question():
    lines = [
        *small_talk(20),
        Line(text="what is your favourite colour?", by="bob", hours=2000),
        Line(text="I would say it is green or so", by="ann", hours=2000.01),
    ]

    answer = dict(hits(lines, "favourite colour"))["I would say it is green or so"]

    assert answer.parts["neighbour"] > 2


def test_who_answers_in_two_lines_answers_the_question_with_both():
    lines = [
        *small_talk(20),
        Line(text="what is your favourite colour?", by="bob", hours=2000),
        Line(text="hm let me think about it", by="ann", hours=2000.01),
        Line(text="I would say it is green or so", by="ann", hours=2000.02),
    ]

    answer = dict(hits(lines, "favourite colour"))["I would say it is green or so"]

    assert answer.parts["neighbour"] > 3


def test_a_question_is_not_answered_by_who_asked_it():
    asked = Line(text="what is your favourite colour?", by="bob", hours=2000)
    said = Line(text="I would say it is green or so", by="bob", hours=2000.01)
    other = replace(said, by="ann")

    own = dict(hits([*small_talk(20), asked, said], "favourite colour"))[said.text]
    answer = dict(hits([*small_talk(20), asked, other], "favourite colour"))[said.text]

    assert own.parts["neighbour"] < answer.parts["neighbour"]


def test_lines_before_lend_their_words_only_within_a_session():
    talk = [
        Line(text="we went to the aquarium", by="ann", hours=2000),
        Line(text="it was loud and full of children", by="bob", hours=2000.02),
    ]
    later = [talk[0], replace(talk[1], hours=2010)]

    near = dict(hits([*small_talk(20), *talk], "aquarium"))
    far = dict(hits([*small_talk(20), *later], "aquarium"))

    assert near[talk[1].text].parts["neighbour"] > 0
    assert talk[1].text not in far


def test_a_session_about_the_subject_lifts_its_lines():
    rich = [
        Line(text="the harvest was rich with apples", hours=2000),
        Line(text="apples all over the harvest table", hours=2000.1),
        Line(text="and the harvest of pears too", hours=2000.2),
    ]
    alone = Line(text="and the harvest of pears too", hours=3000, by="bob")

    found = rank(
        remembered([*small_talk(20), *rich, alone], "harvest apples pears"),
        parse_query("harvest apples pears", LATER),
        now=LATER,
        limit=30,
    )
    by_row = {hit.seq // 10: hit for hit in found}

    assert by_row[22].parts["session"] > by_row[23].parts["session"]


def test_a_named_person_is_lifted_but_nobody_is_left_out():
    lines = [
        *small_talk(10, by="bob"),
        *small_talk(10, by="cleo", start=24),
        Line(text="I adopted a dog from the shelter", by="bob", hours=2000),
        Line(text="I adopted a dog from the shelter", by="cleo", hours=2100),
    ]

    found = [hit for text, hit in hits(lines, "which dog did cleo adopt") if "dog" in text]

    assert [hit.seq for hit in found] == [210, 200]
    assert found[0].parts["person"] > 0
    assert "person" not in found[1].parts


def test_a_named_time_lifts_what_was_said_then():
    lines = [
        Line(text="the match was great today, we won", hours=24 * day) for day in range(0, 300, 10)
    ]

    (_, hit), *_ = hits(lines, "how was the match on 24 June 2024?")

    assert hit.seq == 40
    assert hit.parts["time"] > 3


def test_what_happened_then_is_found_without_any_other_word():
    lines = [Line(text=f"so much for number {n}", hours=24 * n) for n in range(50)]
    now = NOON + timedelta(days=50)

    found = texts(lines, "what was said yesterday?", now=now)

    assert found == ["so much for number 49"]


def test_a_question_for_a_time_prefers_lines_that_tell_one():
    lines = [
        *small_talk(20),
        Line(text="we moved to the new house", hours=2000),
        Line(text="we moved to the new house in March", hours=3000),
    ]

    (text, hit), *_ = hits(lines, "when did you move to the new house")

    assert text.endswith("March")
    assert hit.parts["time"] > 2


def test_recency_counts_only_when_it_is_asked_for():
    lines = [Line(text="the tavern sells ale and bread", hours=240 * n) for n in range(20)]

    plain = hits(lines, "what does the tavern sell")
    latest = hits(lines, "what did the tavern sell most recently")

    assert all("recency" not in hit.parts for _, hit in plain)
    assert latest[0][1].seq == 190
    assert plain[0][1].seq == 0


def test_of_equals_the_more_important_comes_first():
    lines = [
        *small_talk(20),
        Line(text="the key is under the mat", hours=2000, importance=3),
        Line(text="the key is under the mat", hours=3000, importance=8),
    ]

    found = hits(lines, "where is the key")

    assert [hit.seq for _, hit in found] == [210, 200]


def test_only_eligible_lines_are_hits_but_others_help_them():
    asked = Line(text="what is your favourite colour?", by="bob", hours=2000, eligible=False)
    answer = Line(text="I would say it is green or so", by="ann", hours=2000.01)

    found = hits([*small_talk(20, eligible=False), asked, answer], "favourite colour")

    assert [text for text, _ in found] == [answer.text]
    assert found[0][1].parts["neighbour"] > 2


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("meaning", [float("nan"), 0.4])
@pytest.mark.parametrize("query", ["", "?", "cat", "when was the last cat in May?", "line"])
def test_tiny_memories_can_be_asked_anything(count, meaning, query):
    lines = [Line(text=f"line {n}", hours=n, meaning=meaning) for n in range(count)]

    found = hits(lines, query)

    assert len(found) <= count
    assert all(0 <= hit.score <= 1 for _, hit in found)


def test_no_limit_no_hits():
    lines = [Line(text="my cat is called Tom")]

    assert hits(lines, "cat", limit=0) == []


def test_the_score_of_noise_is_low_and_that_of_an_answer_is_not():
    lines = [
        *small_talk(60, meaning=0.02),
        Line(text="my cat is called Tom", by="ann", hours=4000, meaning=0.45),
    ]
    noise = [replace(line, meaning=0.02 + 0.001 * n) for n, line in enumerate(lines)]

    (_, answer), *_ = hits(lines, "what is the cat called")
    beside = hits(noise, "which number of submarine sinks")

    assert answer.score > 0.4
    assert all(hit.score < 0.1 for _, hit in beside)


def test_of_very_many_words_the_rarest_count():
    candidates = remembered([*small_talk(20), Line(text="my cat is called Tom", hours=2000)])
    common = [TermMatch(term=f"t{n}", rows=np.arange(20)) for n in range(100)]
    rare = TermMatch(term="cat", rows=np.array([20]))
    asked = replace(candidates, terms=[*common, rare])

    found = rank(asked, parse_query("x", LATER), now=LATER, limit=30)

    assert {hit.seq: hit.parts.get("words", 0) for hit in found}[200] > 0
