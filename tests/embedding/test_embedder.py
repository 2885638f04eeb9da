import asyncio
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.embedding import HashingEmbedder, find_model, open_embedder
from memory_plugin.embedding.centre import generic_questions, question_centre
from memory_plugin.embedding.embedder import QUERIES_KEPT
from memory_plugin.embedding.kept import Kept
from memory_plugin.embedding.runtime import COUNTED_CHARS, MOST_ROWS, Runtime, grouped
from memory_plugin.errors import EmbedderError
from memory_plugin.settings import Settings

HASHED_AT, HASHED = 1, 0.426401


@pytest.fixture
async def tiny(make_model, tmp_path):
    embedder = await open_embedder(model_dir=make_model(tmp_path / "m"), cache_dir=tmp_path)
    yield embedder
    await embedder.close()


@pytest.fixture
async def real(model_cache):
    embedder = await open_embedder(model_dir=None, cache_dir=model_cache)
    yield embedder
    await embedder.close()


def computed(embedder, monkeypatch):
    """A list that grows by the number of texts of each batch the model computes."""
    seen = []
    runtime = embedder._runtime
    vectors = runtime.vectors
    monkeypatch.setattr(
        runtime, "vectors", lambda batch: (seen.append(len(batch)), vectors(batch))[1]
    )
    return seen


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 600))
def test_groups_hold_every_text_once_and_stay_small(lengths, most):
    groups = grouped(lengths, most)

    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert 1 <= len(group) <= MOST_ROWS
        assert len(group) == 1 or len(group) * max(lengths[place] for place in group) <= most
    order = [lengths[place] for group in groups for place in group]
    assert order == sorted(order)


async def test_a_query_is_computed_once(tiny, monkeypatch):
    seen = computed(tiny, monkeypatch)

    first = await tiny.embed(["red"], "query")
    second = await tiny.embed(["red"], "query")
    await tiny.embed(["red"])

    assert np.array_equal(first, second)
    assert seen == [1, 1]


async def test_only_the_newest_queries_are_remembered(tiny, monkeypatch):
    for number in range(QUERIES_KEPT + 1):
        await tiny.embed([f"red {number}"], "query")
    seen = computed(tiny, monkeypatch)

    await tiny.embed([f"red {QUERIES_KEPT}"], "query")
    await tiny.embed(["red 0"], "query")

    assert seen == [1]


