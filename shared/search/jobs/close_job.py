"""Ends search jobs, each once: whoever comes second changes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import redis
from psycopg import Connection
from psycopg.types.json import Jsonb

from shared import errors
from shared.log import get_logger
from shared.search.jobs import job as jobs
from shared.search.jobs import verdict
from shared.search.jobs.job import Job, StoredJob
from shared.search.jobs.outcome import FACETS, Outcome, make_overdue
from shared.search.jobs.verdict import FailedSearch

log = get_logger()

# The API answers shortly before the deadline: half a second later nobody waits.
GRACE_SECONDS = 0.5
_BATCH = 100
# The mode whose branches are the agent's calls; nobody knows beforehand how many.
_AGENT = "agent"

# A direct query has no row before its end, a submitted one has it from the start.
# Losing the last moments of this table in a crash costs replay alone: whoever commits
# does not wait for the disk.
_INSERT: LiteralString = """
    INSERT INTO job (id, tenant, subject, key_id, state, request, plan, branches,
                     ranked, error, created_at, deadline_at, ended_at)
    VALUES (%(id)s, %(tenant)s, %(subject)s, %(key_id)s, %(state)s, %(request)s,
            %(plan)s, %(branches)s, %(ranked)s, %(error)s, %(created_at)s,
            %(deadline_at)s, clock_timestamp())
    ON CONFLICT DO NOTHING
    RETURNING id, set_config('synchronous_commit', 'off', true)"""
_END: LiteralString = """
    UPDATE job
       SET state = %(state)s, branches = %(branches)s, ranked = %(ranked)s,
           error = %(error)s, cancelled = %(cancelled)s, ended_at = clock_timestamp()
     WHERE id = %(id)s AND tenant = %(tenant)s AND ended_at IS NULL
    RETURNING id"""
_OVERDUE: LiteralString = """
    SELECT id, tenant, plan
      FROM job
     WHERE ended_at IS NULL
       AND deadline_at < clock_timestamp() - make_interval(secs => %(grace)s)
     ORDER BY deadline_at, id
     LIMIT %(batch)s"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended: ids, revisions and scores, never text."""

    state: str
    branches: Sequence[Outcome]
    # None: not ranked yet; whoever reads the job ranks its branches.
    ranked: dict[str, Any] | None
    error: dict[str, Any] | None


def close_job(conn: Connection, job: Job, ending: Ending) -> bool:
    """Store how a job ended, unless that is stored; True for whoever was first."""
    values = _values(job.job_id, job.tenant, ending)
    if job.submitted:
        return conn.execute(_END, values, prepare=True).fetchone() is not None
    given = {**jobs.row_of(job), **values}
    return conn.execute(_INSERT, given, prepare=True).fetchone() is not None


@dataclass(frozen=True, slots=True)
class Overdue:
    """How a job was ended past its deadline, and which branches told nothing."""

    state: str
    # Branches without an outcome; empty where Redis cannot tell which ones have any.
    unheard: tuple[str, ...]
    deadline_seconds: float


def finish_overdue_jobs(conn: Connection, client: redis.Redis) -> list[Overdue]:
    """End submitted jobs past their deadline with the stored outcomes; return them."""
    ended = []
    jobs = conn.execute(_OVERDUE, {"grace": GRACE_SECONDS, "batch": _BATCH}).fetchall()
    heard: Mapping[int, Sequence[Outcome]] | None = {}
    for job_id, tenant, plan in jobs:
        # A Redis that hangs is not asked again: the other jobs are late as well.
        heard = None if heard is None else what_is_in(client, job_id)
        ending = _judged(heard or {}, plan)
        if conn.execute(_END, _values(job_id, tenant, ending)).fetchone() is None:
            # The job's own last branch ended it first.
            continue
        log.info("overdue_job_ended", job_id=str(job_id), state=ending.state)
        ended.append(_overdue(ending, heard, plan))
    return ended


def _overdue(
    ending: Ending,
    heard: Mapping[int, Sequence[Outcome]] | None,
    plan: Mapping[str, Any],
) -> Overdue:
    names = plan.get("branches", ()) if heard is not None else ()
    if plan.get("method") == _AGENT:
        # An agent decides on its calls as it goes: the plan names none to be missed.
        names = ()
    unheard = [name for number, name in enumerate(names) if number not in (heard or {})]
    return Overdue(ending.state, tuple(unheard), plan.get("deadline_ms", 0) / 1000)


