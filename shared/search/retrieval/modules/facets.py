"""Counts the facets of all entries that match by words and pass the filters.

OpenSearch counts fastest but may be behind. Entries that the caller lost since are left
out of its counts. Postgres counts where those are too many, or where an entry was
quarantined on its way to the index.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from shared.errors import LogchordError
from shared.log import get_logger
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import FACETS, Diagnostic, list_cuts
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.facet_request import DATE, SAID, Counting
from shared.search.query.filters import filters
from shared.search.query.histogram import Buckets, buckets
from shared.search.retrieval import installed_modules, module_contract
from shared.search.retrieval.engines import (
    branch_query,
    os_request,
    revoked_entries,
    thread_filter,
)
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.engines.os_request import Query
from shared.search.retrieval.module_contract import Ask, Lexicon, ModuleResult
from shared.search.retrieval.modules import facet_counts, facet_rows, os_bm25
from shared.search.retrieval.modules.facet_counts import MAX_VALUES, FacetCounts
from shared.search.retrieval.search_context import SearchContext
from shared.text import facts

log = get_logger()

_FIELDS = {"author": "authors", "logbook": "logbooks", "source": "source"}
# The share of the time that OpenSearch may take: Postgres may have to count after it.
_INDEX_SHARE = 0.5

# A quarantined entry is not in the index and does not hold the watermark back.
_SET_ASIDE: LiteralString = """
    SELECT EXISTS (
        SELECT FROM quarantine
         WHERE tenant = %(tenant)s AND stage = %(stage)s)"""


@dataclass(frozen=True, slots=True)
class _Count:
    """A question whose facets are to be counted, by either engine."""

    ask: Ask
    asked: BranchQuery
    counting: Counting


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Count the facets that a plan asks for, exactly wherever that is possible."""
    counting = ask.plan.detail.counting
    if counting is None:
        return ModuleResult(skipped="disabled")
    ends_at = min(ask.ends_at, time.monotonic() + counting.budget_ms / 1000)
    ask = replace(ask, ends_at=ends_at)
    asked = branch_query.by_all_words(ask, context, FACETS)
    if ask.plan.asks_for_words and not asked.question.finds:
        return ModuleResult(skipped="empty_query")
    work = _Count(ask, asked, counting)
    if context.opensearch() is not None and context.circuit.allows():
        try:
            found = _of_index(_with_members(work, context), context)
        except LogchordError as exc:
            log.warning("facets_not_counted_by_index", code=exc.error_code)
            found = None
        if found is not None:
            return found
    as_of = context.freshness.of(context.pool, METADATA_STAGE)
    return _result(as_of, counting, *_of_rows(work))


def _result(
    as_of: datetime,
    counting: Counting,
    counted: FacetCounts,
    notes: tuple[Diagnostic, ...],
) -> ModuleResult:
    return ModuleResult(
        as_of=as_of,
        diagnostics=notes,
        matches=counted.matches,
        counted=counted.exact,
        counts=counted.told(counting),
    )


def _with_members(work: _Count, context: SearchContext) -> _Count:
    """Return the count with the entries of its threads: the index has no threads."""
    ask = replace(work.ask, plan=thread_filter.resolve_threads(work.ask, context))
    if ask.plan is work.ask.plan:
        return work
    return replace(work, ask=ask, asked=branch_query.by_all_words(ask, context, FACETS))


def again(ask: Ask, lexicon: Lexicon) -> dict[str, Any] | None:
    """Count the facets of a search anew, for whoever reads its job."""
    counting = ask.plan.detail.counting
    if counting is None:
        return None
    asked = branch_query.by_all_words(ask, lexicon, FACETS)
    counted, _ = _of_rows(_Count(ask, asked, counting))
    return counted.told(counting)


def _of_rows(work: _Count) -> tuple[FacetCounts, tuple[Diagnostic, ...]]:
    def count(question: CompiledQuery) -> FacetCounts:
        return facet_rows.counted(work.ask, work.asked, question, work.counting)

    return _first_found(work, count)


def _of_index(work: _Count, context: SearchContext) -> ModuleResult | None:
    """Count in OpenSearch; None: it lacks too many entries to be exact."""
    scope = work.ask.plan.scope
    as_of = context.freshness.of(context.pool, METADATA_STAGE, INDEX_STAGE)
    with timed_connection(context.pool, work.ask.budget_ms) as conn:
        lost = revoked_entries.load_revoked(
            conn, scope, as_of, revoked_entries.MAX_IDS + 1
        )
        stage = {"tenant": scope.tenant, "stage": INDEX_STAGE}
        is_set_aside = fetch_value(conn, _SET_ASIDE, stage)
    if len(lost) > revoked_entries.MAX_IDS or is_set_aside:
        return None
    seconds = work.ask.budget_seconds * _INDEX_SHARE
    work = replace(work, ask=replace(work.ask, ends_at=time.monotonic() + seconds))

    def count(question: CompiledQuery) -> FacetCounts:
        return _in_index(work, context, question, lost)

    return _result(as_of, work.counting, *_first_found(work, count))