def test_what_is_kept_is_bounded_and_the_longest_unused_goes():
    kept = Kept(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1

    kept.put("c", 3)

    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


async def test_no_text_stays_in_memory(tiny):
    # Made at run time, so that no constant of this file is found.
    secret = "-".join(["red", str(id(tiny)), "blue"])

    await tiny.embed([secret], "query")
    await tiny.embed([secret])
    tiny.count_tokens(secret)
    gc.collect()

    assert not [
        one
        for one in gc.get_objects()
        if isinstance(one, dict) and any(key == secret for key in one if isinstance(key, str))
    ]


async def test_a_query_waits_for_one_batch_and_not_for_a_backfill(tiny):
    order = []

    async def ask(kind, texts):
        await tiny.embed(texts, kind)
        order.append(kind)

    backfill = asyncio.ensure_future(ask("passage", [f"red {n}" for n in range(2000)]))
    await asyncio.sleep(0)
    await ask("query", ["blue"])
    await backfill

    assert order == ["query", "passage"]


async def test_a_batch_that_fails_leaves_no_job_behind(tiny, make_model, tmp_path):
    folder = make_model(tmp_path / "bare", special=False)
    bare = await open_embedder(model_dir=folder, cache_dir=tmp_path)

    with pytest.raises(EmbedderError, match="without a direction"):
        await bare.embed(["red"] * 50 + ["zero"] + ["red green"] * 50)

    assert (await bare.embed(["red"])).shape == (1, 4)
    await bare.close()


async def test_tokens_are_counted_as_the_tokenizer_makes_them(real):
    assert real.count_tokens("hello world") == 2
    assert real.count_tokens("antidisestablishmentarianism") > 3
    assert real.count_tokens("hello world " * 1000) == 2000


async def test_a_giant_text_is_counted_in_proportion(real):
    giant = "hello world " * (COUNTED_CHARS // 4)

    assert real.count_tokens(giant) == pytest.approx(COUNTED_CHARS // 2, rel=0.001)


async def test_a_count_of_broken_text_is_refused(real):
    with pytest.raises(EmbedderError, match="surrogate"):
        real.count_tokens("half \ud800")


async def test_the_real_tokenizer_is_neither_padded_nor_cut_at_128(real):
    runtime = real._runtime

    short, long = runtime.tokens(["hello", "hello " * 1000])

    assert len(short) == 3
    assert len(long) == 256


async def test_cutting_early_changes_nothing(real):
    text = "we met at the old bridge " * 200

    rows = await real.embed([text, text + "and something else entirely " * 5000])

    assert np.array_equal(rows[0], rows[1])


async def test_loading_does_not_hold_the_loop(model_cache):
    # The loop has its turns while the model loads, or this would never end.
    opening = asyncio.ensure_future(open_embedder(model_dir=None, cache_dir=model_cache))
    turns = 0
    while not opening.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 2
    await (await opening).close()


async def test_the_centre_is_what_questions_have_in_common(real):
    centre = await question_centre(real)
    question, statement = await real.embed(
        ["When did Robert sell the boat?", "Robert sold the boat and bought a caravan"], "query"
    )

    assert centre.shape == (real.dim,)
    assert centre.dtype == np.float32
    assert 0.05 < np.linalg.norm(centre) < 0.9
    assert float(question @ centre) > float(statement @ centre)


async def test_the_centre_works_with_any_embedder():
    centre = await question_centre(HashingEmbedder(dim=64))

    assert centre.shape == (64,)


def test_the_generic_questions_are_many_and_different():
    questions = generic_questions()

    assert 200 <= len(questions) <= 300
    assert len({one.lower() for one in questions}) == len(questions)
    assert all(one.endswith("?") and one.isascii() for one in questions)
    firsts = [one.split()[0] for one in questions]
    for word in ("Who", "What", "When", "Where", "Why", "How"):
        assert firsts.count(word) >= 10


async def test_hashed_vectors_never_change(tmp_path):
    row = (await HashingEmbedder(dim=16).embed(["bread and cheese"]))[0]

    # Stored vectors of this name must stay comparable for ever.
    assert HashingEmbedder(dim=16).name == "hashing/16/1"
    assert np.argmax(np.abs(row)) == HASHED_AT
    assert row[HASHED_AT] == pytest.approx(HASHED, abs=1e-5)


def test_a_hashing_embedder_has_room_for_a_direction():
    with pytest.raises(EmbedderError, match="at least 8"):
        HashingEmbedder(dim=4)


def test_importing_embedding_imports_no_runtime():
    code = (
        "import sys, memory_plugin, memory_plugin.embedding;"
        "print(sorted({'onnx', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_missing_runtime_says_how_to_get_it(needs_model, monkeypatch, tmp_path):
    files = find_model(model_dir=None, cache_dir=tmp_path)

    for name in ("onnxruntime", "tokenizers"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(EmbedderError, match=rf"needs {name}: pip install"):
                Runtime(files)


def test_a_process_ends_though_its_embedder_was_not_closed(model_cache):
    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from memory_plugin.embedding import open_embedder\n"
        "async def main():\n"
        "    global kept\n"
        "    kept = await open_embedder(model_dir=None, cache_dir=Path(sys.argv[1]))\n"
        "    global job\n"
        "    job = asyncio.ensure_future(kept.embed(['hello ' * 300] * 5000))\n"
        "    await asyncio.sleep(0.1)\n"
        "    print('leaving', flush=True)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model_cache)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.strip() == "leaving"


def test_the_runtime_is_told_to_keep_to_itself_before_it_is_imported():
    program = (
        "import os, pathlib, asyncio\n"
        "from memory_plugin.embedding import open_embedder\n"
        "async def main():\n"
        "    cache = pathlib.Path(os.environ['C'])\n"
        "    embedder = await open_embedder(model_dir=None, cache_dir=cache)\n"
        "    await embedder.embed(['hello'])\n"
        "    await embedder.close()\n"
        "asyncio.run(main())\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])\n"
    )
    cache = Settings().cache_dir()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "C": str(cache), "XDG_CACHE_HOME": home}
        environment.pop("ORT_DISABLE_TELEMETRY", None)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        left = [one.name for one in Path(home).rglob("*")]

    assert done.stdout.strip() == "1"
    assert left == []