def cancel(
    conn: Connection, found: StoredJob, arrived: Mapping[int, Sequence[Outcome]]
) -> str | None:
    """End a job with the stored outcomes, as its owner wishes; return its state.

    None: the job had ended already, and a job ends once.
    """
    told = _all_of(arrived[number] for number in sorted(arrived))
    state, error = "partial", None
    if all(outcome.failed for outcome in told if outcome.name != FACETS):
        cancelled = errors.LogchordError("The job was cancelled.", code="job_cancelled")
        state, error = "failed", cancelled.body()["error"]
    values = _values(found.id, found.tenant, Ending(state, told, None, error))
    row = conn.execute(_END, {**values, "cancelled": True}).fetchone()
    return None if row is None else state


def what_is_in(
    client: redis.Redis, job_id: UUID
) -> Mapping[int, Sequence[Outcome]] | None:
    """Return the outcomes stored so far, by branch; None while Redis is away."""
    try:
        return jobs.outcomes(client, job_id)
    except errors.CapacityError as exc:
        # A job ends by its deadline, with Redis or without.
        log.warning("outcomes_not_read", job_id=str(job_id), code=exc.error_code)
        return None
    except (KeyError, TypeError, ValueError) as exc:
        # Another release wrote them. The job ends all the same, or it would block all
        # jobs behind it for ever.
        log.error("outcomes_not_understood", job_id=str(job_id), error=repr(exc))  # noqa: TRY400
        return {}


def _judged(
    arrived: Mapping[int, Sequence[Outcome]], plan: Mapping[str, Any]
) -> Ending:
    """Build the ending of a job whose last branch did not come to rank its hits."""
    try:
        if plan.get("method") == _AGENT:
            return _of_agent(arrived, plan)
        # A branch that was not heard of has no scores, so it has no unit either.
        told = [
            arrived.get(number) or [make_overdue(name, unit="")]
            for number, name in enumerate(plan["branches"])
        ]
        asked = FailedSearch(plan["query"], plan["method"], plan["deadline_ms"])
        state, error = verdict.judge(told, asked)
        failed = error.body()["error"] if error else None
        return Ending(state, _all_of(told), None, failed)
    except (KeyError, TypeError) as exc:
        # Another release made the plan. The job ends all the same, or it would block
        # all jobs behind it for ever.
        unread = errors.InternalError(technical=f"The plan cannot be read: {exc!r}")
        log.error("plan_not_read", technical=unread.technical)  # noqa: TRY400
        return Ending("failed", [], None, unread.body()["error"])


def _all_of(branches: Iterable[Sequence[Outcome]]) -> list[Outcome]:
    return [outcome for branch in branches for outcome in branch]


def _of_agent(
    arrived: Mapping[int, Sequence[Outcome]], plan: Mapping[str, Any]
) -> Ending:
    """Build the ending of an agent's job at its deadline from what its calls found."""
    timeout = errors.SearchTimeoutError(
        timeout_seconds=plan["deadline_ms"] / 1000, operation=_AGENT
    )
    told = _all_of(arrived[number] for number in sorted(arrived))
    return Ending("partial", told, None, timeout.body()["error"])


def _values(job_id: UUID, tenant: str, ending: Ending) -> dict[str, Any]:
    # Ranked hits hold what the branches found; without a ranking theirs are kept. The
    # vector stays: it says how near an entry was that was not returned. Counts are made
    # anew for whoever reads the job: they would tell of entries that are gone by then.
    with_hits = ending.ranked is None
    branches = [
        {**outcome.values(with_hits=with_hits), "counts": None}
        for outcome in ending.branches
    ]
    return {
        "id": job_id,
        "tenant": tenant,
        "cancelled": False,
        "state": ending.state,
        "branches": Jsonb(branches),
        "ranked": None if ending.ranked is None else Jsonb(ending.ranked),
        "error": None if ending.error is None else Jsonb(ending.error),
    }
