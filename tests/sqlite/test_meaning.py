"""Vectors as bytes: near enough to the floats they came from, whoever multiplies them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memory_plugin.sqlite import meaning
from memory_plugin.sqlite.coding import codes_of
from memory_plugin.sqlite.meaning import fast_dots, plain_dots
from memory_plugin.testing.worlds import an_event, seen_from

FLOATS = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 700), st.just(16)),
    elements=st.floats(-100, 100, width=32),
    fill=st.just(np.float32(0.5)),
)


def cosine(rows, query):
    rows, query = rows.astype(np.float64), query.astype(np.float64)
    return rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)


@settings(deadline=None)
@given(FLOATS, st.integers(0, 1_000))
def test_codes_keep_the_direction(rows, seed):
    rows = rows[np.abs(rows).max(axis=1) > 0]
    query = np.random.default_rng(seed).standard_normal(16).astype(np.float32)
    unit = query / np.linalg.norm(query)

    codes, scale = codes_of(rows)

    exact = cosine(rows, query)
    np.testing.assert_allclose(plain_dots(codes, unit) * scale, exact, atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(codes * scale[:, None], axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-38, 1e-20, 1, 8e37])
def test_the_length_of_a_vector_does_not_matter(size):
    row = np.array([[3, -4, 0, 0]], np.float32)

    codes, scale = codes_of(row * np.float32(size))

    np.testing.assert_array_equal(codes, codes_of(row)[0])
    np.testing.assert_array_equal(scale, codes_of(row)[1])


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 3_000])
def test_both_ways_to_multiply_agree_up_to_the_rounding_of_the_query(rows):
    pytest.importorskip("simsimd")
    rng = np.random.default_rng(rows)
    codes, scale = codes_of(rng.standard_normal((rows, 384)).astype(np.float32) + 0.1)
    query = rng.standard_normal(384).astype(np.float32)
    unit = query / np.linalg.norm(query)

    plain, fast = plain_dots(codes, unit) * scale, fast_dots(codes, unit) * scale

    assert plain.shape == fast.shape == (rows,)
    np.testing.assert_allclose(plain, fast, atol=0.01)
    best = np.argsort(-plain)[:10]
    assert set(best[:3]) <= set(np.argsort(-fast)[:10])


@pytest.mark.parametrize("fast", [True, False])
async def test_a_search_is_the_same_with_and_without_the_extra(store, monkeypatch, fast):
    if fast:
        pytest.importorskip("simsimd")
    monkeypatch.setattr(meaning, "HAS_FAST", fast)
    rng = np.random.default_rng(1)
    await store.use_model("model", 32)
    await store.add([an_event(str(n), n) for n in range(400)])
    vectors = rng.standard_normal((400, 32)).astype(np.float32)
    jobs = sorted(await store.unembedded(400), key=lambda job: job.seq)
    await store.add_vectors(list(zip(jobs, vectors, strict=True)))
    query = rng.standard_normal(32).astype(np.float32)

    found = await store.search(seen_from(), [], query)

    np.testing.assert_allclose(found.meaning, cosine(vectors, query), atol=0.02)
