"""Builds the parts of a response besides its hits: absence, hidden count, overflow."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from shared.errors import DatabaseConnectionError, DatabaseQueryError, LogchordError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import absence, coverage, outside_time_range, unknown_sources
from shared.search.absence.absence import PRESENT, Absence
from shared.search.absence.coverage import Coverage
from shared.search.absence.near_misses import NearMisses
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.ranked_hits import Ranked
from shared.search.response import engine_queries, outside_hits
from shared.search.response.card import Card
from shared.search.response.search_answer import Overflow
from shared.search.results import visible_expansions
from shared.search.results.conclude import Conclusion
from shared.search.results.highlights import Highlighter
from shared.search.results.hit import Hit
from shared.search.results.mark_passages import make_marker, mark_passages
from shared.search.results.result_page import read_page
from shared.search.results.visible_expansions import Became
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import hidden_count
from shared.search.retrieval.search_context import SearchContext
from shared.sources.known_sources import SourceBehind

log = get_logger()

# How much of the time left this count may take: no hit depends on it.
HIDDEN_MS, HIDDEN_SHARE = 300, 0.3
# With less time left an empty page is not explained by queries: it must not be late.
LEAST_MS = 200
# How many of the sources that are behind are named.
MOST_BEHIND = 20
# How many hits beyond the scope are shown; with less time left there are none.
_MOST_OVERFLOW, _LEAST_OVERFLOW_MS = 3, 50
_SCOPE = "scope"


class ResponseParts(NamedTuple):
    """Everything that one response says besides its hits."""

    absence: Absence = PRESENT
    # What was searched, where there are hits.
    covered: Coverage | None = None
    # How many match that the caller may not see; None: not counted.
    hidden: int | None = None
    # The expansions of the question's words, and with `debug` the queries sent.
    became: Became = visible_expansions.NOTHING
    sent: Mapping[str, object] = MappingProxyType({})
    # The searched sources that are not up to date.
    behind: Sequence[SourceBehind] = ()
    # The sources that were asked for and are unknown.
    notes: Sequence[Diagnostic] = ()
    # Hits outside of a time that was read, where none lie inside, or beyond the scope
    # of the page.
    overflow: Overflow | None = None
    # Cards, made by a higher room.
    cards: Sequence[Card] = ()


def build_response_parts(
    context: SearchContext,
    plan: Plan,
    conclusion: Conclusion,
    hits: Sequence[Hit],
    marker: Highlighter,
    timeout_ms: int,
) -> ResponseParts:
    """Build everything that the response needs besides its hits.

    The absence report is built only for an empty page.
    """
    left = Deadline.after(timeout_ms)
    parts = _build_parts(context, plan, conclusion, hits, marker, left)
    found = {one.source for one in conclusion.ranked}
    return parts._replace(
        behind=_list_behind(context, plan),
        notes=unknown_sources.note_unknown_sources(context, plan, found, left.left_ms),
    )


def _list_behind(context: SearchContext, plan: Plan) -> list[SourceBehind]:
    if context.sources is None or not plan.branches:
        return []
    wanted, unwanted = plan.filters.sources, plan.filters.not_sources or ()
    return [
        one
        for one in context.sources.list_behind(plan.scope.tenant)
        if (wanted is None or one.source in wanted) and one.source not in unwanted
    ][:MOST_BEHIND]


def _build_parts(
    context: SearchContext,
    plan: Plan,
    conclusion: Conclusion,
    hits: Sequence[Hit],
    marker: Highlighter,
    left: Deadline,
) -> ResponseParts:
    hidden = _count_hidden(context, plan, left.left_ms)
    became = _expansions(context, plan, conclusion, hits, marker)
    sent: Mapping[str, object] = {}
    if plan.detail.debug:
        known = became.known(marker.known)
        sent = engine_queries.describe_engine_queries(
            context, plan, conclusion, known, left.left_ms
        )
    outside = outside_time_range.count_outside_time_range(context, plan, left.left_ms)
    if hits:
        covered = coverage.measure_beside_hits(
            context.pool, plan, conclusion.branches, left.left_ms
        )
        told = covered.body(Counter(one.kind for one in conclusion.ranked))
        beside = find_scope_overflow(context, plan, conclusion, left.left_ms)
        told_of = Absence({**told, "nearest": []}, relaxation=outside)
        return ResponseParts(told_of, covered, hidden, became, sent, overflow=beside)
    if not plan.branches or left.left_ms < LEAST_MS:
        return parts_without_reading(plan, conclusion)._replace(
            hidden=hidden, sent=sent
        )
    overflow = outside_hits.find_outside_hits(context, plan, conclusion, left.left_ms)
    absent = absence.explain_empty_page(
        context.pool, plan, conclusion, marker.question, left.left_ms
    )
    if outside is not None:
        # Filters are meant, so the matches that they keep out stand in the summary.
        absent = replace(absent, relaxation=outside)
    if overflow is not None and absent.context_answer is not None:
        elsewhen = absence.say_hits_at_other_times(
            len(overflow.items), overflow.time, plan.time.zone
        )
        said = f"{absent.context_answer['summary']} {elsewhen}"
        told = {**absent.context_answer, "summary": said}
        absent = replace(absent, context_answer=told)
    return ResponseParts(absent, hidden=hidden, sent=sent, overflow=overflow)


def _expansions(
    context: SearchContext,
    plan: Plan,
    conclusion: Conclusion,
    hits: Sequence[Hit],
    marker: Highlighter,
) -> Became:
    """Return the expansions of the question's words; most questions have none."""
    facility = synonyms.add_synonyms(context.facility, plan.words.glossary)
    if not hits or not (marker.known or facility.glossary):
        return visible_expansions.NOTHING
    ways = visible_expansions.ways_of(marker.question, marker.known, facility)
    ids = [hit.entry_id for hit in hits]
    if plan.detail.debug:
        ids = [item.entry_id for item in conclusion.ranked]
    return visible_expansions.load_visible_expansions(
        context.pool, plan.scope, ways, ids
    )


