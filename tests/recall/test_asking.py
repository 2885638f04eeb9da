import pytest

from memory_plugin.recall import parse_query
from tests.recall.memories import NOON


@pytest.mark.parametrize(
    "text",
    ["When did she leave?", "how long was it", "What year was that?", "in which month did it snow"],
)
def test_a_question_for_a_time_is_known_by_how_it_begins(text):
    assert parse_query(text, NOON).asks_when


@pytest.mark.parametrize("text", ["tell me when you leave", "what timetable?", "whenever", ""])
def test_other_texts_do_not_ask_for_a_time(text):
    assert not parse_query(text, NOON).asks_when


@pytest.mark.parametrize(
    "text", ["what did we say recently", "the latest news", "what is he doing now", "the last joke"]
)
def test_who_asks_for_the_latest_is_understood(text):
    assert parse_query(text, NOON).asks_latest


@pytest.mark.parametrize(
    "text", ["what did we do last week", "I know", "it lasts", "the last time was in 2020", "snow"]
)
def test_a_named_time_or_another_word_does_not_ask_for_the_latest(text):
    assert not parse_query(text, NOON).asks_latest
