"""Counts the matches that a time read out of a question keeps out, and the nearest.

A filter is meant as it is given, but such a time is a guess: the answer tells its
reader what the question would find without it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, LiteralString

from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import list_cuts
from shared.search.query.filters.time_range import Applied
from shared.search.query.plan import Plan
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.search.retrieval.modules.pg_fts import with_words
from shared.times.rfc3339 import timestamp

log = get_logger()

# How many matches are counted at most; the nearest is looked for among them.
MOST = 1000
# The count may take this share of the time left: no hit depends on the number.
MS, SHARE = 200, 0.2
# The finest that filters tell times apart.
_STEP = timedelta(milliseconds=1)

_COUNT: LiteralString = f"""
    SELECT count(*), max(entry_time) FILTER (WHERE entry_time < %(since)s),
           min(entry_time) FILTER (WHERE entry_time >= %(until)s)
      FROM (SELECT e.entry_time{with_words()}
               AND NOT (e.entry_time <@ %(written)s::tstzmultirange
                        AND (%(happened)s::tstzmultirange IS NULL
                             OR e.entry_time <@ %(happened)s::tstzmultirange
                             OR coalesce(
                                e.event_time <@ %(happened)s::tstzmultirange, false)))
             LIMIT %(most)s) AS outside"""


def count_outside_time_range(
    context: Lexicon, plan: Plan, left_ms: int
) -> dict[str, Any] | None:
    """Count the matches at other times; None: no time was read, or none can be counted.

    A search by meaning alone has no such matches, and a question that was cut would
    count those of another question.
    """
    ms = min(MS, int(SHARE * left_ms))
    if plan.time.elsewhen is None or plan.method == "semantic" or ms <= 0:
        return None
    tree, filters = plan.time.elsewhen.tree, plan.time.elsewhen.filters
    ask = Ask.lasting(replace(plan, tree=tree, filters=filters), ms / 1000)
    try:
        return _counted(ask, context, plan)
    except LogchordError as exc:
        # The answer stands without it.
        log.warning("other_times_not_counted", code=exc.error_code)
        return None


def _counted(ask: Ask, lexicon: Lexicon, plan: Plan) -> dict[str, Any] | None:
    asked = branch_query.by_all_words(ask, lexicon, "other_times")
    if list_cuts((*plan.diagnostics, *asked.diagnostics)) or not asked.question.finds:
        return None
    within = (plan.filters.since, plan.filters.until)
    since, until = (datetime.fromisoformat(one) if one else None for one in within)
    given = {
        **asked.params,
        "since": since,
        "until": until,
        "written": _ranges(plan.time.written) or "{(,)}",
        "happened": _ranges(plan.time.happened),
        "most": MOST,
    }
    for question in dict.fromkeys((asked.question, asked.question.relaxed())):
        queries = branch_query.queries(question)
        with timed_connection(lexicon.pool, ask.budget_ms) as conn:
            # Planned with the values at hand, as searches are.
            values = {**given, "queries": queries}
            row = conn.execute(_COUNT, values, prepare=False).fetchone()
        assert row is not None
        count, before, after = row
        if count:
            break
    ends = stretch_interval(since, until, before, after)
    return {"count_outside": count, "widen_to": ends}


def _ranges(times: Sequence[Applied]) -> str | None:
    """Return intervals as Postgres reads a multirange; None where there are none."""
    if not times:
        return None
    told = [
        f"[{one.since or ''},{one.until or ''})"
        for one in times
        # Postgres refuses an interval that ends before it begins.
        if one.since is None or one.until is None or one.since < one.until
    ]
    return "{" + ",".join(told) + "}"


def stretch_interval(
    since: datetime | None,
    until: datetime | None,
    before: datetime | None,
    after: datetime | None,
) -> dict[str, str | None] | None:
    """Return an interval stretched to the nearest match outside; None without one.

    An end that was open stays open: it is never narrower than what was asked for.
    """
    if since and before and (not (after and until) or since - before <= after - until):
        # Filters write times in milliseconds.
        first = before.replace(microsecond=before.microsecond // 1000 * 1000)
        return {"from": timestamp(first), "to": timestamp(until)}
    if until and after:
        last = after.replace(microsecond=after.microsecond // 1000 * 1000) + _STEP
        return {"from": timestamp(since), "to": timestamp(last)}
    return None