def _count_hidden(context: SearchContext, plan: Plan, timeout_ms: int) -> int | None:
    """Count the hidden matches; None where the number must not be told or is late."""
    ms = min(HIDDEN_MS, int(HIDDEN_SHARE * timeout_ms))
    if not plan.detail.acl_honesty or not plan.branches or ms <= 0:
        return None
    try:
        return hidden_count.count(Ask.lasting(plan, ms / 1000), context)
    except LogchordError as exc:
        log.warning("hidden_not_counted", code=exc.error_code)
        return None


def parts_without_reading(plan: Plan, conclusion: Conclusion) -> ResponseParts:
    """Build the parts of a response without any query."""
    if conclusion.ranked:
        return ResponseParts()
    return ResponseParts(absence.build_absence(plan, conclusion, None, NearMisses()))


class ScopeRivals(NamedTuple):
    """The hits beyond a scope that rival its best one, best first, and why."""

    items: Sequence[Ranked]
    reason: Literal["stronger", "close_band"]


def find_scope_overflow(
    context: SearchContext, plan: Plan, conclusion: Conclusion, left_ms: int
) -> Overflow | None:
    """Return the best hits beyond the scope; None: none is as good as those within.

    A scope is a bias and no filter: a hit that it moves down must not be overlooked.
    """
    ordering = plan.ordering
    is_scoped = any(ordering.scope.values()) and not plan.is_listing
    if not is_scoped or left_ms < _LEAST_OVERFLOW_MS:
        return None
    rivals = choose_rivals(
        conclusion.ranked, ordering.overflow_band, ordering.overflow_lead
    )
    if rivals is None:
        return None
    shown = replace(plan, limit=len(rivals.items))
    runs = fold.group_runs(rivals.items)
    try:
        page = read_page(context.pool, shown, runs, left_ms, with_values=False)
        marker = make_marker(context, shown, conclusion, page)
        hits = mark_passages(context, plan.scope.tenant, page, marker)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("scope_overflow_not_read", code=exc.error_code)
        return None
    if not hits:
        return None
    return Overflow(hits, rivals.reason, ordering.overflow_band)


def choose_rivals(
    items: Sequence[Ranked], band: float, lead: float
) -> ScopeRivals | None:
    """Choose the hits that score more than the best within the scope, or nearly so."""
    within = [one.relevance_score for one in items if _SCOPE in one.factors]
    outside = sorted(
        (one for one in items if _SCOPE not in one.factors),
        key=lambda one: -one.relevance_score,
    )
    if not outside:
        return None
    winner, best = max(within, default=0.0), outside[0].relevance_score
    # Scores have six digits where they are compared for equality.
    if best < round(winner * (1 - lead), 6):
        return None
    least = round(winner * (1 - band), 6)
    near = [one for one in outside if one.relevance_score >= least][:_MOST_OVERFLOW]
    reason: Literal["stronger", "close_band"] = "close_band"
    if best > winner:
        reason = "stronger"
    return ScopeRivals(near, reason) if near else None
