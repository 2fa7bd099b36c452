"""Keyword search in Postgres, over the stream that the analyser made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import class_row

from shared.broker import METADATA_STAGE
from shared.entries.narrowing import NARROWED
from shared.jobs.outcome import Diagnostic
from shared.postgres import connection
from shared.retrieval import columns, guards
from shared.retrieval.columns import Columns
from shared.retrieval.guards import Guarded
from shared.retrieval.module import Ask, Found, SearchToolDescriptor, Tools

# Ranking costs with every match: of a common word only the newest are ranked.
RANKED_MATCHES = 2000
_BY_LENGTH = 1


@dataclass(frozen=True, slots=True)
class Match(Columns):
    """An entry that matches, with its rank."""

    score: float


_SEARCH: LiteralString = (
    """
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, t.tsv, q.query::tsquery AS query
          FROM jsonb_to_recordset(%(queries)s::jsonb)
               AS q (languages text[], query text)
          JOIN entry_text t
            ON t.tsv @@ q.query::tsquery
           AND (t.language = ANY (q.languages)
                OR '*' = ANY (q.languages) AND t.language <> ALL (%(stemmed)s))
          JOIN entry e ON e.id = t.entry_id
         WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
           AND e.deleted_at IS NULL
           AND (%(logbooks)s::text[] IS NULL OR e.logbooks && %(logbooks)s)
           AND (e.readers IS NULL OR e.readers && %(principals)s)
           AND (e.visible_from IS NULL OR e.visible_from <= now())"""  # noqa: S608
    + NARROWED
    + """
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(ranked)s)
    SELECT id, source, external_id, revision, kind, origin, entry_time,
           ts_rank(tsv, query, %(by_length)s)::float8 AS score
      FROM matched
     ORDER BY score DESC, kind, source, external_id
     LIMIT %(limit)s"""
)


def search(ask: Ask, tools: Tools) -> Found:
    """Return what matches every word; if nothing does, what matches any, and say so."""
    question = guards.compile_query(
        ask.plan.searched, tools.facility, max_terms=ask.plan.max_terms
    )
    if question.terms.is_empty:
        return Found(skipped="empty_query")
    notes = list(dropped_terms(question, "pg_fts"))
    as_of = tools.freshness.of(tools.pool, METADATA_STAGE)
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms)
        rows = _matches(conn, ask, question, relaxed=False)
        if not rows and question.can_relax:
            rows = _matches(conn, ask, question, relaxed=True)
            if rows:
                notes.append(relaxed_note("pg_fts"))
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, row.score) for row in rows)
    return Found(hits, as_of, tuple(notes), exact=question.is_exact)


def _matches(
    conn: Connection[Any], ask: Ask, question: Guarded, *, relaxed: bool
) -> list[Match]:
    given = {
        **columns.params(ask.plan, question),
        "queries": question.tsqueries(relaxed=relaxed),
        "ranked": RANKED_MATCHES,
        "by_length": _BY_LENGTH,
        "limit": ask.limit,
    }
    with conn.cursor(row_factory=class_row(Match)) as cur:
        return cur.execute(_SEARCH, given).fetchall()


def relaxed_note(module: str) -> Diagnostic:
    """Say that no entry has all the words, and that any of them was enough."""
    return Diagnostic(
        level="info",
        source=f"retrieve.{module}",
        code="relaxed_to_any_term",
        message="No entry has all the words; these have some of them.",
        category="query",
    )


def dropped_terms(question: Guarded, module: str) -> tuple[Diagnostic, ...]:
    """Say that words were left out because there were too many."""
    if not question.terms.dropped:
        return ()
    note = Diagnostic(
        level="warning",
        source=f"retrieve.{module}",
        code="terms_dropped",
        message=f"{question.terms.dropped} words beyond the limit were left out.",
        category="query",
    )
    return (note,)


_DESCRIPTOR = SearchToolDescriptor(
    name="pg_fts",
    description="Words, phrases and names, found by Postgres.",
    search_mode="keyword",
    execute=search,
    unit="ts_rank",
)


def get_tool_descriptor() -> SearchToolDescriptor:
    """Return what the system knows of this module."""
    return _DESCRIPTOR
