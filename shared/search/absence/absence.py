"""Explains a page without hits: the coverage, unknown times and near misses, in words.

Facility time stands first, UTC beside it. What could not be searched is never said to
be empty.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres import request_deadline
from shared.postgres.pool import Pool, connection
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import coverage, near_misses, pending_entries
from shared.search.absence.coverage import Coverage, Unknown
from shared.search.absence.near_misses import NearMisses
from shared.search.jobs.outcome import FACETS, Outcome
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.modes import AGENT
from shared.search.query.plan import Plan
from shared.search.results.conclude import Conclusion
from shared.times.rfc3339 import on_clock

log = get_logger()

# A source that is asked every minute is always a little behind: less is not late.
_LAGGING_SECONDS = 300.0
# With less time left, near misses are not looked for.
NEAR_MS = 300
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_MOST_SENTENCES = 6
# How many sources are named in one sentence.
_MOST_NAMED = 5
EMPTY_QUERY = "empty_query"
# Why a branch was skipped, in words that a reader understands.
_WHY = {
    EMPTY_QUERY: "there is no word in the question",
    "language": "its model does not know the language of the question",
}


@dataclass(frozen=True, slots=True)
class Absence:
    """Explains an empty page: coverage, wider filters, and a summary in sentences."""

    coverage: dict[str, Any] | None = None
    relaxation: dict[str, Any] | None = None
    context_answer: dict[str, Any] | None = None


PRESENT = Absence()


def explain_empty_page(
    pool: Pool,
    plan: Plan,
    conclusion: Conclusion,
    question: CompiledQuery,
    timeout_ms: int,
) -> Absence:
    """Explain a page without hits; log and leave out a part that cannot be read."""
    left = Deadline.after(timeout_ms)
    covered, near = None, NearMisses()
    try:
        with _part("coverage"):
            covered = coverage.measure_coverage(pool, plan, conclusion.branches, left)
        may_be_near = conclusion.order.missed or conclusion.is_compared(plan)
        if left.left_ms >= NEAR_MS and may_be_near:
            with (
                _part("near_misses"),
                request_deadline.hurried(left.left_ms / 1000),
                connection(pool) as conn,
            ):
                near = near_misses.find_near_misses(
                    conn, plan, conclusion, question, left
                )
    except DatabaseConnectionError as exc:
        log.warning("absence_not_read", code=exc.error_code)
    return build_absence(plan, conclusion, covered, near)


@contextmanager
def _part(name: str) -> Iterator[None]:
    """Log a failed query and go on without its part of the explanation."""
    try:
        yield
    except DatabaseQueryError as exc:
        log.warning("absence_not_read", part=name, code=exc.error_code)


def build_absence(
    plan: Plan, conclusion: Conclusion, covered: Coverage | None, near: NearMisses
) -> Absence:
    """Build the explanation of an empty page from what coverage and near misses say."""
    code = _code(plan, conclusion, covered)
    said = list(_sentences(plan, conclusion, covered, near))
    body = None if covered is None else covered.body()
    if body is not None:
        body["nearest"] = near.items(plan.scope.tenant)
    relaxation = None
    if near.outside is not None:
        relaxation = {"count_outside": near.outside, "widen_to": near.wider}
    answer = _unanswered(plan, "insufficient", code, " ".join(said))
    return Absence(body, relaxation, answer)


def asked_back(plan: Plan) -> dict[str, Any] | None:
    """Ask the reader which of two times is meant; None where no time comes twice."""
    if not plan.time.asks:
        return None
    said = "The time of the question comes twice; both are searched."
    return _unanswered(plan, "clarify", "ambiguous_time", said)


def _unanswered(plan: Plan, status: str, code: str, summary: str) -> dict[str, Any]:
    return {
        "status": status,
        "code": code,
        "summary": summary,
        "reason": plan.reasoning,
        "grade": "D",
        "evidence": [],
        "citations": [],
        "questions": list(plan.time.asks),
        "unsupported": [],
        "slots": {},
    }


def _code(plan: Plan, conclusion: Conclusion, covered: Coverage | None) -> str:
    """Return the one word of why; the first that holds, whatever came near."""
    if not plan.branches:
        return "branches_failed" if plan.method == AGENT else EMPTY_QUERY
    unsearched = list_unsearched(conclusion.branches)
    if unsearched and all(one.reason == EMPTY_QUERY for one in unsearched):
        return EMPTY_QUERY
    if unsearched:
        return "branches_failed"
    if conclusion.order.suppressed.count:
        return "below_threshold"
    if covered is None or not covered.standings:
        return "no_results"
    if covered.ends_before_any_source(plan.filters.until, _sources_of(covered)):
        return "outside_coverage"
    is_behind = any(one.why != "lag" or _is_late(one) for one in covered.unknown)
    return "source_lagging" if is_behind or covered.waiting != 0 else "absence_covered"


def _sources_of(covered: Coverage) -> set[str]:
    return {source for source, _ in covered.counts or {}}


def list_unsearched(branches: Sequence[Outcome]) -> list[Outcome]:
    """Return the branches that did not search and whose fallback did not either.

    A branch that had nothing to do is missed only where no other one searched.
    """
    asked = _asked(branches)
    if all(one.status == "skipped" for one in asked):
        return asked
    instead = {one.fallback_for for one in branches if not one.failed}
    return [one for one in asked if one.unsearched and one.name not in instead]


def _asked(branches: Sequence[Outcome]) -> list[Outcome]:
    return [one for one in branches if one.name != FACETS]


def say_unasked(plan: Plan) -> str:
    """Return why a plan without branches has found nothing."""
    if plan.method == AGENT:
        return "The model called no tool that could be run: nothing was searched."
    return "Nothing was asked for."


def say_idle(one: Outcome) -> str | None:
    """Return why a branch had nothing to do; None: it searched, or should have."""
    return _WHY.get(one.reason or "") if one.status == "skipped" else None


def say_unsearched(branches: Sequence[Outcome]) -> str:
    """Name the branches that could not search; empty where all of them searched."""
    failed = list_unsearched(branches)
    return _say_failed("Not everything", failed) if failed else ""


def say_searched(plan: Plan) -> str:
    """Name what was searched: which sources, and what time.

    How many entries there are stands in the coverage: it is not always counted in
    time, and the same question has the same answer.
    """
    among = _listed(sorted(plan.filters.sources or ())) or "every source"
    return f"Searched: {among}{_written(plan)}."


def say_unknown(plan: Plan, covered: Coverage) -> str:
    """Name the times that sources have not brought yet; empty where none is late."""
    behind = [one for one in covered.unknown if one.why != "lag" or _is_late(one)]
    return " ".join(_unknown(one, plan.time.zone) for one in behind[:_MOST_NAMED])


def say_outside_coverage(plan: Plan, covered: Coverage) -> str:
    """Return from when on the sources are complete, where a time lies before that."""
    zone = plan.time.zone
    firsts = [
        f"{one.source} from {_moment(one.complete_from, zone)} on"
        for one in covered.standings
        if one.complete_from is not None
    ]
    return f"That time lies before all that is loaded whole: {_listed(firsts)}."


def say_hits_at_other_times(hits: int, year: tuple[str, str] | None, zone: str) -> str:
    """Return how many hits are shown beside the page, and when they were written."""
    what = "the best is shown" if hits == 1 else f"the best {hits} are shown"
    where = "At other times"
    if year:
        since = datetime.fromisoformat(year[0])
        where = f"In {since.astimezone(ZoneInfo(zone)).year}, at the same time of year,"
    return f"{where} there are hits: {what} apart."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join((*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])))


def _say_failed(what: str, failed: Sequence[Outcome]) -> str:
    names = ", ".join(
        f"{one.name} ({_WHY.get(one.reason or '') or one.error_code or one.reason})"
        for one in failed
    )
    return f"{what} could be searched: {names}. There may be more."


def _sentences(
    plan: Plan, conclusion: Conclusion, covered: Coverage | None, near: NearMisses
) -> Iterator[str]:
    """Yield sentences of what was searched, of the rest, and why it may be missing."""
    failed = list_unsearched(conclusion.branches)
    if not plan.branches:
        yield _say_failed("Nothing", failed) if failed else say_unasked(plan)
        return
    was_asked = len(failed) < len(_asked(conclusion.branches)) or any(
        one.status != "skipped" for one in failed
    )
    if failed:
        yield _say_failed("Not everything" if was_asked else "Nothing", failed)
    if was_asked:
        yield _searched(plan, covered)
    if covered and covered.ends_before_any_source(
        plan.filters.until, _sources_of(covered)
    ):
        yield say_outside_coverage(plan, covered)
    if covered and covered.waiting != 0:
        yield _waiting(covered.waiting)
    for one in (covered.unknown if covered else ())[:_MOST_SENTENCES]:
        yield _unknown(one, plan.time.zone)
    left = len(covered.unknown if covered else ()) - _MOST_SENTENCES
    if left > 0:
        yield f"And {left} more such times are unknown."
    left_out = conclusion.order.suppressed
    if left_out.count:
        best, least = left_out.best_score or 0.0, left_out.threshold or 0.0
        yield f"{left_out.count} scored below {least:.2f}, the best {best:.2f}."
    if near.outside:
        more = "at least " if near.outside == near_misses.MOST_OUTSIDE else ""
        what = "matches" if near.outside == 1 else "match"
        yield f"Without the filters {more}{near.outside} {what}."


def _searched(plan: Plan, covered: Coverage | None) -> str:
    entries = covered.entries if covered else None
    among = "entries that could not be counted in time"
    if entries is not None:
        among = "1 entry" if entries == 1 else f"{entries} entries"
    age = covered.counted.age if covered and covered.counted else 0.0
    counted = f", as counted {_span(age)} ago" if age >= _MINUTE else ""
    return f"Nothing was found among {among}{_written(plan)}{counted}."


def _written(plan: Plan) -> str:
    """Return the time that is searched; nothing where it is all of it."""
    since, until = plan.filters.since, plan.filters.until
    window = ""
    if since:
        window += f" from {_moment(datetime.fromisoformat(since), plan.time.zone)}"
    if until:
        window += f" before {_moment(datetime.fromisoformat(until), plan.time.zone)}"
    return f" written{window}" if window else ""


def _waiting(entries: int | None) -> str:
    if entries is None:
        return "How many more wait to be read could not be counted in time."
    if entries == 1:
        return "1 that was written or changed waits to be read: it may match."
    more = "At least " if entries >= pending_entries.MOST else ""
    return (
        f"{more}{entries} that were written or changed wait to be read: they may match."
    )


def _unknown(one: Unknown, zone: str) -> str:
    if one.why == "lag" and one.since is not None and one.until is not None:
        behind = _span((one.until - one.since).total_seconds())
        since = _moment(one.since, zone)
        return f"{one.source} is {behind} behind: from {since} on nothing is known."
    ends = [
        f"{word} {_moment(moment, zone)}"
        for word, moment in (("from", one.since), ("to", one.until))
        if moment is not None
    ]
    said = " ".join(ends) or "at any time"
    if one.why == "gap":
        return f"{one.source} could not be read {said}: unknown."
    return f"{one.source} is not loaded {said}: unknown."


def _is_late(one: Unknown) -> bool:
    if one.since is None or one.until is None:
        return True
    return (one.until - one.since).total_seconds() > _LAGGING_SECONDS


def _moment(moment: datetime, zone: str) -> str:
    return on_clock(moment, ZoneInfo(zone))


def _span(seconds: float) -> str:
    for size, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
