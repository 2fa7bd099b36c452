"""A purge: an entry leaves every table, and its identity never comes back.

A tombstone says that something was here and keeps it; a purge keeps the bare name, so
that no later poll brings the entry back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection, sql

from shared.entries import (
    entry_links,
    group_membership,
    identity,
    reply_updates,
    threads,
)
from shared.postgres.fetch_rows import fetch_value
from shared.work import chore_records

# Above every version that a worker may still be writing of it.
_VERSIONS_AHEAD = 1

_HELD: LiteralString = """
    SELECT e.id, e.thread_id, e.doc_version,
           (SELECT epoch FROM installation)
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s
       AND e.external_id = %(external_id)s
       FOR UPDATE"""
_REMEMBER: LiteralString = """
    INSERT INTO purged (tenant, source, external_id, entry_id, revision, readers,
                        logbooks)
    SELECT %(tenant)s, %(source)s, %(external_id)s, e.id, e.revision,
           coalesce(coalesce(e.readers, '{*}') || e.past_readers, '{}'),
           coalesce(e.logbooks || e.past_logbooks, '{}')
      FROM (VALUES (1)) AS one (n)
      LEFT JOIN entry e ON e.tenant = %(tenant)s AND e.source = %(source)s
                       AND e.external_id = %(external_id)s
        ON CONFLICT (tenant, source, external_id) DO NOTHING"""
_FILES: LiteralString = """
    SELECT DISTINCT a.sha256, a.bytes
      FROM attachment a
     WHERE a.tenant = %(tenant)s AND a.entry_id = %(entry_id)s
       AND a.sha256 IS NOT NULL
     ORDER BY a.sha256, a.bytes
     LIMIT 10000"""
_TERMS: LiteralString = """
    SELECT t.language, tsvector_to_array(t.tsv) FROM entry_text t
     WHERE t.tenant = %(tenant)s AND t.entry_id = %(entry_id)s"""
# What it says goes too, unless another entry says the same.
_SHAPE: LiteralString = """
    WITH gone AS (
        DELETE FROM likeness
         WHERE tenant = %(tenant)s AND entry_id = %(entry_id)s
     RETURNING shape_id)
    DELETE FROM shape s
     USING gone
     WHERE s.tenant = %(tenant)s AND s.id = gone.shape_id
       AND NOT EXISTS (SELECT FROM likeness l
                        WHERE l.tenant = %(tenant)s AND l.shape_id = s.id
                          AND l.entry_id <> %(entry_id)s)"""
# What refers to the entry by its key goes with it.
_ENTRY: LiteralString = """
    DELETE FROM entry WHERE tenant = %(tenant)s AND id = %(entry_id)s"""
_ASIDE: LiteralString = """
    DELETE FROM quarantine
     WHERE tenant = %(tenant)s AND source = %(source)s
       AND external_id = %(external_id)s"""
_LISTED: LiteralString = """
    DELETE FROM source_listing l
     USING ingestion_run r
     WHERE r.id = l.run_id AND r.tenant = %(tenant)s AND r.source = %(source)s
       AND l.external_id = %(external_id)s"""
# A finished search names entries, and its generated answer may quote them. So may
# every turn of an agent whose calls have found one, also while it runs.
_NAMED: LiteralString = """
    SELECT j.id FROM job j
     WHERE j.tenant = %(tenant)s
       AND (strpos(concat_ws(' ', j.request, j.plan, j.branches, j.ranked, j.error),
                   %(id_text)s) > 0
            OR strpos(concat_ws(' ', j.request, j.plan, j.branches, j.ranked, j.error),
                      %(doc_key)s) > 0)
     UNION
    SELECT t.job_id FROM agent_turn t
     WHERE t.tenant = %(tenant)s
       AND (strpos(concat_ws(' ', t.model_out, t.calls, t.outcomes), %(id_text)s) > 0
            OR strpos(concat_ws(' ', t.model_out, t.calls, t.outcomes),
                      %(doc_key)s) > 0)"""
_JOBS: LiteralString = """
    DELETE FROM job WHERE tenant = %(tenant)s AND id = ANY (%(jobs)s)"""
_TURNS: LiteralString = """
    DELETE FROM agent_turn WHERE tenant = %(tenant)s AND job_id = ANY (%(jobs)s)"""
_ANSWERS: LiteralString = """
    DELETE FROM idempotency i
     WHERE i.tenant = %(tenant)s
       AND (strpos(i.answer::text, %(id_text)s) > 0
            OR strpos(i.answer::text, %(doc_key)s) > 0)"""

_COUNT_ENTRY: LiteralString = """
    SELECT count(*) FROM entry
     WHERE tenant = %(tenant)s
       AND (id = %(entry_id)s
            OR (source = %(source)s AND external_id = %(external_id)s))"""
_COUNT_ASIDE: LiteralString = """
    SELECT count(*) FROM quarantine
     WHERE tenant = %(tenant)s AND (entry_id = %(entry_id)s
            OR (source = %(source)s AND external_id = %(external_id)s))"""
_COUNT_LISTED: LiteralString = """
    SELECT count(*)
      FROM source_listing l
      JOIN ingestion_run r ON r.id = l.run_id
     WHERE r.tenant = %(tenant)s AND r.source = %(source)s
       AND l.external_id = %(external_id)s"""
_COUNT_JOBS: LiteralString = (
    "SELECT count(*) FROM job WHERE tenant = %(tenant)s AND id IN (" + _NAMED + ")"
)
_COUNT_TURNS: LiteralString = (
    "SELECT count(*) FROM agent_turn"
    " WHERE tenant = %(tenant)s AND job_id IN (" + _NAMED + ")"
)
_COUNT_ANSWERS: LiteralString = """
    SELECT count(*) FROM idempotency i
     WHERE i.tenant = %(tenant)s
       AND (strpos(i.answer::text, %(id_text)s) > 0
            OR strpos(i.answer::text, %(doc_key)s) > 0)"""
_COUNTS: dict[str, LiteralString] = {
    "entry": _COUNT_ENTRY,
    "quarantine": _COUNT_ASIDE,
    "source_listing": _COUNT_LISTED,
    "job": _COUNT_JOBS,
    "agent_turn": _COUNT_TURNS,
    "idempotency": _COUNT_ANSWERS,
}
# Vectors have a table for each model; whatever else is added later is found, too.
_TABLES: LiteralString = """
    SELECT c.table_name
      FROM information_schema.columns c
      JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = current_schema() AND c.column_name = 'entry_id'
       AND t.table_type = 'BASE TABLE'
       AND c.table_name NOT IN ('quarantine', 'purged')
     ORDER BY c.table_name
     LIMIT 1000"""
_COUNT_IN_TABLE: LiteralString = """
    SELECT count(*) FROM {table} WHERE entry_id = %(entry_id)s"""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge removes from Postgres, and what is left to remove elsewhere."""

    entry_id: UUID | None
    counts: Mapping[str, int]
    # By hash and size; another entry may have the same file.
    files: tuple[tuple[bytes, int], ...]
    # Above the version of every index write that is still on its way.
    version: int
    epoch: int
    # What it was found by, and in which language: to go from the vocabulary as well.
    language: str = ""
    terms: tuple[str, ...] = ()
    # Searches that named it, of which Redis may keep what was told.
    jobs: tuple[UUID, ...] = ()


