"""How near rows are to a query in meaning, in terms that are alike for every query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# Cosines that differ by less than this tell nothing apart.
_SAME = 1e-4
_MANY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Cosines, with their mean and spread over the eligible rows that have one.

    `spread` is 0 where no row stands out, or none has a vector. `best` is the highest cosine of
    an eligible row, None where none has a vector.
    """

    cosines: Floats
    mean: np.float32
    spread: np.float32
    best: float | None

    def at(self, rows: Rows | slice) -> Floats:
        """How many spreads above the mean the rows are; 0 where nothing is known."""
        if not self.spread:
            return np.zeros(len(self.cosines[rows]), np.float32)
        scaled: Floats = self.cosines[rows] - self.mean
        scaled *= np.float32(1 / self.spread)
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def measure_meaning(candidates: Candidates, eligible: Rows | slice) -> Meaning:
    """Mean, spread and best over the eligible rows."""
    cosines: NDArray[np.floating[Any]] = candidates.meaning[eligible]
    # In float64 the order of the rows makes no difference that could be seen; of very many rows
    # the copy would cost more than all the rest.
    wide = cosines.astype(np.float64) if len(cosines) <= _MANY else cosines
    mean = float(wide.mean()) if len(wide) else math.nan
    if math.isnan(mean):
        wide = wide[~np.isnan(wide)]
        if not len(wide):
            none = np.float32(0)
            return Meaning(cosines=candidates.meaning, mean=none, spread=none, best=None)
        mean = float(wide.mean())
    spread = math.sqrt(max(0.0, float(np.dot(wide, wide)) / len(wide) - mean * mean))
    return Meaning(
        cosines=candidates.meaning,
        mean=np.float32(mean),
        spread=np.float32(spread if spread > _SAME else 0),
        best=float(wide.max()),
    )
