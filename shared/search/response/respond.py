"""The last step of a search: puts hits and all other parts into one answer."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from shared.search.absence import absence
from shared.search.jobs import verdict
from shared.search.jobs.outcome import FACETS, Diagnostic, Outcome, list_cuts
from shared.search.query.filters.time_range import Applied
from shared.search.query.modes import AGENT, RAG
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.ranked_hits import Ranked, RankedHits
from shared.search.response import response_parts, score_trace
from shared.search.response.answer import Answer
from shared.search.response.answer_fields import answer_fields, is_of_model, model_notes
from shared.search.response.response_parts import ResponseParts
from shared.search.response.search_answer import SearchAnswer, TotalCandidates
from shared.search.results.conclude import Conclusion
from shared.search.results.hit import Hit
from shared.search.retrieval.installed_modules import family_of
from shared.times.rfc3339 import timestamp

HASH_DECIMALS = 6


def respond(
    plan: Plan,
    job_id: UUID | None,
    conclusion: Conclusion,
    hits: Sequence[Hit],
    parts: ResponseParts,
    took_ms: Mapping[str, float],
    next_cursor: str | None = None,
    answer: Answer | None = None,
) -> SearchAnswer:
    """Return the answer to a search that ended `done` or `partial`."""
    heard = [b for b in conclusion.branches if b.status in {"ok", "empty"}]
    searched = [b for b in heard if b.name != FACETS]
    families = [family_of(outcome.name) for outcome in searched]
    absent = parts.absence
    order = conclusion.order
    times = times_of(plan)
    has_all = is_under_window(plan, searched, order)
    whole = has_all and len(hits) == len(fold.group_runs(order.items))
    debug: dict[str, Any] = {}
    if plan.detail.debug:
        sent = {**parts.sent, "time": times}
        debug = score_trace.trace_scores(plan, conclusion, hits, sent)
    return SearchAnswer(
        job_id=None if job_id is None else str(job_id),
        state="partial" if conclusion.state == "partial" else "done",
        query=plan.query,
        mode=plan.asked,
        method_used=plan.method,
        search_modes_used=list(dict.fromkeys([*families, plan.method])),
        results=hits,
        amount=plan.detail.amount,
        total_candidates=_total(plan, conclusion),
        window_complete=has_all,
        complete=_is_complete(plan, heard, whole=whole, state=conclusion.state),
        next_cursor=next_cursor,
        sub_queries=list(plan.sub_queries),
        decomposed=len(plan.sub_queries) > 1,
        meta=_meta(plan, order, hits),
        time=times,
        time_range_applied=bool(plan.time.written or plan.time.happened),
        branches=conclusion.branches,
        degraded=conclusion.degraded,
        as_of=min((b.as_of for b in heard if b.as_of), default=None),
        sources_behind=[
            {**asdict(one), "answered_at": timestamp(one.answered_at)}
            for one in parts.behind
        ],
        reasoning=plan.reasoning,
        diagnostics=[
            *_diagnostics(plan, conclusion, parts),
            *model_notes(plan, answer),
        ],
        suppressed=order.suppressed,
        thresholds_applied=_thresholds(plan, searched, order),
        timings_ms=took_ms,
        search_duration_ms=took_ms.get("total", 0.0),
        stability_hash=stability_hash(hits),
        config_hash=plan.record.config_hash,
        replayable=plan.method != AGENT
        and verdict.is_replayable(conclusion.state, conclusion.branches),
        deterministic=plan.method != AGENT,
        reranked=order.reranked,
        vector_model=next((b.model for b in searched if b.model), None),
        coverage=absent.coverage,
        relaxation=absent.relaxation,
        context_answer=parts.absence.context_answer or worth_of(plan, answer),
        overflow=parts.overflow,
        cards=parts.cards,
        facets=next((b.counts for b in heard if b.counts), {}),
        **answer_fields(plan, answer),
        hidden_count=parts.hidden,
        counts_hidden=plan.detail.acl_honesty,
        **debug,
    )


def _meta(plan: Plan, order: RankedHits, hits: Sequence[Hit]) -> dict[str, int]:
    """Count the entries that were found, compared with the question, and left out."""
    runs = len(fold.group_runs(order.items))
    found = max(order.found, runs)
    return {
        "total_candidates": found,
        "returned": len(hits),
        "sub_query_count": len(plan.sub_queries),
        "validated": order.validated,
        "rejected_by_validation": order.rejected,
    }


def reword(plan: Plan, response: SearchAnswer, answer: Answer) -> SearchAnswer:
    """Return a response with a model's answer to the same hits in place of its own."""
    timings_ms = dict(response.timings_ms)
    if share := answer.model:
        timings_ms |= {"assemble": share.assemble_ms, "generate": share.generate_ms}
    return replace(
        response,
        **answer_fields(plan, answer),
        context_answer=worth_of(plan, answer) or response.context_answer,
        diagnostics=[
            *(one for one in response.diagnostics if not is_of_model(one)),
            *model_notes(plan, answer),
        ],
        timings_ms=timings_ms,
    )


