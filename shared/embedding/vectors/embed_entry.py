"""The embed stage: the chunks of one entry as vectors, or none of a blank one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from psycopg import Connection

from shared.embedding.models.encoder_contract import Encoder, Vectors
from shared.embedding.vectors import chunk_prefix, input_digests, vectors
from shared.embedding.vectors.chunk_prefix import Heading
from shared.embedding.vectors.chunks import Chunk, cut, most_chunks
from shared.embedding.vectors.vectors import EntryVectors
from shared.entries.reading.read_entries import Content


@dataclass(frozen=True, slots=True)
class Embedded:
    """The chunks of one revision and their vectors."""

    chunks: list[Chunk]
    vectors: Vectors
    # What follows the last chunk is in none.
    is_cut: bool = False
    # A mark of what they are of; the vectors of the same are there, and stay.
    read: bytes | None = None
    is_known: bool = False


def nothing(encoder: Encoder) -> Embedded:
    """Return no vectors at all."""
    return Embedded([], np.empty((0, encoder.dimension), dtype=np.float32))


def embed(
    content: Content, encoder: Encoder, answered: str = "", known: bytes | None = None
) -> Embedded:
    """Return the vectors of an entry's title and text; slow, and touches no table.

    Each chunk says what the entry is about: its title, which the first one begins with
    anyhow, or where that says nothing, the title of what it has `answered`; one that
    goes on with a table repeats its header. What reads the same as what is `known` is
    not encoded again.
    """
    title = f"{content.title}\n" if content.title.strip() else ""
    text = title + content.text
    first, later = _headings(content, encoder, answered)
    taken = first.pieces, later.pieces
    chunks = [] if content.deleted else cut(text, encoder, taken=taken)
    if not chunks:
        return nothing(encoder)
    read = [
        (later if chunk.number else first).text + chunk.header + chunk.text
        for chunk in chunks
    ]
    is_cut = len(chunks) == most_chunks(encoder) and chunks[-1].end < len(text)
    placed = [_in_text(chunk, len(title)) for chunk in chunks]
    mark = input_digests.digest(placed, read)
    if mark == known:
        return replace(nothing(encoder), is_cut=is_cut, read=mark, is_known=True)
    return Embedded(placed, encoder.encode(read), is_cut, mark)


def store_all(
    conn: Connection, table: str, tenant: str, found: Iterable[tuple[Content, Embedded]]
) -> set[UUID]:
    """Replace vectors of a facility's entries, and return whose; idempotent."""
    made = [
        EntryVectors(
            content.entry_id,
            content.revision,
            embedded.chunks,
            embedded.vectors,
            embedded.is_known,
        )
        for content, embedded in found
    ]
    return vectors.store_all(conn, table, tenant, made)


def _headings(
    content: Content, encoder: Encoder, answered: str
) -> tuple[Heading, Heading]:
    """Return the heading of the first chunk, and that of all later chunks."""
    if chunk_prefix.is_telling(content.title):
        return Heading(), chunk_prefix.made(content.title, encoder)
    context = chunk_prefix.made(answered, encoder)
    return context, context


def _in_text(chunk: Chunk, shift: int) -> Chunk:
    """Return the chunk by its place in the text alone, without the title before it."""
    start, end = max(0, chunk.start - shift), max(0, chunk.end - shift)
    return replace(chunk, start=start, end=end)
