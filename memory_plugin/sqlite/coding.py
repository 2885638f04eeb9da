"""Vectors of events as bytes: one int8 for each dimension, and the length to divide by.

Bytes instead of floats cost a tenth of a point of recall and a quarter of the space.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory_plugin.errors import EmbedderError
from memory_plugin.parts import Unembedded, Vectors
from memory_plugin.sqlite.interned import Writing

# The float32 in front of the codes.
SCALE_BYTES = 4
_IN_USE = """
    select model.number, model.name, model.dim
    from meta
    join model on model.number = meta.model
    """
_FIND_MODEL = "select number, dim from model where name = ?"
_MAKE_MODEL = "insert into model (name, dim) values (?, ?)"
_USE_MODEL = "update meta set model = ?"
_QUEUE_ALL = """
    insert or ignore into unembedded (seq)
    select seq
    from event
    where seq not in (select seq from vector where model = ?)
    """
_UNQUEUE_ALL = "delete from unembedded where seq in (select seq from vector where model = ?)"
_BACKLOG = "select count(*) from unembedded"
_WAITING = """
    select e.seq, e.edits, entity.name, e.content, e.narrative_text
    from unembedded u
    join event e on e.seq = u.seq
    join entity on entity.number = e.entity
    order by u.seq desc
    limit ?
    """
_CURRENT = "select 1 from event where seq = ? and edits = ?"
_PUT = "insert or replace into vector (seq, revision, model, code) values (?, ?, ?, ?)"
_DONE = "delete from unembedded where seq = ?"
_PUT_CENTRE = """
    insert into model (name, dim, centre) values (?, ?, ?)
    on conflict (name) do update set centre = excluded.centre
    """


def checked(vectors: Sequence[tuple[Unembedded, Vectors]], dim: int) -> NDArray[np.float32]:
    """The vectors as one matrix; raises `EmbedderError` for one that cannot be used."""
    matrix = np.empty((len(vectors), dim), np.float32)
    for row, (job, vector) in enumerate(vectors):
        matrix[row] = checked_vector(vector, dim, f"of event number {job.seq}")
    return matrix


def checked_vector(vector: Vectors, dim: int, whose: str) -> Vectors:
    """A vector with shape (dim,), finite and not zero; raises `EmbedderError` for another."""
    given = np.asarray(vector, np.float32)
    if given.shape != (dim,):
        raise EmbedderError(f"the vector {whose} has shape {given.shape}, the model says ({dim},)")
    if not np.isfinite(given).all():
        raise EmbedderError(f"the vector {whose} holds NaN or infinity")
    if not given.any():
        raise EmbedderError(f"the vector {whose} is zero")
    return given


def codes_of(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Int8 codes of every row, and the factors that give a row of codes length 1."""
    # In two steps: the largest of a tiny vector can be too small to divide 127 by it.
    wide = matrix.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    codes = np.rint(wide / largest * 127).astype(np.int8)
    lengths = np.sqrt(np.square(codes.astype(np.float32)).sum(axis=1))
    return codes, (1 / lengths).astype(np.float32)


def unpacked(blobs: Sequence[bytes], dim: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Codes, shape (len(blobs), dim), and their factors, as `add` wrote them."""
    raw = np.frombuffer(b"".join(blobs), np.uint8).reshape(len(blobs), SCALE_BYTES + dim)
    scale = np.ascontiguousarray(raw[:, :SCALE_BYTES]).view("<f4")[:, 0]
    return raw[:, SCALE_BYTES:].view(np.int8), scale.astype(np.float32)


def model_in_use(connection: sqlite3.Connection) -> tuple[int, str, int] | None:
    """Number, name and dimension of the model whose vectors count."""
    row: tuple[int, str, int] | None = connection.execute(_IN_USE).fetchone()
    return row


def use_model(writing: Writing, name: str, dim: int) -> int:
    """Make a model the one whose vectors count; see `SearchStore.use_model`."""
    connection = writing.connection
    row = connection.execute(_FIND_MODEL, (name,)).fetchone()
    if row is not None and row[1] != dim:
        raise EmbedderError(f"the model {name} had {row[1]} dimensions before and has {dim} now")
    number = connection.execute(_MAKE_MODEL, (name, dim)).lastrowid if row is None else row[0]
    current = model_in_use(connection)
    if current is None or current[0] != number:
        writing.revision()
        connection.execute(_USE_MODEL, (number,))
        connection.execute(_UNQUEUE_ALL, (number,))
        connection.execute(_QUEUE_ALL, (number,))
    return backlog(connection)


def backlog(connection: sqlite3.Connection) -> int:
    """How many events await a vector."""
    count: int = connection.execute(_BACKLOG).fetchone()[0]
    return count


def text_to_embed(name: str, content: str, narrative_text: str | None) -> str:
    """What is embedded of an event: the speaker and what was said, or else its prose form."""
    return f"{name}: {content if content.strip() else narrative_text or ''}"


def waiting(connection: sqlite3.Connection, limit: int) -> list[Unembedded]:
    """Events that await a vector, newest first."""
    return [
        Unembedded(seq=seq, version=edits, text=text_to_embed(name, content, narrative_text))
        for seq, edits, name, content, narrative_text in connection.execute(_WAITING, (limit,))
    ]


def add(
    writing: Writing,
    model: str,
    jobs: Sequence[Unembedded],
    codes: NDArray[np.int8],
    scale: NDArray[np.float32],
) -> int:
    """Store codes of those events whose text is still the one that was embedded."""
    connection = writing.connection
    current = model_in_use(connection)
    if current is None or current[1] != model:
        raise EmbedderError(f"another process has made {current and current[1]} the model in use")
    stored = 0
    # Oldest first, though the newest are embedded first: rows that are inserted in falling order
    # leave half of every page empty.
    for row, job in sorted(enumerate(jobs), key=lambda one: one[1].seq):
        if connection.execute(_CURRENT, (job.seq, job.version)).fetchone() is None:
            continue
        blob = scale[row].astype("<f4").tobytes() + codes[row].tobytes()
        connection.execute(_PUT, (job.seq, writing.revision(), current[0], blob))
        connection.execute(_DONE, (job.seq,))
        stored += 1
    return stored


def load_centre(connection: sqlite3.Connection, model: str) -> Vectors | None:
    """The mean question vector of a model, or None."""
    row = connection.execute("select centre from model where name = ?", (model,)).fetchone()
    if row is None or row[0] is None:
        return None
    return np.frombuffer(row[0], "<f4").astype(np.float32)


def save_centre(writing: Writing, model: str, centre: Vectors) -> None:
    """Keep the mean question vector of a model."""
    blob = np.asarray(centre, "<f4").tobytes()
    writing.connection.execute(_PUT_CENTRE, (model, len(centre), blob))