def purge(
    conn: Connection,
    tenant: str,
    source: str,
    external_id: str,
    *,
    stages: Sequence[str] = (),
) -> Purged:
    """Remove an entry from every table and keep its identity out, for ever.

    `stages` are those that take what was derived of it from its replies, too.
    """
    entry_links.lock(conn, tenant, source)
    name = {"tenant": tenant, "source": source, "external_id": external_id}
    row = conn.execute(_HELD, name).fetchone()
    entry_id, thread_id, version, epoch = row or (None, None, 0, 0)
    values = _values(tenant, source, external_id, entry_id)
    counts = count_traces(conn, tenant, source, external_id, entry_id)
    files = conn.execute(_FILES, values).fetchall()
    language, terms = conn.execute(_TERMS, values).fetchone() or ("", [])
    conn.execute(_REMEMBER, values)
    # Nobody else may come to say the same meanwhile.
    group_membership.lock(conn, tenant)
    named = [row[0] for row in conn.execute(_NAMED, values)]
    values["jobs"] = named
    if thread_id is not None:
        # It may have been what held the thread together, and what it is named after.
        threads.join(conn, tenant, source, (), [thread_id], without=entry_id)
        # What replied to it neither shows it nor is found by its words any more.
        answers = reply_updates.to(conn, tenant, [entry_id])
        reply_updates.tell_anew(conn, tenant, answers)
        reply_updates.add_work_of_gone(conn, tenant, [entry_id], stages)
    for statement in (_SHAPE, _ENTRY, _ASIDE, _LISTED, _JOBS, _TURNS, _ANSWERS):
        conn.execute(statement, values)
    # Words of older revisions leave the vocabulary, too, so all words are recounted.
    chore_records.start_over(conn, chore_records.COUNT_WORDS)
    return Purged(
        entry_id,
        counts,
        tuple((bytes(sha256), int(size or 0)) for sha256, size in files),
        version + _VERSIONS_AHEAD,
        epoch,
        language,
        tuple(terms),
        tuple(named),
    )


def count_traces(
    conn: Connection, tenant: str, source: str, external_id: str, entry_id: UUID | None
) -> dict[str, int]:
    """Return how many rows of each table are of an entry, or name it."""
    values = _values(tenant, source, external_id, entry_id)
    counts = {name: fetch_value(conn, one, values) for name, one in _COUNTS.items()}
    for (table,) in conn.execute(_TABLES).fetchall():
        query = sql.SQL(_COUNT_IN_TABLE).format(table=sql.Identifier(table))
        counts[table] = fetch_value(conn, query, values)
    return {name: int(count or 0) for name, count in counts.items()}


def _values(
    tenant: str, source: str, external_id: str, entry_id: UUID | None
) -> dict[str, Any]:
    doc_key = identity.doc_key(tenant, source, external_id)
    return {
        "tenant": tenant,
        "source": source,
        "external_id": external_id,
        "entry_id": entry_id,
        # What no text holds, where there is no entry.
        "id_text": str(entry_id or "no entry"),
        "doc_key": json.dumps(doc_key, ensure_ascii=False)[1:-1],
    }
