"""The embed stage: the chunks of one entry as vectors, or none of a blank one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.embedding import vectors
from shared.embedding.chunks import MAX_CHUNKS, Chunk, cut
from shared.embedding.encoders import Encoder, Vectors
from shared.embedding.vectors import Made
from shared.entries.reading import Content


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an encoder made of one revision."""

    chunks: list[Chunk]
    vectors: Vectors
    # What follows the last chunk is in none.
    is_cut: bool = False


def nothing(encoder: Encoder) -> Embedded:
    """Return no vectors at all."""
    return Embedded([], np.empty((0, encoder.dimension), dtype=np.float32))


def embed(content: Content, encoder: Encoder) -> Embedded:
    """Return the vectors of an entry's title and text; slow, and touches no table."""
    title = f"{content.title}\n" if content.title.strip() else ""
    text = title + content.text
    chunks = [] if content.deleted else cut(text, encoder)
    if not chunks:
        return nothing(encoder)
    found = encoder.encode([chunk.text for chunk in chunks])
    is_cut = len(chunks) == MAX_CHUNKS and chunks[-1].end < len(text)
    placed = [_in_text(chunk, len(title)) for chunk in chunks]
    return Embedded(placed, found, is_cut)


def store(
    conn: Connection[TupleRow], table: str, content: Content, found: Embedded
) -> None:
    """Replace the entry's vectors, unless it has moved on; idempotent."""
    store_all(conn, table, content.tenant, [(content, found)])


def store_all(
    conn: Connection[TupleRow],
    table: str,
    tenant: str,
    found: Iterable[tuple[Content, Embedded]],
) -> set[UUID]:
    """Replace vectors of a facility's entries, and return whose; idempotent."""
    made = [
        Made(content.entry_id, content.revision, embedded.chunks, embedded.vectors)
        for content, embedded in found
    ]
    return vectors.store_all(conn, table, tenant, made)


def _in_text(chunk: Chunk, shift: int) -> Chunk:
    """Return the chunk by its place in the text alone, without the title before it."""
    start, end = max(0, chunk.start - shift), max(0, chunk.end - shift)
    return Chunk(chunk.number, start, end, chunk.text)
