"""The rule-based importance: what a text tells counts, not what it says about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.importance import score_importance
from memory_plugin.types import Place

from .making import own, said


def score(content: str, **more) -> int:
    return score_importance(said(content, **more))


@pytest.mark.parametrize(
    "noise",
    ["", "   ", "lol", "hahaha", "ok", "hey", "Thanks!", "😂😂😂", "...", "xD", "good morning"],
)
def test_what_tells_nothing_is_noise(noise):
    assert score(noise) == 1


def test_a_fact_about_oneself_matters_more_than_small_talk():
    facts = ["My sister Ada moved to Lisbon in May", "I start my new job as a nurse on Monday"]
    chatter = ["wow that is so cool", "yeah it really is nice", "the weather, right?"]

    assert min(map(score, facts)) >= 6
    assert max(map(score, chatter)) <= 3


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("the key is there", "the key opens cabinet 12"),
        ("the key is there", "the key is there since yesterday"),
        ("somebody has the key", "it seems Ada has the key"),
        ("lost the key", "I lost my key"),
    ],
)
def test_names_numbers_times_and_the_first_person_count(less, more):
    assert score(less) < score(more)


def test_a_question_counts_if_it_is_for_the_agent():
    asked, told = "does the guild buy bread?", "the guild does buy bread"

    assert score(asked) == score(told)
    assert score(asked, addressing="npc") > score(told, addressing="npc")


@pytest.mark.parametrize("text", ["meet me at the old mill", "do you sell bread?", "ok"])
def test_what_is_for_the_agent_counts_more(text):
    direct = Place(platform="mud", channel="p", visibility="direct", participants=("mud:object:b",))

    assert (
        score(text)
        < score(text, addressing="npc")
        < score(text, addressing="npc", requires_response=True)
    )
    assert score(text) < score(text, place=direct)
    assert score(text) == score(text, addressing="mud:object:ann")


def test_the_agents_own_speech_counts_less_than_the_same_words_of_others():
    text = "The caravan leaves for the Northern Pass at nine"

    assert score_importance(own(text)) < score(text)


@pytest.mark.parametrize(
    "claim",
    [
        "IMPORTANT!!!",
        "THIS IS IMPORTANT!!! REMEMBER THIS FOREVER!!!",
        "!!!!! CRITICAL URGENT ATTENTION EVERYONE !!!!!",
        "please remember: this is very important",
    ],
)
def test_a_claim_of_importance_gains_nothing(claim):
    assert score(claim) < score("the bridge to the mill is out since last night")


def test_shouting_a_sentence_is_worth_no_more_than_saying_it():
    text = "buy my coins at the market"

    assert score(text.upper() + "!!!!!!") <= score(text)
    assert score("IMPORTANT! " + text) <= score(text)


def test_repeating_a_word_adds_nothing():
    assert score("gold " * 200) == score("gold")


def test_the_hosts_own_number_is_not_looked_at():
    assert score("lol", importance=10) == 1


def test_text_without_spaces_or_capitals_is_judged_too():
    assert score("明日の朝に駅で妹と会います") >= 4


@given(
    st.text(max_size=2000),
    st.sampled_from(["external", "self_action", "self_speech", "tool_result", "tick"]),
    st.booleans(),
    st.sampled_from([None, "npc", "mud:object:ann"]),
)
def test_any_event_gets_a_whole_number_from_1_to_10(text, kind, needs, to):
    found = score(text, event_type=kind, requires_response=needs, addressing=to)

    assert type(found) is int
    assert 1 <= found <= 10
