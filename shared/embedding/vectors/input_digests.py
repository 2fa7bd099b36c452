"""What vectors were made of, by a digest: what reads the same is not made again."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import Connection, sql

from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.chunks import Chunk
from shared.entries.reading.read_entries import Content

# Raised, as `embed_stage.VERSION` is, where the same is to have other vectors: all are
# made anew then.
READ_BY = 2
# Only of vectors that are there, and of the revision that they were made of.
_KNOWN: LiteralString = """
    SELECT i.entry_id, i.digest
      FROM embedding_input i
      JOIN {table} v ON v.entry_id = i.entry_id AND v.chunk = 0
                    AND v.revision = i.revision AND v.tenant = i.tenant
     WHERE i.tenant = %(tenant)s AND i.entry_id = ANY(%(entry_ids)s)
       AND i.model = %(model)s"""
_NOTE: LiteralString = """
    INSERT INTO embedding_input (tenant, entry_id, model, revision, digest)
    SELECT %(tenant)s, i.entry_id, %(model)s, i.revision, i.digest
      FROM unnest(%(entry_ids)s::uuid[], %(revisions)s::int[], %(digests)s::bytea[])
           AS i (entry_id, revision, digest)
     ORDER BY i.entry_id
        ON CONFLICT (entry_id, model) DO UPDATE
       SET revision = excluded.revision, digest = excluded.digest"""
_FORGET: LiteralString = """
    DELETE FROM embedding_input
     WHERE entry_id = ANY(%(entry_ids)s) AND model = %(model)s
       AND tenant = %(tenant)s"""


def digest(chunks: Sequence[Chunk], read: Sequence[str]) -> bytes:
    """Return a mark of what an encoder is given, and of where each part stands."""
    made = hashlib.blake2b(f"{READ_BY}".encode(), digest_size=16)
    for chunk, text in zip(chunks, read, strict=True):
        written = text.encode()
        made.update(f"\n{chunk.start} {chunk.end} {len(written)}\n".encode())
        made.update(written)
    return made.digest()


def load_digests(
    conn: Connection, model: str, tenant: str, entry_ids: Sequence[UUID]
) -> dict[UUID, bytes]:
    """Return the marks of what entries' vectors are of; of those that have any."""
    held = vector_tables.find_model(conn, model)
    if held is None:
        return {}
    statement = sql.SQL(_KNOWN).format(table=sql.Identifier(held.table_name))
    given = {"tenant": tenant, "entry_ids": list(entry_ids), "model": model}
    # Planned each time: a plan made while the tables were small would read all of them.
    rows = conn.execute(statement, given, prepare=False).fetchall()
    return {entry_id: bytes(mark) for entry_id, mark in rows}


def store_digests(
    conn: Connection,
    model: str,
    tenant: str,
    stored: Iterable[tuple[Content, bytes | None]],
) -> None:
    """Keep what the vectors are of, of entries whose rows are locked; idempotent."""
    in_order = sorted(stored, key=lambda one: one[0].entry_id)
    named = {"tenant": tenant, "model": model}
    made = [one for one in in_order if one[1] is not None]
    if made:
        given = {
            "entry_ids": [content.entry_id for content, _ in made],
            "revisions": [content.revision for content, _ in made],
            "digests": [mark for _, mark in made],
        }
        conn.execute(_NOTE, {**named, **given})
    without = [content.entry_id for content, mark in in_order if mark is None]
    if without:
        conn.execute(_FORGET, {**named, "entry_ids": without})
