"""Finds entries that nearly answered a question, and tells what kept them out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.nearest import How, find_nearest
from shared.entries import identity
from shared.entries.reading.filter_sql import ANYTHING
from shared.postgres import statement_deadline
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import failed_filter, gates, outside_time_range
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.plan import Plan
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results.conclude import Conclusion
from shared.search.results.hydrate import HitRow, hydrate
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.modules.pg_fts import SCORE, with_words
from shared.search.retrieval.query_vectors import unpack_vector
from shared.text.words.folding import STEMMED_LANGUAGES

MOST = 3
# How many matches outside of the filters are counted at most.
MOST_OUTSIDE = 1000
# More are read than shown, for the question may exclude some of them.
MOST_LOOKED_AT = 4 * MOST

# Matches the question without its filters, the nearest first; rights always hold.
_OUTSIDE: LiteralString = f"""
    WITH matched AS (
        SELECT e.id, e.entry_time, t.tsv, q.query::tsquery AS query{with_words()}
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(most)s)
    SELECT id, entry_time
      FROM matched
     ORDER BY {SCORE} DESC, entry_time DESC, id DESC"""


class Missed(NamedTuple):
    """An entry that came near, the gate that kept it out, and by how much."""

    entry_id: str
    gate: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class NearMisses:
    """The entries that came near, as far as the caller may see them."""

    missed: tuple[tuple[Missed, HitRow], ...] = ()
    # How many have the words and are kept out by filters alone; None: there are no
    # filters, or no words.
    outside: int | None = None
    # An interval that takes in the nearest of these.
    wider: dict[str, str | None] | None = None

    def items(self, tenant: str) -> list[dict[str, Any]]:
        """Return the near misses as answers show them."""
        return [
            {
                "entry_id": one.entry_id,
                "source_uri": identity.source_uri(tenant, row.source, row.external_id),
                "source": row.source,
                "external_id": row.external_id,
                "title": row.title,
                "gate": one.gate,
                "value": one.value,
                "limit": one.limit,
            }
            for one, row in self.missed
        ]


def find_near_misses(
    conn: Connection,
    plan: Plan,
    conclusion: Conclusion,
    question: CompiledQuery,
    left: Deadline,
) -> NearMisses:
    """Find the entries that came nearest.

    They are those that a score cut, else those that filters keep out, else those whose
    meaning is not near enough.
    """
    missed = [_cut(one, plan) for one in conclusion.order.missed[:MOST]]
    outside: int | None = None
    wider = None
    if not missed and plan.filters and plan.asks_for_words:
        found = _outside(conn, plan, question, left)
        outside, wider = len(found), _widen(plan, [time for _, time in found])
        for entry_id, _ in found[:MOST]:
            left.limit_time(conn)
            gate = failed_filter.gate(conn, plan.scope, plan.filters, entry_id)
            if gate:
                missed.append(Missed(str(entry_id), gate))
    if not missed:
        missed = _by_meaning(conn, plan, conclusion, question, left)
    rows = hydrate(conn, [UUID(o.entry_id) for o in missed], plan.scope, left.left_ms)
    shown = ((one, rows.get(UUID(one.entry_id))) for one in missed)
    kept = tuple((one, row) for one, row in shown if row is not None)
    return NearMisses(kept, outside, wider)


def _cut(item: Ranked, plan: Plan) -> Missed:
    least = plan.ordering.min_relevance_score
    if least is not None and item.relevance_score < least:
        return Missed(
            item.entry_id, gates.BELOW_MIN_RELEVANCE, item.relevance_score, least
        )
    limit = plan.ordering.medium
    return Missed(item.entry_id, gates.BELOW_CONFIDENCE, item.relevance_score, limit)


def _outside(
    conn: Connection, plan: Plan, question: CompiledQuery, left: Deadline
) -> list[tuple[UUID, datetime]]:
    values = {
        **plan.scope.params,
        **ANYTHING,
        "stemmed": sorted(STEMMED_LANGUAGES),
        "most": MOST_OUTSIDE,
    }
    for asked in dict.fromkeys((question, question.relaxed())):
        if not asked.finds:
            return []
        values["queries"] = branch_query.queries(asked)
        values["fields"] = branch_query.fields(asked)
        rows: list[tuple[UUID, datetime]]
        left.limit_time(conn)
        rows = conn.execute(_OUTSIDE, values).fetchall()
        if rows:
            return list(dict.fromkeys(rows))
    return []


def _widen(plan: Plan, times: list[datetime]) -> dict[str, str | None] | None:
    """Return the interval of the request, stretched to the nearest match outside."""
    ends = (plan.filters.since, plan.filters.until)
    since, until = (end and datetime.fromisoformat(end) for end in ends)
    before = max((one for one in times if since and one < since), default=None)
    after = min((one for one in times if until and one >= until), default=None)
    # A longer interval does not find what other filters alone keep out.
    return outside_time_range.stretch_interval(
        since or None, until or None, before, after
    )


def _by_meaning(
    conn: Connection,
    plan: Plan,
    conclusion: Conclusion,
    question: CompiledQuery,
    left: Deadline,
) -> list[Missed]:
    asked = next((b for b in conclusion.branches if b.model and b.vector), None)
    if asked is None or asked.floor is None:
        return []
    left.limit_time(conn)
    model = vector_tables.find_model(conn, asked.model or "")
    if model is None:
        return []
    left.limit_time(conn)
    near = find_nearest(
        conn,
        model.table_name,
        plan.scope,
        unpack_vector(asked.vector or ""),
        MOST_LOOKED_AT,
        filters=plan.filters.params,
        how=How(bound=statement_deadline.make_share_limiter(conn, left.ends_at)),
    )
    far = [one for one in near if one.cosine < asked.floor]
    params = {
        **plan.scope.params,
        **plan.filters.params,
        "kept": branch_query.queries(question.kept()),
        "fields": branch_query.fields(question),
        "stemmed": sorted(STEMMED_LANGUAGES),
    }
    left.limit_time(conn)
    kept = candidate_rows.load_candidate_rows(
        conn, params, [one.entry_id for one in far]
    )
    return [
        Missed(str(one.entry_id), gates.BELOW_SIMILARITY, one.cosine, asked.floor)
        for one in far
        if one.entry_id in kept
    ][:MOST]
