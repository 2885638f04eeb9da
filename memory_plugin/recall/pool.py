"""Which rows are worth a closer look: all of a small memory, the likeliest of a large one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_plugin.parts import Candidates

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def top(strength: Floats, seq: NDArray[np.int64], count: int) -> Rows:
    """Where the `count` strongest stand, in no order; of equals those with the highest `seq`.

    Which are chosen hangs on the numbers alone, never on the order of the rows.
    """
    if len(strength) <= count:
        return np.arange(len(strength))
    least = np.partition(strength, len(strength) - count)[len(strength) - count]
    chosen = np.flatnonzero(strength > least)
    equal = np.flatnonzero(strength == least)
    wanted = count - len(chosen)
    if len(equal) > wanted:
        equal = equal[np.argpartition(seq[equal], len(equal) - wanted)[len(equal) - wanted :]]
    return np.concatenate((chosen, equal))


def eligible_rows(candidates: Candidates) -> Rows | None:
    """The rows that may become hits; None for all, which saves copying every column."""
    if candidates.eligible.all():
        return None
    return np.flatnonzero(candidates.eligible)
