from datetime import timedelta

from memory_plugin.recall import rank_person
from tests.recall.memories import NOON, Line, remembered

LATER = NOON + timedelta(days=30)


def recalled(lines, *, now=LATER, limit=10):
    found = rank_person(remembered(lines), now=now, limit=limit)
    return [(lines[hit.seq // 10].text, hit) for hit in found]


def test_what_matters_comes_first():
    lines = [
        Line(text="good morning to all of you here", importance=2),
        Line(text="my brother was taken by the guard", hours=48, importance=9),
        Line(text="nice weather we have got today", hours=96, importance=3),
    ]

    assert recalled(lines)[0][0] == "my brother was taken by the guard"


def test_of_equals_the_newest_comes_first():
    lines = [Line(text=f"I have sold {n} loaves of bread", hours=48 * n) for n in range(5)]

    assert [hit.seq for _, hit in recalled(lines)] == [40, 30, 20, 10, 0]


def test_hits_come_from_several_sessions():
    evening = [
        Line(text=f"the dragon burned house number {n}", hours=0.01 * n, importance=6)
        for n in range(10)
    ]
    other = Line(text="I am looking for my lost sister", hours=-300, importance=5)

    found = [text for text, _ in recalled([*evening, other], limit=4)]

    assert other.text in found


def test_only_eligible_lines_are_recalled():
    lines = [Line(text="a secret", eligible=False, importance=10), Line(text="no secret")]

    assert [text for text, _ in recalled(lines)] == ["no secret"]


def test_parts_say_what_made_the_score():
    lines = [Line(text="my brother was taken by the guard today", importance=9)]

    ((_, hit),) = recalled(lines)

    assert hit.parts["importance"] > 0 > hit.parts["recency"]
    assert hit.score > 0.5


def test_nothing_comes_of_nothing():
    assert recalled([]) == []
    assert recalled([Line(text="here")], limit=0) == []


def test_what_is_dated_after_now_is_as_fresh_as_can_be():
    lines = [Line(text="said by a clock that is fast", hours=24 * 60)]

    ((_, hit),) = recalled(lines)

    assert "recency" not in hit.parts