def worth_of(plan: Plan, answer: Answer | None) -> Mapping[str, Any] | None:
    """Return how good the answer is, or the question back about an ambiguous time."""
    told = absence.asked_back(plan)
    if told is not None or answer is None:
        return told
    return asdict(answer.context)


def nothing_asked(plan: Plan) -> SearchAnswer:
    """Return the answer to an empty question, for which no backend is asked."""
    empty = Conclusion("done", (), RankedHits(), degraded=False)
    parts = response_parts.parts_without_reading(plan, empty)
    return respond(plan, None, empty, [], parts, {"total": 0.0})


def stability_hash(items: Sequence[Hit | Ranked]) -> str:
    """Return a digest of the order, the same for equal calls if nothing is written."""
    told = [
        [item.kind, item.chunk_id, round(item.relevance_score, HASH_DECIMALS)]
        for item in items
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def times_of(plan: Plan) -> dict[str, object]:
    """Return the times that were applied, and whether they were read out of words."""
    written = [
        {**_applied(one, "entry_time"), **_day_ends(one, plan)}
        for one in plan.time.written
    ]
    happened = [_applied(one, "event_time") for one in plan.time.happened]
    return {"applied": written + happened, "inferred": plan.time.is_inferred}


def _day_ends(one: Applied, plan: Plan) -> dict[str, str]:
    """Return the end of a named day, where the interval takes in the next day, too."""
    ends = {until: since for since, until in plan.ordering.beside_day.items()}
    end = ends.get(one.until or "")
    return {"day_ends": timestamp(datetime.fromisoformat(end))} if end else {}


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


def is_under_window(plan: Plan, searched: Sequence[Outcome], order: RankedHits) -> bool:
    """Tell whether the window holds every hit that a branch found or could find."""
    is_full = any(outcome.kept >= plan.window for outcome in searched)
    return not is_full and not order.is_short


def is_cut(plan: Plan, branches: Sequence[Outcome]) -> bool:
    """Tell whether a part of the question was left out."""
    told = (note for branch in branches for note in branch.diagnostics)
    return bool(list_cuts((*plan.diagnostics, *told)))


def _total(plan: Plan, conclusion: Conclusion) -> TotalCandidates:
    """Return how many entries match, exactly if a branch by words counted them.

    Else it is how many were found and not left out, in the window or beyond it.
    """
    by_words = plan.method == "keyword" and not is_cut(plan, conclusion.branches)
    for one in conclusion.branches:
        if by_words and one.counted:
            return TotalCandidates(one.candidates, exact=True)
    order = conclusion.order
    left_out = order.suppressed.count + order.rejected
    found = len(order.items) + len(order.beyond) - left_out
    return TotalCandidates(found, exact=False)


def _is_complete(
    plan: Plan, heard: Sequence[Outcome], *, whole: bool, state: str
) -> bool:
    """Tell whether all matches are on this page or on those that follow."""
    if is_cut(plan, heard):
        return False
    if not plan.exhaustive:
        return whole and state == "done"
    return any(one.counted for one in heard if one.name != FACETS)


def _diagnostics(
    plan: Plan, conclusion: Conclusion, parts: ResponseParts
) -> list[Diagnostic]:
    of_branches = (note for b in conclusion.branches for note in b.diagnostics)
    told = [*plan.diagnostics, *parts.notes, *of_branches, *conclusion.order.notes]
    told += _retrieval_notes(plan, conclusion.branches)
    return parts.became.notes([*dict.fromkeys(told)])


def _retrieval_notes(plan: Plan, branches: Sequence[Outcome]) -> list[Diagnostic]:
    """Return which modules an answer from what is retrieved had to go without."""
    if plan.method != RAG:
        return []
    return [
        Diagnostic(
            "warning",
            f"rag.retrieve.{family_of(one.name)}",
            one.error_code or str(one.reason),
            f"{one.name} failed: the answer goes without what it would have found.",
            one.error_category or "internal",
        )
        for one in absence.list_unsearched(branches)
        if one.unsearched
    ]


def _thresholds(
    plan: Plan, searched: Sequence[Outcome], order: RankedHits
) -> dict[str, float]:
    """Return the thresholds that admitted candidates or cut them, by name."""
    floor = next((b.floor for b in searched if b.floor is not None), None)
    notes = {note.code for b in searched for note in b.diagnostics}
    is_respelt = "fuzzy_fallback" in notes
    applied = {
        "similarity_threshold": floor,
        "fuzzy_threshold": plan.words.fuzzy_threshold if is_respelt else None,
        **_score_thresholds(plan, order),
    }
    return {name: value for name, value in applied.items() if value is not None}


def _score_thresholds(plan: Plan, order: RankedHits) -> dict[str, float | None]:
    """Return the thresholds that cut hits by score: the least score, and `strict`'s."""
    ordering, least = plan.ordering, order.suppressed.threshold
    if least is None or not ordering.strict:
        return {"min_relevance_score": least}
    # The order keeps only the higher of both thresholds.
    given = ordering.min_relevance_score
    if given is None and least > ordering.medium:
        given = least
    return {"min_relevance_score": given, "confidence": ordering.medium}
