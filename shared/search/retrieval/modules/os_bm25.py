"""Keyword search in OpenSearch: the same literal terms that Postgres compares."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from shared.errors import DatabaseQueryError
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.postgres import statement_deadline
from shared.postgres.pool import pipelined_connection
from shared.search.jobs.outcome import CIRCUIT_OPEN
from shared.search.query.compiled.compiled_question import CompiledQuery, Guard
from shared.search.retrieval import branch_languages, module_contract
from shared.search.retrieval.branch_languages import Assumed
from shared.search.retrieval.engines import (
    branch_query,
    candidate_rows,
    os_filters,
    os_query,
    os_request,
    revoked_entries,
    thread_filter,
)
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tool_schema import WordArguments
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

Query = os_request.Query
Hits = list[tuple[Columns, float]]
Scores = dict[UUID, float]

_ID = "entry_id"
# Hits of equal score would stand as they lie in the index, which changes with every
# merge and rebuild. The sort costs a tenth more time. Asking twice only where scores at
# the edge of the window were equal cost twice, for nearly every question of common
# words.
_IN_ORDER: list[Any] = [{"_score": "desc"}, "kind", "source", "external_id"]


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Search by words in OpenSearch; where nothing is found, by wider questions."""
    ask = replace(ask, plan=thread_filter.resolve_threads(ask, context))
    # Read before the languages, so that an entry in a new language is newer than it.
    as_of = context.freshness.of(context.pool, METADATA_STAGE, INDEX_STAGE)
    assumed = branch_languages.Assumed(ask, context)
    found = _search(ask, context, as_of, assumed, assumed.languages)
    others = assumed.others(ask, context)
    return found if others is None else _search(ask, context, as_of, assumed, others)


def _search(
    ask: Ask,
    context: SearchContext,
    as_of: datetime,
    assumed: Assumed,
    languages: tuple[str, ...],
) -> ModuleResult:
    asked = branch_query.build_branch_query(ask, context, "os_bm25", languages)
    if not asked.question.finds:
        return ModuleResult(skipped="empty_query")
    if not context.circuit.allows():
        return ModuleResult(skipped=CIRCUIT_OPEN)
    asked = branch_query.respelt(ask, asked, "os_bm25")

    early: dict[CompiledQuery, tuple[Query, Callable[[], os_request.Answer]]] = {}
    following: list[tuple[str, CompiledQuery]] | None = None
    if asked.is_long:
        # A long question likely finds nothing, so the next query goes with it.
        asked = branch_query.spelt_ahead(ask, asked)
        following = [*branch_query.wider(ask, asked)]
        in_turn = [asked.question, *(wider for _, wider in following)]
        bodies = [body(ask, one) for one in in_turn]
        answers = os_request.answered_with_next(ask, context, *bodies)
        asked_ahead = zip(bodies, answers, strict=True)
        early.update(zip(in_turn, asked_ahead, strict=True))

    def found_by(question: CompiledQuery) -> Hits:
        query, told = early.get(question) or (body(ask, question), None)
        scores = _scores(ask, context, query, told)
        return _found_by(ask, context, asked, question, as_of, scores, assumed)

    found, notes = branch_query.first_found(ask, asked, "os_bm25", found_by, following)
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, score) for row, score in found)
    return ModuleResult(
        hits, as_of, notes, exact=asked.is_exact, **asked.measure(notes)
    )