def _first_found(
    work: _Count, count: Callable[[CompiledQuery], FacetCounts]
) -> tuple[FacetCounts, tuple[Diagnostic, ...]]:
    """Count by the question by which the search finds hits: as asked, or wider."""
    plan = work.ask.plan
    left_out = list_cuts((*plan.diagnostics, *work.asked.diagnostics))

    def told(question: CompiledQuery) -> FacetCounts:
        found = count(question)
        # A question that was cut has other counts than the one that was asked.
        return replace(found, exact=False) if left_out else found

    if plan.exhaustive or not plan.asks_for_words:
        return told(work.asked.question), ()
    found, notes = branch_query.first_found(work.ask, work.asked, FACETS, told)
    # A branch that searches by all words has told of a wider question already.
    by_words = any(installed_modules.compares_words(one) for one in plan.searching)
    return found, () if by_words and not plan.words.any_word else notes


def _in_index(
    work: _Count, context: SearchContext, question: CompiledQuery, lost: Sequence[UUID]
) -> FacetCounts:
    names = [*work.counting.names]
    query = _query(work.ask, question, lost)
    times: Buckets | None = None
    if DATE in names:
        ends = {"first": {"min": {"field": "entry_time"}}}
        ends["last"] = {"max": {"field": "entry_time"}}
        answer = _answered(work, context, query, ends)
        if not answer["hits"]["total"]["value"]:
            return FacetCounts(0, exact=True)
        first, last = (
            facet_counts.at(answer["aggregations"][end]["value"])
            for end in ("first", "last")
        )
        times = buckets(first, last, work.counting.clock)
    answer = _answered(work, context, query, _aggregations(names, times))
    matches = answer["hits"]["total"]["value"]
    found = answer.get("aggregations", {})
    listed = {name: one for name, one in found.items() if name not in _ONE_NUMBER}
    return FacetCounts(
        matches=matches,
        # Each shard tells its own commonest values, so a sum may lack some.
        exact=not any(one["doc_count_error_upper_bound"] for one in listed.values()),
        values={
            name: [
                (one["key"].removeprefix(f"{name}="), one["doc_count"])
                for one in values["buckets"]
            ]
            for name, values in listed.items()
        },
        attached=found.get(filters.HAS_ATTACHMENT, {}).get("doc_count", 0),
        times=times,
        written=[one["doc_count"] for one in found[DATE]["buckets"]] if times else [],
    )


_ONE_NUMBER = frozenset({filters.HAS_ATTACHMENT, DATE})


def _answered(
    work: _Count, context: SearchContext, query: Query, aggregations: Query
) -> dict[str, Any]:
    body = {
        "size": 0,
        "track_total_hits": True,
        "timeout": f"{work.ask.budget_ms}ms",
        "query": query,
        **({"aggs": aggregations} if aggregations else {}),
    }
    return os_request.answered(work.ask, context, body)


def _query(ask: Ask, question: CompiledQuery, lost: Sequence[UUID]) -> Query:
    """Return the query of the hits; without words, that of all entries left over."""
    asked = question if ask.plan.asks_for_words else question.kept()
    query: Query = os_bm25.body(ask, asked, lost)["query"]
    if not asked.guards:
        del query["bool"]["should"], query["bool"]["minimum_should_match"]
    return query


def _aggregations(names: Sequence[str], times: Buckets | None) -> Query:
    found: Query = {}
    for name in names:
        if name in SAID:
            found[name] = {"terms": _commonest(_FIELDS[name])}
        elif name == filters.HAS_ATTACHMENT:
            attached = facts.make_term(facts.HAS, facts.ATTACHMENT)
            found[name] = {"filter": {"term": {"facts": attached}}}
        elif name != DATE:
            found[name] = {"terms": {**_commonest("facts"), "include": f"{name}=.*"}}
        elif times is not None:
            spans = [
                {"from": since.isoformat(), "to": until.isoformat()}
                for since, until in times.spans
            ]
            found[name] = {"date_range": {"field": "entry_time", "ranges": spans}}
    return found


def _commonest(field: str) -> Query:
    order = [{"_count": "desc"}, {"_key": "asc"}]
    return {"field": field, "size": MAX_VALUES + 1, "order": order}


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `facets`."""
    return module_contract.SearchToolDescriptor(
        name=FACETS,
        description="Counts of all that passes the filters and matches by words.",
        search_mode=FACETS,
        execute=search,
        unit="entries",
        engine="opensearch",
    )
