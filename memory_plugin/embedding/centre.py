"""What all questions have in common, as a vector.

Short empty turns are near to every question, because every question is near to the mean of all
questions. Taking that mean out of a query's vector leaves what it asks about.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from memory_plugin.parts import Embedder, Vectors


def generic_questions() -> list[str]:
    """A few hundred ordinary questions about anything, written for this purpose."""
    text = files("memory_plugin.embedding").joinpath("questions.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line]


async def question_centre(embedder: Embedder) -> Vectors:
    """The mean query vector of the generic questions, shape (dim,); its length is below 1."""
    rows = await embedder.embed(generic_questions(), "query")
    centre: Vectors = rows.mean(axis=0, dtype=np.float32)
    return centre
