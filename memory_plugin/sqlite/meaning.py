"""How near the vectors of rows are to the vector of a query."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.sqlite.columns import Columns

# So many rows as floats stay in the nearest cache of a core between the two steps.
_BLOCK = 256
_FULL = 127

Codes = NDArray[np.int8]
Floats = NDArray[np.float32]


def cosines(columns: Columns, query: Floats, wanted: NDArray[np.int64] | None) -> Floats:
    """The cosine of every row with `query`, NaN where a row has no vector or is not wanted."""
    wide = query.astype(np.float64)
    unit = (wide / np.sqrt(np.square(wide).sum())).astype(np.float32)
    dots = fast_dots if HAS_FAST else plain_dots
    if wanted is None:
        return dots(columns.codes, unit) * columns.scale
    meaning = np.full(len(columns), np.nan, np.float32)
    meaning[wanted] = dots(columns.codes[wanted], unit) * columns.scale[wanted]
    return meaning


def plain_dots(codes: Codes, unit: Floats) -> Floats:
    """Dot products of int8 rows with a vector, by numpy alone."""
    # Row by row and not as one matrix product: that would wake the threads of the BLAS, which
    # take all cores and then wait for each other.
    dots = np.empty(len(codes), np.float32)
    floats = np.empty((min(_BLOCK, len(codes)), codes.shape[1]), np.float32)
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        part = floats[: len(block)]
        np.copyto(part, block)
        _row_dots(part, unit, dots[start : start + len(block)])
    return dots


def fast_dots(codes: Codes, unit: Floats) -> Floats:
    """The same by simsimd, four times faster; the query is cut to int8 as the rows are."""
    import simsimd  # noqa: PLC0415 - an extra that few need

    step = float(np.abs(unit).max()) / _FULL
    query = np.rint(unit / np.float32(step)).astype(np.int8)
    if not len(codes):
        return np.empty(0, np.float32)
    # Whole numbers below 2 ** 24, which a float32 holds exactly.
    dots = np.asarray(simsimd.cdist(query[None], codes, metric="dot", out_dtype="f32"))[0]
    product: Floats = dots * np.float32(step)
    return product


def _row_dots(block: Floats, unit: Floats, out: Floats) -> None:
    vecdot: Any = getattr(np, "vecdot", None)  # since numpy 2.0
    if vecdot is None:
        np.einsum("ij,j->i", block, unit, out=out)
    else:
        vecdot(block, unit, out=out)


HAS_FAST = find_spec("simsimd") is not None
