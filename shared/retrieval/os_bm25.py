"""Keyword search in OpenSearch: the same literal terms that Postgres compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg import Connection

from shared.broker import INDEX_STAGE, METADATA_STAGE
from shared.errors import LogchordError, OpenSearchError
from shared.jobs.outcome import CIRCUIT_OPEN
from shared.opensearch import client as opensearch
from shared.opensearch import mapping
from shared.postgres import connection
from shared.query.compiled.question import Guard, Question
from shared.retrieval import (
    columns,
    gone,
    narrowings,
    os_conditions,
    questions,
    threads,
)
from shared.retrieval.columns import Columns
from shared.retrieval.module import Ask, Found, SearchToolDescriptor, Tools
from shared.retrieval.questions import Asked
from shared.text.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Query = dict[str, Any]
Hits = list[tuple[Columns, float]]
# What it takes to read the columns of the hits, and to say that time is over.
_COLUMNS_SECONDS = 0.02


def search(ask: Ask, tools: Tools) -> Found:
    """Return what is asked for; if there is nothing, what may be meant, and say so."""
    ask = replace(ask, plan=threads.resolved(ask, tools))
    asked = questions.read(ask, tools, "os_bm25")
    if not asked.question.finds:
        return Found(skipped="empty_query")
    if not tools.circuit.allows():
        return Found(skipped=CIRCUIT_OPEN)
    as_of = tools.freshness.of(tools.pool, METADATA_STAGE, INDEX_STAGE)

    def found_by(question: Question) -> Hits:
        return _found_by(ask, tools, asked, question, as_of)

    found, notes = questions.first_found(ask, asked, "os_bm25", found_by)
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, score) for row, score in found)
    return Found(hits, as_of, notes, exact=asked.question.is_exact)


def _found_by(
    ask: Ask, tools: Tools, asked: Asked, question: Question, as_of: datetime
) -> Hits:
    """Return the hits with their scores; what the caller lost takes no place."""
    scores = _asked(ask, tools, question)
    if not scores:
        return []
    params = asked.params
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms, one_plan=True)
        lost = gone.since(conn, ask.plan.scope, as_of)
        if scores.keys().isdisjoint(lost):
            if not columns.are_plain(params):
                columns.limit_time(conn, ask.budget_ms)
            return _shown(conn, params, scores)
    # Left out here and not only afterwards: they have taken the place of others.
    scores = _asked(ask, tools, question, lost)
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms)
        return _shown(conn, params, scores)


def _shown(
    conn: Connection[Any], params: Mapping[str, Any], scores: Mapping[UUID, float]
) -> Hits:
    known = columns.of(conn, params, list(scores))
    return [(row, scores[row.id]) for row in known.values()]


def _asked(
    ask: Ask, tools: Tools, question: Question, lost: Sequence[UUID] = ()
) -> dict[UUID, float]:
    """Return the scores by entry."""
    hits = answered(ask, tools, body(ask, question, lost))["hits"]["hits"]
    return {UUID(hit["_id"]): float(hit["_score"]) for hit in hits}


def answered(ask: Ask, tools: Tools, query: Query) -> dict[str, Any]:
    """Return what OpenSearch answers in time; every failure is told to the circuit."""
    client = tools.opensearch()
    if client is None:
        raise OpenSearchError("This system runs without OpenSearch.")
    seconds = max(0.01, ask.budget_seconds - _COLUMNS_SECONDS)
    try:
        answer = _send(client, tools.index, query, seconds)
    except OpenSearchError as exc:
        if exc.retriable and not ask.again:
            # A branch counts once, however often it asks.
            tools.circuit.failed()
        if exc.details.get("timed_out"):
            message = "OpenSearch did not answer in time."
            raise LogchordError(message, code="branch_timeout") from exc
        raise
    tools.circuit.succeeded()
    return answer


def _send(
    client: OpenSearch, index: str, query: Query, seconds: float
) -> dict[str, Any]:
    with opensearch.translated_errors():
        answer: dict[str, Any] = client.search(
            index=mapping.read_alias(index),
            body=query,
            params={"request_timeout": seconds},
        )
    if answer["timed_out"] or answer["_shards"]["failed"]:
        # A part of the index has not answered: its hits are missing, not absent.
        raise OpenSearchError(
            "OpenSearch answered for a part of its index only.",
            technical=str(answer["_shards"])[:500],
            details={"timed_out": answer["timed_out"]},
        )
    return answer


def body(ask: Ask, question: Question, lost: Sequence[UUID] = ()) -> Query:
    """Return the search body: terms by language, rights and filters beside them."""
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
    scope += narrowings.required(plan.filters)
    return {
        "size": ask.limit,
        "_source": False,
        "track_total_hits": False,
        "timeout": f"{ask.budget_ms}ms",
        "query": {
            "bool": {
                "filter": scope,
                "must_not": [
                    {"term": {"deleted": True}},
                    {"ids": {"values": [str(one) for one in lost]}},
                    *narrowings.excluded(plan.filters),
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
            "must": [os_conditions.written(guard.condition)],
        }
    }


def _languages(names: tuple[str, ...]) -> Query:
    named: list[Query] = [{"terms": {"language": [n for n in names if n != UNSTEMMED]}}]
    if UNSTEMMED in names:
        stemmed = {"terms": {"language": sorted(STEMMED_LANGUAGES)}}
        named.append({"bool": {"must_not": [stemmed]}})
    return {"bool": {"should": named, "minimum_should_match": 1}}


_DESCRIPTOR = SearchToolDescriptor(
    name="os_bm25",
    description="Words, phrases and names, found by OpenSearch.",
    search_mode="keyword",
    execute=search,
    unit="bm25",
    fallback="pg_fts",
)


def get_tool_descriptor() -> SearchToolDescriptor:
    """Return what the system knows of this module."""
    return _DESCRIPTOR
