"""Keyword search in OpenSearch: the same literal terms that Postgres compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from shared.broker import INDEX_STAGE, METADATA_STAGE
from shared.errors import LogchordError, OpenSearchError
from shared.opensearch import client as opensearch
from shared.opensearch import mapping
from shared.postgres import connection
from shared.retrieval import columns, gone, guards, narrowings
from shared.retrieval.guards import UNSTEMMED, Guard, Guarded
from shared.retrieval.module import Ask, Found, SearchToolDescriptor, Tools
from shared.retrieval.pg_fts import dropped_terms, relaxed_note
from shared.text.folding import STEMMED_LANGUAGES
from shared.text.query_terms import Clause

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Query = dict[str, Any]
# What it takes to read the columns of the hits, and to say that time is over.
_COLUMNS_SECONDS = 0.02


def search(ask: Ask, tools: Tools) -> Found:
    """Return what matches every word; if nothing does, what matches any, and say so."""
    question = guards.compile_query(
        ask.plan.searched, tools.facility, max_terms=ask.plan.max_terms
    )
    if question.terms.is_empty:
        return Found(skipped="empty_query")
    if not tools.circuit.allows():
        return Found(skipped="circuit_open")
    as_of = tools.freshness.of(tools.pool, METADATA_STAGE, INDEX_STAGE)
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms)
        # Left out here and not only afterwards: they would take the place of others.
        lost = gone.since(conn, ask.plan.scope, as_of)
    notes = list(dropped_terms(question, "os_bm25"))
    scores = _asked(ask, tools, question, lost, relaxed=False)
    if not scores and question.can_relax:
        scores = _asked(ask, tools, question, lost, relaxed=True)
        if scores:
            notes.append(relaxed_note("os_bm25"))
    with connection(tools.pool) as conn:
        columns.limit_time(conn, ask.budget_ms)
        known = columns.of(conn, ask.plan, question, list(scores))
    tenant = ask.plan.scope.tenant
    hits = tuple(row.candidate(tenant, scores[row.id]) for row in known.values())
    return Found(hits, as_of, tuple(notes), exact=question.is_exact)


def _asked(
    ask: Ask,
    tools: Tools,
    question: Guarded,
    lost: Sequence[UUID],
    *,
    relaxed: bool,
) -> dict[UUID, float]:
    """Return the scores by entry; every failure is told to the circuit."""
    client = tools.opensearch()
    if client is None:
        raise OpenSearchError("This system runs without OpenSearch.")
    seconds = max(0.01, ask.budget_seconds - _COLUMNS_SECONDS)
    try:
        query = body(ask, question, lost, relaxed=relaxed)
        answer = _send(client, tools.index, query, seconds)
    except OpenSearchError as exc:
        if exc.retriable:
            tools.circuit.failed()
        if exc.details.get("timed_out"):
            message = "OpenSearch did not answer in time."
            raise LogchordError(message, code="branch_timeout") from exc
        raise
    tools.circuit.succeeded()
    return {UUID(hit["_id"]): float(hit["_score"]) for hit in answer["hits"]["hits"]}


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


def body(
    ask: Ask, question: Guarded, lost: Sequence[UUID] = (), *, relaxed: bool
) -> Query:
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
                "should": [_guarded(g, relaxed=relaxed) for g in question.guards],
                "minimum_should_match": 1,
            }
        },
    }


def _guarded(guard: Guard, *, relaxed: bool) -> Query:
    options = [_option(option, relaxed=relaxed) for option in guard.terms.any_of]
    excluded = [_clause(clause) for clause in guard.terms.excluded]
    return {
        "bool": {
            "filter": [_languages(guard.languages)],
            "must": [{"bool": {"should": options, "minimum_should_match": 1}}],
            "must_not": excluded,
        }
    }


def _languages(names: tuple[str, ...]) -> Query:
    named: list[Query] = [{"terms": {"language": [n for n in names if n != UNSTEMMED]}}]
    if UNSTEMMED in names:
        stemmed = {"terms": {"language": sorted(STEMMED_LANGUAGES)}}
        named.append({"bool": {"must_not": [stemmed]}})
    return {"bool": {"should": named, "minimum_should_match": 1}}


def _option(clauses: tuple[Clause, ...], *, relaxed: bool) -> Query:
    if not relaxed:
        return {"bool": {"must": [_clause(clause) for clause in clauses]}}
    exact = [_clause(clause) for clause in clauses if clause.is_exact]
    plain = [_clause(clause) for clause in clauses if not clause.is_exact]
    # With a name or a phrase there, plain words only rank.
    fewest = 0 if exact else 1
    return {"bool": {"must": exact, "should": plain, "minimum_should_match": fewest}}


def _clause(clause: Clause) -> Query:
    ways: list[Query] = []
    for phrase in (clause.lexemes, *clause.also):
        if len(phrase) == 1:
            ways.append({"term": {"stream": {"value": phrase[0]}}})
        elif phrase:
            ways.append({"match_phrase": {"stream": {"query": " ".join(phrase)}}})
    if clause.idents:
        ways.append({"terms": {"idents": list(clause.idents)}})
    return {"bool": {"should": ways, "minimum_should_match": 1}}


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
