"""Finds hits outside of a time that was read out of a question, where none lie inside.

Such a time is a guess and must not empty a page. The question is searched once more
without it, by the branches that can be asked in time, and the best few hits are shown
beside the empty page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.statement_deadline import Deadline
from shared.search.jobs.outcome import Candidate, Outcome, Status
from shared.search.query.filters.time_range import Applied
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.response.search_answer import Overflow
from shared.search.results import ranking_features
from shared.search.results.conclude import Conclusion, conclude
from shared.search.results.mark_passages import make_marker, mark_passages
from shared.search.results.result_page import read_page
from shared.search.retrieval.branch.branch_run import Branch, carry_out
from shared.search.retrieval.installed_modules import compares_words
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import semantic
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

MOST = 3
# The share of the time left that this may take: the page has other parts.
SHARE = 0.6
# With less time left nothing is searched again.
LEAST_MS = 150
# The share of that time that the search may take; the rest is for facts and texts.
_SEARCH_SHARE = 0.6
REASON = "outside_time"
# The beginning of an interval, and its end, which lies outside.
Interval: TypeAlias = tuple[str, str]
_MEANING = "semantic"


class _Nearest(NamedTuple):
    """An entry, and how far from the time asked for it was written."""

    off: timedelta
    entry_id: str


def find_outside_hits(
    context: SearchContext, plan: Plan, conclusion: Conclusion, left_ms: int
) -> Overflow | None:
    """Return the best hits at other times; None: no time was read, or no hit is there.

    Where hits inside scored too low, None as well: the time is not to blame.
    """
    ms = int(SHARE * left_ms)
    elsewhen = plan.time.elsewhen
    if elsewhen is None or conclusion.order.suppressed.count or ms < LEAST_MS:
        return None
    left = Deadline.after(ms)
    try:
        # A date without a year is first looked for in earlier years.
        for asked in filter(None, (elsewhen.in_earlier_years, elsewhen)):
            without = replace(
                plan,
                tree=asked.tree,
                filters=asked.filters,
                limit=MOST,
                time=replace(plan.time, written=(), happened=(), elsewhen=None),
            )
            outcomes = _searched(context, without, conclusion, left)
            years = asked.earlier if asked is not elsewhen else ()
            year = _latest_year(outcomes, years)
            found = _overflow(context, plan, without, _within(outcomes, year), left)
            if found is not None:
                return replace(found, time=year)
    except LogchordError as exc:
        # The answer is good without these hits.
        log.warning("other_times_not_searched", code=exc.error_code)
    return None


def _latest_year(
    outcomes: Mapping[str, list[Outcome]], years: Sequence[Interval]
) -> Interval | None:
    """Return the latest of these intervals in which a hit was written."""
    hits = [hit for told in outcomes.values() for one in told for hit in one.hits]
    return next((one for one in years if any(_lies(hit, one) for hit in hits)), None)


def _within(
    outcomes: Mapping[str, list[Outcome]], year: Interval | None
) -> dict[str, list[Outcome]]:
    """Return the outcomes with the hits of one year alone; None: with all hits."""
    if year is None:
        return dict(outcomes)
    return {
        name: [
            replace(one, hits=tuple(hit for hit in one.hits if _lies(hit, year)))
            for one in branch
        ]
        for name, branch in outcomes.items()
    }


def _lies(hit: Candidate, within: Interval) -> bool:
    since, until = map(datetime.fromisoformat, within)
    return since <= datetime.fromisoformat(hit.entry_time) < until


def _searched(
    context: SearchContext, plan: Plan, conclusion: Conclusion, left: Deadline
) -> dict[str, list[Outcome]]:
    """Search again without the time; return the outcomes by branch name.

    The branch by meaning uses the vector of the first search.
    """
    seconds = _SEARCH_SHARE * left.left_ms / 1000
    found: dict[str, list[Outcome]] = {}
    for name in plan.branches:
        if compares_words(name):
            ends_at = context.now() + seconds
            found[name] = carry_out(Branch(plan, name, ends_at, context.now), context)
    before = next((one for one in conclusion.branches if one.vector), None)
    if _MEANING in plan.branches and before is not None:
        hits = semantic.search_again(Ask.lasting(plan, seconds), context, before)
        status: Status = "ok" if hits else "empty"
        found[_MEANING] = [replace(before, status=status, hits=hits, kept=len(hits))]
    return found


def _overflow(
    context: SearchContext,
    asked: Plan,
    plan: Plan,
    outcomes: dict[str, list[Outcome]],
    left: Deadline,
) -> Overflow | None:
    plan = replace(plan, branches=tuple(outcomes))
    every = [one for branch in outcomes.values() for one in branch]
    if not any(one.hits for one in every):
        return None
    facts = ranking_features.load_ranking_features(
        context, plan, every, left.left_ms // 2
    )
    conclusion = conclude(plan, dict(enumerate(outcomes.values())), facts)
    runs = fold.group_runs(conclusion.ranked)
    nearest = _nearest([hit for one in every for hit in one.hits], asked)
    nearest_id = nearest and nearest.entry_id
    holding = (run for run in runs for item in run if item.entry_id == nearest_id)
    first = next(holding, None)
    best = runs[:MOST]
    if first is not None and first not in best:
        # The hit nearest in time is always among them.
        best = [*best[: MOST - 1], first]
    page = read_page(context.pool, plan, best, max(1, left.left_ms), with_values=False)
    marker = make_marker(context, plan, conclusion, page)
    hits = mark_passages(context, plan.scope.tenant, page, marker)
    shown = {hit.entry_id for hit in hits}
    told = nearest_id if nearest_id in shown else None
    return Overflow(hits, REASON, None, told) if hits else None


def _nearest(hits: Sequence[Candidate], plan: Plan) -> _Nearest | None:
    """Return the hit that was written nearest to any of the times asked for."""
    times = (*plan.time.written, *plan.time.happened)
    found = (
        _Nearest(_off(datetime.fromisoformat(hit.entry_time), one), hit.entry_id)
        for hit in hits
        for one in times
    )
    return min(found, default=None)


def _off(moment: datetime, one: Applied) -> timedelta:
    since, until = (
        end and datetime.fromisoformat(end) for end in (one.since, one.until)
    )
    if since and moment < since:
        return since - moment
    return moment - until if until and moment >= until else timedelta()