def _found_by(
    ask: Ask,
    context: SearchContext,
    asked: BranchQuery,
    question: CompiledQuery,
    as_of: datetime,
    scores: Scores,
    assumed: Assumed,
) -> Hits:
    """Return the hits with their scores; entries the caller lost take no place."""
    if not scores:
        return []
    params = asked.params
    rows: Cursor[Columns] | None = None
    try:
        with pipelined_connection(context.pool) as conn:
            # Both statements go out together: each has half of the time left.
            limit_ms = max(1, ask.budget_ms // 2)
            statement_deadline.limit_time(conn, limit_ms, one_plan=True)
            unheard = revoked_entries.send_revoked(conn, ask.plan.scope, as_of)
            if not candidate_rows.are_plain(params):
                statement_deadline.limit_time(conn, limit_ms)
            rows = candidate_rows.send_candidate_rows(conn, params, list(scores))
            assumed.ask(conn, ask.budget_ms)
        assumed.hear()
    except DatabaseQueryError as exc:
        if rows is None or rows.pgresult is None:
            raise
        # The statements before it were answered.
        assumed.unheard(exc)
    lost = [row[0] for row in unheard.fetchall()]
    if scores.keys().isdisjoint(lost):
        return _scored(rows, scores)
    # Lost entries took places of others, so the search is repeated without them.
    scores = _scores(ask, context, body(ask, question, lost))
    if not scores:
        return []
    with pipelined_connection(context.pool) as conn:
        statement_deadline.limit_time(
            conn, ask.budget_ms, one_plan=candidate_rows.are_plain(params)
        )
        rows = candidate_rows.send_candidate_rows(conn, params, list(scores))
    return _scored(rows, scores)


def _scored(rows: Cursor[Columns], scores: Scores) -> Hits:
    return [(row, scores[row.id]) for row in rows.fetchall()]


def _scores(
    ask: Ask,
    context: SearchContext,
    query: Query,
    told: Callable[[], os_request.Answer] | None = None,
) -> Scores:
    """Return the scores of hits by entry; among equal scores always the same hits."""
    answer = told() if told else os_request.answered(ask, context, query)
    hits = answer["hits"]["hits"]
    return {UUID(hit["fields"][_ID][0]): float(hit["_score"]) for hit in hits}


def body(ask: Ask, question: CompiledQuery, lost: Sequence[UUID] = ()) -> Query:
    """Return the body of a search: terms by language, with rights and filters."""
    plan = ask.plan
    scope: list[Query] = [
        {"term": {"tenant": plan.scope.tenant}},
        {"terms": {"readers": ["*", *plan.scope.params["principals"]]}},
        {
            "bool": {
                "should": [
                    {"bool": {"must_not": [{"exists": {"field": "visible_from"}}]}},
                    {"range": {"visible_from": {"lte": "now"}}},
                ]
            }
        },
    ]
    if plan.scope.logbooks is not None:
        scope.append({"terms": {"logbooks": list(plan.scope.logbooks)}})
    scope += os_filters.required(plan.filters)
    return {
        "size": ask.limit,
        "sort": _IN_ORDER,
        # A document's id is stored with all its text, which would be read for it.
        "stored_fields": "_none_",
        "docvalue_fields": [_ID],
        "track_total_hits": False,
        "timeout": f"{ask.budget_ms}ms",
        "query": {
            "bool": {
                "filter": scope,
                "must_not": [
                    {"term": {"deleted": True}},
                    {"ids": {"values": [str(one) for one in lost]}},
                    *os_filters.excluded(plan.filters),
                ],
                "should": [_guarded(guard) for guard in question.guards],
                "minimum_should_match": 1,
            }
        },
    }


def _guarded(guard: Guard) -> Query:
    return {
        "bool": {
            "filter": [_languages(guard.languages)],
            "must": [os_query.write_os_query(guard.condition)],
        }
    }


def _languages(names: tuple[str, ...]) -> Query:
    listed = [name for name in names if name != UNSTEMMED]
    named: Query = {"terms": {"language": listed}}
    if UNSTEMMED not in names or set(listed) - set(STEMMED_LANGUAGES):
        # All languages: those without a stemmer are known by their names.
        return named
    stemmed = {"terms": {"language": sorted(STEMMED_LANGUAGES)}}
    others = {"bool": {"must_not": [stemmed]}}
    return {"bool": {"should": [named, others], "minimum_should_match": 1}}


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `os_bm25`."""
    return module_contract.SearchToolDescriptor(
        name="os_bm25",
        description="Words, phrases and names, found by OpenSearch.",
        search_mode="keyword",
        execute=search,
        unit="bm25",
        fallback="pg_fts",
        engine="opensearch",
        needs_stages=(METADATA_STAGE, INDEX_STAGE),
        compares_words=True,
        args_schema=WordArguments,
    )
