import asyncio
import json
import shutil
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.embedding import OnnxEmbedder, find_model, open_embedder
from memory_plugin.embedding.building import build
from memory_plugin.embedding.runtime import Runtime
from memory_plugin.embedding.true_int8 import PROBES, compare, fastest, record_of
from memory_plugin.errors import EmbedderError

CHAT = (
    "Ann: I finally finished painting the fence, my arms are so sore",
    "Bob: congratulations! which colour did you take in the end?",
    "Cyd: has anybody seen the map of the old mine?",
    "Bob: we meet on Friday at eight, do not forget the torches",
    "Ann: my son lost his first tooth yesterday",
    "Dan: lol",
)


@pytest.fixture
async def graph(model_cache, tmp_path):
    """The graph in a cache folder of this test alone."""
    embedder = await open_embedder(model_dir=None, cache_dir=model_cache)
    await embedder.close()
    shutil.copytree(model_cache / "graphs", tmp_path / "graphs")
    return next((tmp_path / "graphs").glob("*.onnx"))


async def opened(cache_dir):
    embedder = await open_embedder(model_dir=None, cache_dir=cache_dir)
    await embedder.close()
    return embedder


async def test_it_is_built_once_and_kept(graph, tmp_path):
    before = graph.stat()

    embedder = await opened(tmp_path)

    assert embedder.name == "all-MiniLM-L6-v2/true-int8/1"
    assert embedder.status()["graph"] == "true int8, from the cache"
    assert (graph.stat().st_mtime_ns, graph.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


async def test_its_vectors_are_near_the_packaged_models(model_cache):
    fast = await open_embedder(model_dir=None, cache_dir=model_cache)
    packaged = await OnnxEmbedder.open(find_model(model_dir=None, cache_dir=model_cache))

    cosines = (await fast.embed(CHAT) * await packaged.embed(CHAT)).sum(axis=1)

    assert cosines.mean() > 0.985
    assert cosines.min() > 0.96
    assert fast.name != packaged.name
    await fast.close()
    await packaged.close()


async def test_a_text_is_not_touched_by_its_neighbours_in_a_batch(model_cache):
    embedder = await open_embedder(model_dir=None, cache_dir=model_cache)

    together = await embedder.embed(CHAT)
    alone = np.concatenate([await embedder.embed([text]) for text in CHAT])

    assert np.array_equal(together, alone)
    await embedder.close()


@pytest.fixture(scope="module")
def runtime(model_cache):
    """The graph, loaded once for many examples."""
    found = find_model(model_dir=None, cache_dir=model_cache)
    return fastest(found, model_cache)[0]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.data())
@settings(max_examples=25, deadline=None)
def test_any_text_has_one_vector_whatever_the_batch(runtime, texts, data):
    some = [CHAT[0], *texts, CHAT[1]]
    place = data.draw(st.integers(0, len(some) - 1))

    together = runtime.embed(some)[place]

    assert np.array_equal(together, runtime.embed([some[place]])[0])


@pytest.mark.parametrize("hurt", ["graph", "record", "vectors", "recipe"])
async def test_a_damaged_one_is_built_again(graph, tmp_path, hurt):
    whole = graph.read_bytes()
    record = record_of(graph)
    if hurt == "graph":
        graph.write_bytes(whole[:5000] + b"\x00\x01" + whole[5002:])
    elif hurt == "record":
        record.write_text("{")
    elif hurt == "vectors":
        # As on a processor that computes something else.
        said = json.loads(record.read_text())
        record.write_text(json.dumps(said | {"vectors": said["vectors"][::-1]}))
    else:
        record.write_text(json.dumps(json.loads(record.read_text()) | {"recipe": 0}))

    embedder = await opened(tmp_path)

    assert embedder.status()["graph"] == "true int8, built now"
    assert graph.read_bytes() == whole
    assert (await opened(tmp_path)).status()["graph"] == "true int8, from the cache"


async def test_two_who_build_at_once_both_get_it(model_cache, tmp_path):
    both = await asyncio.gather(opened(tmp_path), opened(tmp_path))

    assert {one.name for one in both} == {"all-MiniLM-L6-v2/true-int8/1"}
    assert (await opened(tmp_path)).status()["graph"] == "true int8, from the cache"
    assert len(list((tmp_path / "graphs").iterdir())) == 2


async def test_without_onnx_the_packaged_model_runs_and_says_so(
    needs_model, monkeypatch, tmp_path, caplog
):
    monkeypatch.setitem(sys.modules, "onnx", None)

    embedder = await opened(tmp_path)

    assert embedder.name == "all-MiniLM-L6-v2/int8-weights/1"
    assert "as packaged, half as fast: needs the package onnx" in embedder.status()["graph"]
    assert "half as fast" in caplog.text


async def test_a_cache_that_cannot_be_written_is_no_reason_to_stop(needs_model, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    embedder = await opened(blocked)

    assert embedder.name == "all-MiniLM-L6-v2/int8-weights/1"
    assert "as packaged, half as fast: building failed" in embedder.status()["graph"]


async def test_building_it_again_gives_the_same_bytes(graph, tmp_path):
    files = find_model(model_dir=None, cache_dir=tmp_path)

    await asyncio.to_thread(build, files, tmp_path / "again.onnx")

    assert (tmp_path / "again.onnx").read_bytes() == graph.read_bytes()
    assert record_of(tmp_path / "again.onnx").read_text() == record_of(graph).read_text()


def test_vectors_that_are_too_far_away_are_refused(needs_model, tmp_path):
    runtime = Runtime(find_model(model_dir=None, cache_dir=tmp_path))
    vectors = runtime.embed(PROBES)
    compare(runtime, vectors)

    for wrong in (vectors[::-1], vectors * np.nan, vectors * 0.97):
        with pytest.raises(EmbedderError, match="differ from the packaged"):
            compare(runtime, wrong)
