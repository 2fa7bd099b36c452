"""Finds entries by weighted terms, in one statement."""

from collections.abc import Mapping
from typing import Any, LiteralString, TypeVar

from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import Candidate
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules.pg_fts import RANKED_MATCHES, Match
from shared.search.retrieval.search_context import SearchContext
from shared.text.analysis.analyser import quote_lexeme

Row = TypeVar("Row", bound=Columns)

# Only the newest matches are weighed, for some terms stand everywhere.
_WEIGHED: LiteralString = f"""
    WITH matched AS (
        SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin,
               e.entry_time, t.tsv{candidate_rows.left()}
           AND t.tsv @@ %(any_term)s::tsquery
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(ranked)s)
    SELECT m.id, m.source, m.external_id, m.revision, m.kind, m.origin, m.entry_time,
           (SELECT sum(w.weight)
              FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight)
             WHERE m.tsv @@ w.term::tsquery)::float8 AS score
      FROM matched m
     ORDER BY score DESC, m.entry_time DESC, m.kind, m.source, m.external_id
     LIMIT %(limit)s"""


def find_by_terms(
    ask: Ask, context: SearchContext, name: str, weights: Mapping[str, float]
) -> tuple[Candidate, ...]:
    """Find entries with any of these terms, scored by the sum of their weights."""
    if not weights:
        return ()
    terms = [quote_lexeme(one) for one in weights]
    given = {
        **branch_query.kept_of(ask, context, name).params,
        "any_term": " | ".join(terms),
        "terms": terms,
        "weights": list(weights.values()),
        "ranked": RANKED_MATCHES,
        "limit": ask.limit,
    }
    rows = load_rows(ask, context, Match, _WEIGHED, given)
    tenant = ask.plan.scope.tenant
    return tuple(row.candidate(tenant, row.score) for row in rows)


def load_rows(
    ask: Ask,
    context: SearchContext,
    kind: type[Row],
    statement: LiteralString,
    given: Mapping[str, Any],
) -> list[Row]:
    """Return the rows of a statement, planned with the values at hand."""
    with timed_connection(context.pool, ask.budget_ms) as conn:
        return fetch_all(conn, kind, statement, given, prepare=False)


def as_result(context: SearchContext, hits: tuple[Candidate, ...]) -> ModuleResult:
    """Return hits as a module's result, as fresh as the metadata with their terms."""
    return ModuleResult(hits, context.freshness.of(context.pool, METADATA_STAGE))
