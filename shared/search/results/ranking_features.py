"""Reads the facts that ranking needs of the hits, by their ids, in the time left."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.embedding.vectors import moved_question, vector_tables, vectors
from shared.embedding.vectors.live_models import InUse
from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import format_array
from shared.postgres.statement_deadline import timed_pipeline
from shared.search.jobs.outcome import FACETS, Outcome
from shared.search.query.ordering import BESIDE, CARRIED, NAMED, SCOPED
from shared.search.query.plan import Plan
from shared.search.ranking import fusion, linear_rerank
from shared.search.ranking.candidate_facts import UNREAD, Facts, Kin
from shared.search.ranking.linear_rerank import COSINE
from shared.search.retrieval.query_vectors import unpack_vector
from shared.search.retrieval.search_context import SearchContext
from shared.text.analysis.analyser import quote_lexeme

log = get_logger()

# How many of the best hits move the question, where it is moved.
FED_BY = 3

# The ids are read as texts, for they are compared with texts.
_KIN: LiteralString = """
    SELECT e.id::text, e.logbooks, e.thread_id::text, s.group_id::text,
           l.series_id::text
      FROM entry e
      LEFT JOIN likeness l ON l.entry_id = e.id AND l.tenant = %(tenant)s
      LEFT JOIN shape s ON s.id = l.shape_id AND s.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s::uuid[])
     LIMIT 5000"""
_NEAR: LiteralString = """
    SELECT t.entry_id::text, t.tsv @@ %(named)s::tsquery,
           t.tsv @@ %(beside)s::tsquery, t.tsv @@ %(scoped)s::tsquery,
           t.tsv @@ %(carried)s::tsquery
      FROM entry_text t
     WHERE t.tenant = %(tenant)s AND t.entry_id = ANY (%(ids)s::uuid[])
       AND t.tsv @@ %(near)s::tsquery
     LIMIT 5000"""
# In the order of the statement's columns.
_WAYS = (NAMED, BESIDE, SCOPED, CARRIED)


def load_ranking_features(
    context: SearchContext, plan: Plan, branches: Sequence[Outcome], timeout_ms: int
) -> Facts:
    """Read the facts that ranking needs of the hits; `UNREAD` where time is short."""
    several = plan.fan_out.sub_queries
    if several:
        share = timeout_ms // len(several)
        found = tuple(
            load_ranking_features(
                context,
                plan.of_part(number),
                [one for one in branches if one.part == number and one.name != FACETS],
                share,
            )
            for number in range(len(several))
        )
        return Facts(parts=found, in_time=all(one.in_time for one in found))
    ids = sorted({hit.entry_id for one in branches for hit in one.hits})
    if not ids or (plan.is_listing and not plan.detail.by_thread):
        return Facts()
    if timeout_ms <= 0:
        return UNREAD
    try:
        with timed_pipeline(context.pool, timeout_ms, one_plan=True) as conn:
            given = {"ids": format_array(ids), "tenant": plan.scope.tenant}
            kin = conn.execute(_KIN, given, prepare=True)
            cosines = _cosines(conn, plan, branches, context.models)
            near = _near(conn, plan, given)
        return Facts(*cosines, _kin(kin.fetchall()), near)
    except DatabaseQueryError as exc:
        # The fused order is good enough: facts are not worth a late answer.
        log.warning("facts_not_read", code=exc.error_code, technical=exc.technical)
        return UNREAD


def _near(
    conn: Connection, plan: Plan, given: Mapping[str, object]
) -> dict[str, frozenset[str]]:
    """Return the ways in which each hit is near to the question; others are absent."""
    terms = plan.ordering.near
    if not any(terms.values()):
        return {}
    # No entry has a blank as a term, so it matches none.
    wanted = {way: _any_of(terms.get(way) or (" ",)) for way in _WAYS}
    wanted["near"] = _any_of([one for way in _WAYS for one in terms.get(way, ())])
    rows = conn.execute(_NEAR, {**given, **wanted}, prepare=True)
    return {
        entry_id: frozenset(compress(_WAYS, ways))
        for entry_id, *ways in rows.fetchall()
    }


def _any_of(terms: Sequence[str]) -> str:
    return " | ".join(map(quote_lexeme, terms))


def _cosines(
    conn: Connection, plan: Plan, branches: Sequence[Outcome], models: InUse
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the cosines of hits that words alone found.

    The second value has the cosines of all hits to the moved question, if it moves.
    """
    asked = next((one for one in branches if one.model and one.vector), None)
    if asked is None or not plan.ordering.rerank:
        return {}, {}
    known = {hit.entry_id for one in branches if one.unit == COSINE for hit in one.hits}
    found = {hit.entry_id for one in branches for hit in one.hits}
    moves = _moves(plan, branches)
    missing = sorted(UUID(entry_id) for entry_id in found - known)
    wanted = bool(missing) or moves
    name = asked.model or ""
    model = (
        (models.named(name) or vector_tables.find_model(conn, name)) if wanted else None
    )
    if model is None:
        return {}, {}
    vector, table = unpack_vector(asked.vector or ""), model.table_name
    cosines: dict[str, float] = {}
    if missing:
        read = vectors.load_cosines(conn, table, plan.scope.tenant, vector, missing)
        cosines = {str(entry_id): cosine for entry_id, cosine in read.items()}
    if not moves:
        return cosines, {}
    fused = fusion.fuse(branches, plan.rrf_k, {})
    told = linear_rerank.list_best_human_entries(fused, cosines, FED_BY, model=name)
    best = [UUID(one) for one in told]
    if not best:
        return cosines, {}
    near = moved_question.cosines(
        conn,
        table,
        plan.scope,
        vector,
        sorted(map(UUID, found)),
        best=best,
        share=plan.ordering.feedback,
    )
    return cosines, {str(entry_id): cosine for entry_id, cosine in near.items()}


def _moves(plan: Plan, branches: Sequence[Outcome]) -> bool:
    """Tell whether the question moves towards its best hits.

    It does not where one branch alone was asked, nor where a name or a phrase is
    required: such a question is precise, and other words of its hits would blur it.
    """
    is_exact = any(one.exact for one in branches)
    return plan.ordering.feedback > 0 and len(plan.searching) > 1 and not is_exact


def _kin(rows: Iterable[TupleRow]) -> dict[str, Kin]:
    return {
        entry_id: Kin(thread, group, series, tuple(logbooks))
        for entry_id, logbooks, thread, group, series in rows
    }
