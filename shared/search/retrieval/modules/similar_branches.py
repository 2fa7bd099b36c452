"""The branches that find entries like a given one: by meaning, and by its things.

There is no question in words: the entry's stored vector and things take its place.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.model_names import SECOND
from shared.embedding.vectors import vector_tables, vectors
from shared.embedding.vectors.nearest import find_nearest
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.entries.reading.filter_sql import NARROWED
from shared.entries.reading.read_entries import EntryView
from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import translate_database_errors
from shared.search.jobs import outcome
from shared.search.jobs.outcome import Candidate, Outcome, Status
from shared.search.query.plan import Plan
from shared.search.retrieval.modules import semantic
from shared.search.retrieval.modules.pg_fts import RANKED_MATCHES, Match
from shared.text import facts
from shared.text.analysis.analyser import quote_lexeme

log = get_logger()

THINGS = "same_things"
# The unit of scores by things: the share of the entry's things that another names.
THINGS_UNIT = "things"
MOST_THINGS = 64

_THINGS: LiteralString = """
    SELECT DISTINCT named.term
      FROM entry_finding f
     CROSS JOIN unnest(f.terms) AS named (term)
     WHERE f.entry_id = %(entry_id)s AND f.tenant = %(tenant)s
       AND f.stage = 'metadata'
       AND split_part(named.term, '=', 1) = ANY (%(fields)s)
     ORDER BY named.term
     LIMIT %(most)s"""
# Only the newest entries are weighed, for some things are named everywhere.
_SAME_THINGS: LiteralString = f"""
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time
          FROM entry_text t
          JOIN entry e ON e.id = t.entry_id
         WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
           AND t.tsv @@ %(things)s::tsquery
           AND e.deleted_at IS NULL{rights.SEEN}{NARROWED}
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(ranked)s)
    SELECT m.id, m.source, m.external_id, m.revision, m.kind, m.origin, m.entry_time,
           same.shared::float8 / cardinality(%(terms)s::text[]) AS score
      FROM matched m
     CROSS JOIN LATERAL (
           SELECT count(DISTINCT named.term) AS shared
             FROM entry_finding f
            CROSS JOIN unnest(f.terms) AS named (term)
            WHERE f.entry_id = m.id AND f.tenant = %(tenant)s
              AND f.stage = 'metadata' AND named.term = ANY (%(terms)s)) AS same
     ORDER BY score DESC, m.entry_time DESC, m.kind, m.id
     LIMIT %(limit)s"""


def find(conn: Connection, plan: Plan, entry: EntryView) -> list[Outcome]:
    """Find entries like a given one: an outcome for each way, of which one may fail.

    The entry and its thread are left out: their reader has them already.
    """
    given = {
        **plan.scope.params,
        **plan.filters.params,
        "only_others": [str(entry.entry_id)],
        "only_beyond": [entry.entry_id],
    }
    found, failed = [], []
    for name, unit, way in _WAYS:
        try:
            # A way that fails is undone, and the other goes on.
            with translate_database_errors(), conn.transaction():
                found.append(way(conn, plan, entry.entry_id, given))
        except DatabaseQueryError as exc:
            log.warning("alike_not_read", way=name, code=exc.error_code)
            failed.append(exc)
            overdue = outcome.make_overdue(name, unit)
            found.append(
                overdue if exc.out_of_time else outcome.make_failure(name, unit, exc)
            )
    if failed and not any(one.status in {"ok", "empty"} for one in found):
        raise failed[0]
    return found


def _by_meaning(
    conn: Connection, plan: Plan, entry_id: UUID, given: Mapping[str, Any]
) -> Outcome:
    tenant, unit = plan.scope.tenant, semantic.UNIT
    found = _find_vector(conn, tenant, entry_id)
    if found is None:
        # The entry is not embedded yet, or no model was made for its language.
        return Outcome(semantic.NAME, "skipped", unit, reason="no_model")
    model, vector = found
    near = find_nearest(
        conn,
        model.table_name,
        plan.scope,
        vector,
        plan.window,
        filters=given,
        floor=model.similarity_floor,
    )
    hits = tuple(semantic.as_hit(one, semantic.columns_of(one), tenant) for one in near)
    told = _outcome(semantic.NAME, unit, hits)
    return replace(told, model=model.model, floor=model.similarity_floor)


def _find_vector(
    conn: Connection, tenant: str, entry_id: UUID
) -> tuple[EmbeddingModel, Vectors] | None:
    """Return an entry's vector by the live model, or else by the second one."""
    for model in (
        vector_tables.find_live_model(conn),
        vector_tables.find_model(conn, SECOND),
    ):
        if model is not None:
            vector = vectors.middle(conn, model.table_name, tenant, entry_id)
            if vector is not None:
                return model, vector
    return None


def _by_things(
    conn: Connection, plan: Plan, entry_id: UUID, given: Mapping[str, Any]
) -> Outcome:
    asked = {
        "tenant": plan.scope.tenant,
        "entry_id": entry_id,
        "fields": sorted(facts.THINGS),
        "most": MOST_THINGS,
    }
    terms = [row[0] for row in conn.execute(_THINGS, asked)]
    if not terms:
        return Outcome(THINGS, "skipped", THINGS_UNIT, reason="empty_query")
    weighed = {
        **given,
        "terms": terms,
        "things": " | ".join(quote_lexeme(facts.MARK + term) for term in terms),
        "ranked": RANKED_MATCHES,
        "limit": plan.window,
    }
    rows = fetch_all(conn, Match, _SAME_THINGS, weighed, prepare=False)
    tenant = plan.scope.tenant
    hits = tuple(row.candidate(tenant, row.score) for row in rows)
    return _outcome(THINGS, THINGS_UNIT, hits)


_WAYS = ((semantic.NAME, semantic.UNIT, _by_meaning), (THINGS, THINGS_UNIT, _by_things))


def _outcome(name: str, unit: str, hits: tuple[Candidate, ...]) -> Outcome:
    status: Status = "ok" if hits else "empty"
    amount = len(hits)
    return Outcome(name, status, unit, candidates=amount, kept=amount, hits=hits)
