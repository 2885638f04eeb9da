import json

import pytest

from benchmarks.conversations import load
from benchmarks.recall import Answer, bm25_alone, calibration, measured, ours, summary


def answer(ids, evidence, **more):
    values = {"talk": "t", "category": "c", "evidence": frozenset(evidence), "ids": tuple(ids)}
    return Answer(**(values | more))


def test_measures_of_a_known_answer():
    found = measured(answer(["x", "a", "y", "z", "v", "w", "b"], ["a", "b"]))

    assert found["recall@5"] == 0.5
    assert found["recall@10"] == 1
    assert found["MRR"] == 0.5
    assert found["All@10"] == 1
    # 1/log2(3) + 1/log2(8), of an ideal 1 + 1/log2(3)
    assert found["nDCG@10"] == pytest.approx((0.63093 + 1 / 3) / 1.63093, abs=1e-4)


def test_measures_of_nothing_found():
    assert set(measured(answer([], ["a"])).values()) == {0.0}


def test_means_are_shown_by_category():
    found = summary([answer(["a"], ["a"]), answer(["x"], ["a"], category="d")])

    assert found["overall"]["Hit@10"] == 0.5
    assert found["recall@10 by category"] == {"c": 1.0, "d": 0.0}


def test_calibration_compares_scores_with_what_is_right():
    found = calibration([answer(["a", "x"], ["a"], scores=(0.95, 0.01))])

    assert found == [
        {"hits": 1, "score": 0.01, "right": 0.0},
        {"hits": 1, "score": 0.95, "right": 1.0},
    ]


@pytest.fixture
def talks(tmp_path):
    lines = ["my cat is called Tom", "what a lovely day it is", "I sold the old boat to Cleo"]
    turns = [
        {
            "id": f"t{n}",
            "speaker": "Ann",
            "text": text,
            "session": 1,
            "timestamp": "2024-05-01T12:00:00+00:00",
        }
        for n, text in enumerate(lines)
    ]
    questions = [
        {"question": "Who bought the boat?", "category": "single", "evidence": ["t2"]},
        {"question": "What is the cat called?", "category": "single", "evidence": ["t0"]},
    ]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"name": "one", "turns": turns, "questions": questions}]))
    return load(path)


def test_the_baseline_finds_what_has_the_words(talks):
    answers = bm25_alone(talks)

    assert [one.ids[0] for one in answers] == ["one/t2", "one/t0"]


async def test_our_way_leads_through_the_front_door(talks):
    answers = await ours(talks, "none")

    assert [one.ids[0] for one in answers] == ["one/t2", "one/t0"]
    assert all(len(one.scores) == len(one.ids) for one in answers)
