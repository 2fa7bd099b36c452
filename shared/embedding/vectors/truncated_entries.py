"""Whose vectors cover the beginning of its text alone: there is too much of it."""

from collections.abc import Iterable
from typing import LiteralString

from psycopg import Connection

from shared.entries.reading.read_entries import Content

_FORGET: LiteralString = """
    DELETE FROM embedding_cut
     WHERE entry_id = ANY(%(entry_ids)s) AND model = %(model)s
       AND tenant = %(tenant)s"""
_NOTE: LiteralString = """
    INSERT INTO embedding_cut (tenant, entry_id, model, revision)
    SELECT %(tenant)s, c.entry_id, %(model)s, c.revision
      FROM unnest(%(entry_ids)s::uuid[], %(revisions)s::int[])
           AS c (entry_id, revision)
     ORDER BY c.entry_id"""


def store_truncated(
    conn: Connection, model: str, tenant: str, stored: Iterable[tuple[Content, bool]]
) -> None:
    """Keep whose vectors are cut, of entries whose rows are locked; idempotent."""
    in_order = sorted(stored, key=lambda one: one[0].entry_id)
    named = {"tenant": tenant, "model": model}
    ids = [content.entry_id for content, _ in in_order]
    if ids:
        conn.execute(_FORGET, {**named, "entry_ids": ids})
    cut = [content for content, is_cut in in_order if is_cut]
    if cut:
        entry_ids = [content.entry_id for content in cut]
        revisions = [content.revision for content in cut]
        conn.execute(_NOTE, {**named, "entry_ids": entry_ids, "revisions": revisions})
