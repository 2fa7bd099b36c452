"""Facets counted by Postgres: exact, up to a number of matches."""

from typing import LiteralString

from shared.postgres.statement_deadline import timed_connection
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.facet_request import DATE, SAID, Counting
from shared.search.query.filters import filters
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import facet_counts, match_sql
from shared.search.retrieval.modules.facet_counts import MAX_VALUES, FacetCounts
from shared.text import facts

_MATCHES = "matches"

# Each value counts once for an entry. Facts are compared as filters compare them; an
# alias, which has another mark, is no value of its own.
_COUNTS: LiteralString = """
    , counted AS MATERIALIZED (
        SELECT id, entry_time, source, logbooks, authors
          FROM matched
         ORDER BY entry_time DESC, id DESC
         LIMIT %(most)s),
    valued AS (
        SELECT 'source' AS facet, source AS value
          FROM counted
         WHERE 'source' = ANY (%(said)s::text[])
         UNION ALL
        SELECT 'logbook', one.value
          FROM counted,
               LATERAL (SELECT DISTINCT unnest(logbooks) AS value) AS one
         WHERE 'logbook' = ANY (%(said)s::text[])
         UNION ALL
        SELECT 'author', one.value
          FROM counted,
               LATERAL (SELECT DISTINCT unnest(authors) AS value) AS one
         WHERE 'author' = ANY (%(said)s::text[])
         UNION ALL
        SELECT one.facet, one.value
          FROM counted,
               LATERAL (
               SELECT DISTINCT split_part(term, '=', 1) AS facet,
                      substr(term, strpos(term, '=') + 1) AS value
                 FROM entry_finding f, unnest(f.terms) AS term
                WHERE f.entry_id = counted.id AND f.tenant = %(tenant)s
                  AND split_part(term, '=', 1) = ANY (%(facts)s::text[])) AS one
         WHERE %(facts)s::text[] <> '{}'
         UNION ALL
        SELECT 'date', floor(extract(epoch FROM entry_time) * 1000)::bigint::text
          FROM counted
         WHERE %(by_time)s),
    placed AS (
        SELECT facet, value, count(*) AS entries,
               row_number() OVER (
                   PARTITION BY facet
                       ORDER BY count(*) DESC, value COLLATE "C") AS place
          FROM valued
         WHERE facet = 'date'
            OR %(prefix)s::text IS NULL
            OR starts_with(lower(value), lower(%(prefix)s))
         GROUP BY facet, value)
    SELECT facet, value, entries
      FROM placed
     WHERE place <= %(values)s OR facet = 'date'
     UNION ALL
    SELECT 'matches', '', count(*)
      FROM counted
     LIMIT %(most)s + 1000"""


def counted(
    ask: Ask,
    asked: BranchQuery,
    question: CompiledQuery,
    counting: Counting,
    *,
    prefix: str | None = None,
    most_values: int = MAX_VALUES,
) -> FacetCounts:
    """Count the facets of all matches; beyond the limit, of the newest matches."""
    names = [*counting.names]
    known = [one for one in names if one in filters.FACTS]
    if filters.HAS_ATTACHMENT in names:
        known.append(facts.HAS)
    given = {
        **match_sql.params(asked, question),
        "said": [one for one in names if one in SAID],
        "facts": known,
        "by_time": DATE in names,
        "most": counting.max_matches + 1,
        "values": most_values + 1,
        "prefix": prefix,
    }
    statement = match_sql.statement(_COUNTS, by_words=ask.plan.asks_for_words)
    with timed_connection(asked.lexicon.pool, ask.budget_ms) as conn:
        rows = conn.execute(statement, given).fetchall()
    found: dict[str, list[tuple[str, int]]] = {}
    for facet, value, entries in rows:
        found.setdefault(facet, []).append((value, entries))
    ((_, matches),) = found.pop(_MATCHES)
    moments = {int(moment): entries for moment, entries in found.pop(DATE, ())}
    times, written = facet_counts.over_time(moments, counting)
    return FacetCounts(
        # One more than the limit was counted, to know that there are more.
        matches=matches,
        exact=matches <= counting.max_matches,
        values={name: _commonest(listed) for name, listed in found.items()},
        attached=dict(found.pop(facts.HAS, ())).get(facts.ATTACHMENT, 0),
        times=times,
        written=written,
    )


def _commonest(listed: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(listed, key=lambda one: (-one[1], one[0]))
