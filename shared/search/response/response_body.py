"""The answer to a search, in the words of the contract."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from shared.entries.identity import permalink, source_uri
from shared.search.absence import absence
from shared.search.jobs import verdict
from shared.search.jobs.outcome import FACETS, Outcome, cuts
from shared.search.query import result_detail
from shared.search.query.filters.time_range import Applied
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.ranked_hits import Order, Ranked
from shared.search.response import response_parts, score_trace
from shared.search.response.response_parts import Beside
from shared.search.results.conclude import Conclusion
from shared.search.results.highlights import Highlighter
from shared.search.results.result_page import ResultPage, Shown
from shared.search.results.superseded import Other
from shared.search.results.visible_expansions import Became
from shared.search.retrieval.installed_modules import family_of
from shared.text.reading.quantities import UNIT_OF

HASH_DECIMALS = 6


def render(
    plan: Plan,
    job_id: UUID | None,
    conclusion: Conclusion,
    page: ResultPage,
    took_ms: dict[str, float],
    next_cursor: str | None = None,
    told: Beside | None = None,
) -> dict[str, Any]:
    """Return the body of a search that ended `done` or `partial`."""
    heard = [b for b in conclusion.branches if b.status in {"ok", "empty"}]
    searched = [b for b in heard if b.name != FACETS]
    families = [family_of(outcome.name) for outcome in searched]
    told = told or response_parts.unread(plan, conclusion)
    texts, absent = told.texts, told.absence
    results, cut = result_detail.trim_results(hits(plan, page, texts), plan.amount)
    order = conclusion.order
    runs = fold.runs(order.items)
    times = times_of(plan)
    sent = {**told.sent, "time": times}
    whole = len(page) == len(runs) and under(plan, searched)
    return {
        "job_id": None if job_id is None else str(job_id),
        "state": conclusion.state,
        "query": plan.query,
        "mode": plan.asked,
        "method_used": plan.method,
        "search_modes_used": list(dict.fromkeys([*families, plan.method])),
        "results": results,
        "total_results": len(results),
        "cut": cut,
        "total_candidates": _total(plan, conclusion),
        "window_complete": under(plan, searched),
        "complete": _is_complete(plan, heard, whole=whole, state=conclusion.state),
        "next_cursor": next_cursor,
        "sub_queries": [plan.query],
        "decomposed": False,
        "time": times,
        "time_range_applied": bool(plan.times or plan.happened),
        "branches": [_branch(plan, outcome) for outcome in conclusion.branches],
        "degraded": conclusion.degraded,
        "as_of": min((b.as_of for b in heard if b.as_of), default=None),
        "reasoning": plan.reasoning,
        "diagnostics": _diagnostics(plan, conclusion, told.became),
        "suppressed": asdict(order.suppressed),
        "thresholds_applied": _thresholds(plan, searched, order),
        "timings_ms": took_ms,
        "search_duration_ms": took_ms.get("total", 0.0),
        "stability_hash": stability_hash([shown.item for shown in page]),
        "config_hash": plan.config_hash,
        "replayable": verdict.is_replayable(conclusion.state, conclusion.branches),
        "deterministic": True,
        "reranked": order.reranked,
        "vector_model": next((b.model for b in searched if b.model), None),
        "coverage": absent.coverage,
        "relaxation": absent.relaxation,
        "context_answer": absent.context_answer or absence.asked_back(plan),
        "facets": next((b.counts for b in heard if b.counts), {}),
        "answer": None,
        "citations": [],
        **({"hidden_count": told.hidden} if plan.acl_honesty else {}),
        **(
            score_trace.trace_scores(plan, conclusion, page, sent) if plan.debug else {}
        ),
    }


def hits(
    plan: Plan, page: ResultPage, texts: Highlighter, first: int = 1
) -> list[dict[str, Any]]:
    """Return the hits of a page in their places, from the first one's on."""
    return [_result(plan, texts, n, shown) for n, shown in enumerate(page, first)]


def nothing_asked(plan: Plan) -> dict[str, Any]:
    """Return the body for a question that no backend needs to hear: it is no job."""
    empty = Conclusion("done", (), Order(), degraded=False)
    return render(plan, None, empty, [], {"total": 0.0})


