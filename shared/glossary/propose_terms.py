"""Terms that entries explain themselves, proposed with the entries that do so.

Read behind everything, as a chore: who writes an entry never waits for it, and what is
proposed is nothing that a search needs. Each facility's entries are read once, in the
order of their changes, and again when they are edited.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.glossary import glossary_terms
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import Pool, connection
from shared.text import plain_text
from shared.text.reading import abbreviations
from shared.work.chore_records import Effect, Progress

# A step holds so many texts, each to there.
STEP_ENTRIES, _MOST_CHARS = 500, 20_000
# How many entries are kept as evidence of one form.
MOST_EVIDENCE = 1000

_NEXT: LiteralString = """
    SELECT tenant FROM entry
     WHERE tenant > %(tenant)s
     ORDER BY tenant
     LIMIT 1"""
# A backup that is restored counts its transactions anew.
_PLACE: LiteralString = """
    SELECT i.epoch, coalesce(r.xid::text, '0'),
           coalesce(r.entry_id, '00000000-0000-0000-0000-000000000000')
      FROM installation i
      LEFT JOIN glossary_read r ON r.tenant = %(tenant)s AND r.epoch = i.epoch"""
_PAGE: LiteralString = """
    WITH page AS MATERIALIZED (
        SELECT e.changed_xid, e.id, e.revision, e.deleted_at
          FROM entry e
         WHERE e.tenant = %(tenant)s
           AND (e.changed_xid, e.id) > (%(xid)s::text::xid8, %(entry_id)s::uuid)
           AND e.changed_xid < pg_snapshot_xmin(pg_current_snapshot())
         ORDER BY e.changed_xid, e.id
         LIMIT %(limit)s)
    SELECT p.changed_xid::text AS xid, p.id AS entry_id, p.revision,
           coalesce(r.text_format, '') AS text_format,
           CASE WHEN p.deleted_at IS NULL AND r.text ~ '\\('
                THEN left(r.text, %(chars)s) ELSE '' END AS text
      FROM page p
      LEFT JOIN revision r ON r.entry_id = p.id AND r.number = p.revision
     ORDER BY p.changed_xid, p.id
     LIMIT %(limit)s"""
_FORGET: LiteralString = """
    DELETE FROM glossary_evidence
     WHERE tenant = %(tenant)s AND entry_id = ANY(%(ids)s::uuid[])"""
_PROPOSE: LiteralString = """
    INSERT INTO glossary_form (tenant, term_key, form_key, term, form, by_hand)
    SELECT DISTINCT ON (f.term_key, f.form_key)
           %(tenant)s, f.term_key, f.form_key, f.term, f.form, false
      FROM jsonb_to_recordset(%(found)s::jsonb)
           AS f (term_key text, form_key text, term text, form text)
     WHERE (SELECT count(*) FROM (SELECT FROM glossary_form
                                   WHERE tenant = %(tenant)s
                                   LIMIT %(most)s) AS part) < %(most)s
     ORDER BY f.term_key, f.form_key
        ON CONFLICT (tenant, term_key, form_key) DO NOTHING"""
_KEEP: LiteralString = """
    INSERT INTO glossary_evidence
           (tenant, term_key, form_key, entry_id, revision, place)
    SELECT %(tenant)s, g.term_key, g.form_key, e.id, f.revision, min(f.place)
      FROM jsonb_to_recordset(%(found)s::jsonb)
           AS f (term_key text, form_key text, entry_id uuid, revision int, place int)
      JOIN glossary_form g ON g.tenant = %(tenant)s AND g.term_key = f.term_key
       AND g.form_key = f.form_key
      JOIN entry e ON e.id = f.entry_id AND e.tenant = %(tenant)s
     WHERE (SELECT count(*) FROM (
                SELECT FROM glossary_evidence v
                 WHERE v.tenant = %(tenant)s AND v.term_key = g.term_key
                   AND v.form_key = g.form_key
                 LIMIT %(enough)s) AS part) < %(enough)s
     GROUP BY g.term_key, g.form_key, e.id, f.revision
     ORDER BY g.term_key, g.form_key, e.id
        ON CONFLICT DO NOTHING"""
_REACHED: LiteralString = """
    INSERT INTO glossary_read (tenant, epoch, xid, entry_id)
    VALUES (%(tenant)s, %(epoch)s, %(xid)s::text::xid8, %(entry_id)s)
        ON CONFLICT (tenant) DO UPDATE
       SET epoch = excluded.epoch, xid = excluded.xid, entry_id = excluded.entry_id"""
# What only entries said that say it no more, or are gone.
_TIDY: LiteralString = """
    DELETE FROM glossary_form g
     WHERE g.tenant = %(tenant)s AND NOT g.by_hand AND g.state <> 'approved'
       AND NOT EXISTS (SELECT FROM glossary_evidence v
                        WHERE v.tenant = %(tenant)s AND v.term_key = g.term_key
                          AND v.form_key = g.form_key)"""


@dataclass(frozen=True, slots=True)
class _ProposalRow:
    xid: str
    entry_id: UUID
    revision: int
    text_format: str
    text: str


def prepare(pool: Pool, cursor: Mapping[str, Any] | None, done: int) -> Effect:
    """Read a page of a facility's entries; return the commit of terms they explain."""
    given = cursor or {"tenant": "", "goes_on": False}
    tenant = given["tenant"]
    with connection(pool) as conn:
        if not given["goes_on"]:
            row = conn.execute(_NEXT, {"tenant": tenant}).fetchone()
            if row is None:
                return lambda _: Progress(None, done, total=done)
            tenant = row[0]
        place = conn.execute(_PLACE, {"tenant": tenant}).fetchone()
        assert place is not None
        epoch, xid, entry_id = place
        values = {
            "tenant": tenant,
            "xid": xid,
            "entry_id": entry_id,
            "limit": STEP_ENTRIES,
            "chars": _MOST_CHARS,
        }
        page = fetch_all(conn, _ProposalRow, _PAGE, values)
    found = [one for row in page for one in _explained(row)]

    def commit(conn: Connection) -> Progress:
        if page:
            _keep(conn, tenant, page, found)
            last = {"xid": page[-1].xid, "entry_id": page[-1].entry_id}
            conn.execute(_REACHED, {"tenant": tenant, "epoch": epoch, **last})
        goes_on = len(page) == STEP_ENTRIES
        if not goes_on:
            conn.execute(_TIDY, {"tenant": tenant})
        return Progress({"tenant": tenant, "goes_on": goes_on}, done + len(page))

    return commit


def _explained(row: _ProposalRow) -> list[dict[str, Any]]:
    text = plain_text.to_plain(row.text, row.text_format)
    return [
        {
            "term_key": glossary_terms.key_of(one.term),
            "form_key": glossary_terms.key_of(one.form),
            "term": one.term,
            "form": one.form,
            "entry_id": str(row.entry_id),
            "revision": row.revision,
            # As it is quoted: of the text as it was written.
            "place": max(0, row.text.find(f"({one.term}") - len(one.form)),
        }
        for one in abbreviations.find(text)
    ]


def _keep(
    conn: Connection, tenant: str, page: list[_ProposalRow], found: list[dict[str, Any]]
) -> None:
    ids = sorted(row.entry_id for row in page)
    conn.execute(_FORGET, {"tenant": tenant, "ids": ids})
    if not found:
        return
    values = {
        "tenant": tenant,
        "found": json.dumps(found),
        "most": glossary_terms.MOST_FORMS,
        "enough": MOST_EVIDENCE,
    }
    conn.execute(_PROPOSE, values)
    conn.execute(_KEEP, values)
