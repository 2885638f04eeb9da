"""How near the vectors of rows are to the vector of a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_plugin.sqlite.columns import Columns

# So many rows as floats fit the cache of a core together with the query.
_BLOCK = 1_024


def cosines(
    columns: Columns, query: NDArray[np.float32], wanted: NDArray[np.int64] | None
) -> NDArray[np.float32]:
    """The cosine of every row with `query`, NaN where a row has no vector or is not wanted."""
    unit = query / np.sqrt(np.square(query, dtype=np.float64).sum())
    unit = unit.astype(np.float32)
    if wanted is None:
        return _dots(columns.codes, unit) * columns.scale
    meaning = np.full(len(columns), np.nan, np.float32)
    meaning[wanted] = _dots(columns.codes[wanted], unit) * columns.scale[wanted]
    return meaning


def _dots(codes: NDArray[np.int8], unit: NDArray[np.float32]) -> NDArray[np.float32]:
    # Row by row and not as one matrix product: that would wake the threads of the BLAS, which
    # take both cores and then wait for each other.
    dots = np.empty(len(codes), np.float32)
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK].astype(np.float32)
        dots[start : start + len(block)] = np.einsum("ij,j->i", block, unit)
    return dots