def stability_hash(items: Sequence[Ranked]) -> str:
    """Return a digest of the order: equal for equal calls with nothing written."""
    told = [
        [item.kind, item.chunk_id, round(item.relevance_score, HASH_DECIMALS)]
        for item in items
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def timestamp(moment: datetime | None) -> str | None:
    """Return a time as it leaves: RFC 3339, UTC, Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def times_of(plan: Plan) -> dict[str, object]:
    """Return what the question and the filters say of the time."""
    written = [_applied(one, "entry_time") for one in plan.times]
    happened = [_applied(one, "event_time") for one in plan.happened]
    return {"applied": written + happened, "inferred": plan.is_inferred}


def _applied(one: Applied, field: str) -> dict[str, object]:
    ends = [end and datetime.fromisoformat(end) for end in (one.since, one.until)]
    since, until = (timestamp(end or None) for end in ends)
    return {
        "from": since,
        "to": until,
        "zone": one.zone,
        "expression": one.expression,
        "confidence": one.confidence,
        "field": field,
    }


def under(plan: Plan, searched: Sequence[Outcome]) -> bool:
    """Tell whether no branch found as much as it may."""
    return all(outcome.kept < plan.window for outcome in searched)


def is_cut(plan: Plan, branches: Sequence[Outcome]) -> bool:
    """Tell whether a part of the question was left out."""
    told = (note for branch in branches for note in branch.diagnostics)
    return bool(cuts((*plan.diagnostics, *told)))


def _total(plan: Plan, conclusion: Conclusion) -> dict[str, object]:
    """Return how many match, if all were counted that could be hits."""
    by_words = plan.method == "keyword" and not is_cut(plan, conclusion.branches)
    for one in conclusion.branches:
        if by_words and one.counted:
            return {"lower_bound": one.candidates, "exact": True}
    return {"lower_bound": len(conclusion.ranked), "exact": False}


def _is_complete(
    plan: Plan, heard: Sequence[Outcome], *, whole: bool, state: str
) -> bool:
    """Whether all that match are here, or on the pages that follow."""
    if is_cut(plan, heard):
        return False
    if not plan.exhaustive:
        return whole and state == "done"
    return any(one.counted for one in heard if one.name != FACETS)


def _branch(plan: Plan, outcome: Outcome) -> dict[str, object]:
    return {**outcome.summary(), "sub_query": plan.query}


def _diagnostics(
    plan: Plan, conclusion: Conclusion, became: Became
) -> list[dict[str, str]]:
    of_branches = (note for b in conclusion.branches for note in b.diagnostics)
    told = [*plan.diagnostics, *of_branches, *conclusion.order.notes]
    return [asdict(note) for note in became.notes([*dict.fromkeys(told)])]


def _thresholds(
    plan: Plan, searched: Sequence[Outcome], order: Order
) -> dict[str, float]:
    """Return what admitted candidates, and what cut them, where something did."""
    floor = next((b.floor for b in searched if b.floor is not None), None)
    notes = {note.code for b in searched for note in b.diagnostics}
    applied = {
        "similarity_threshold": floor,
        "fuzzy_threshold": plan.fuzzy_threshold if "fuzzy_fallback" in notes else None,
        "min_relevance_score": order.suppressed.threshold,
    }
    return {name: value for name, value in applied.items() if value is not None}


def _result(plan: Plan, texts: Highlighter, place: int, shown: Shown) -> dict[str, Any]:
    item, row = shown.item, shown.row
    told = texts.told(row, item.span if item.revision == row.revision else None)
    return {
        "entry_id": item.entry_id,
        "chunk_id": item.chunk_id,
        "revision": row.revision,
        "kind": row.kind,
        "title": row.title,
        "content": told.content,
        "source": row.source,
        "external_id": row.external_id,
        "source_uri": source_uri(plan.scope.tenant, row.source, row.external_id),
        "url": row.url,
        "permalink": permalink(row.source, row.external_id),
        "author": ", ".join(row.authors) or None,
        "authors": row.authors,
        "entry_time": timestamp(row.entry_time),
        "event_time": timestamp(row.event_time),
        "thread_id": str(row.thread_id) if row.thread_id else None,
        "logbooks": row.logbooks,
        "tags": row.tags,
        "metadata": row.metadata,
        "highlights": told.highlights,
        "relevance_score": item.relevance_score,
        "confidence": item.confidence,
        "calibration": item.calibration,
        "rank": place,
        "scores": {**item.scores, "rrf": item.rrf},
        "ranks": item.ranks,
        "contrib": item.contrib,
        "factors": item.factors,
        "found_by": item.found_by,
        "multi_source": len(item.ranks) > 1,
        "origin": row.origin,
        "similar_count": shown.similar,
        "superseded_by": [_other(one) for one in shown.values.superseded_by],
        "replaces": [_other(one) for one in shown.values.replaces],
    }


def _other(one: Other) -> dict[str, Any]:
    """Return another value of the same, and who states it."""
    return {
        "device": one.device,
        "parameter": one.parameter,
        "dimension": one.dimension,
        "unit": UNIT_OF.get(one.dimension, ""),
        "stated": one.stated,
        "value": one.value,
        "entry_id": str(one.other_id),
        "source": one.source,
        "external_id": one.external_id,
        "permalink": permalink(one.source, one.external_id),
        "time": timestamp(one.said_at),
    }
