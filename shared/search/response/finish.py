"""The last step of a search: conclude, read the page, tell who waits, store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import redis

from shared.errors import (
    DatabaseConnectionError,
    DatabaseQueryError,
    LogchordError,
    Severity,
)
from shared.log import get_logger
from shared.messaging.broker import translated_errors
from shared.postgres.pool import at_once
from shared.search.jobs import close_job
from shared.search.jobs.close_job import Ending
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import MAILBOX_SECONDS, Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.response import response_parts
from shared.search.response.response_body import render
from shared.search.results import paging, ranking_features, rerank_with_model
from shared.search.results.conclude import Conclusion, conclude
from shared.search.results.ranking_features import Named
from shared.search.results.result_page import read_page
from shared.text.facility.facility import PLAIN, Facility

if TYPE_CHECKING:
    from shared.access.cursors import Signer
    from shared.postgres.pool import Pool

log = get_logger()

LATE_READ_MS = 400
# Of what is left, at most so much goes into the facts: the page is worth more.
FACTS_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer to a job: a body, or the error that takes its place."""

    conclusion: Conclusion
    body: dict[str, Any] | None
    error: LogchordError | None

    @property
    def state(self) -> str:
        """Return how the job ended."""
        return "failed" if self.error else self.conclusion.state

    @property
    def ending(self) -> Ending:
        """Return what is stored of it; not before whoever waits is told."""
        error = self.error.body()["error"] if self.error else None
        told = (self.body or {}).get("stability_hash")
        return Ending(
            self.state,
            self.conclusion.branches,
            {**self.conclusion.window, "stability_hash": told},
            error,
        )


@dataclass(frozen=True, slots=True)
class Tools:
    """What it takes to finish a search, of whichever process does."""

    pool: Pool
    # Epoch seconds by the broker's clock.
    now: Callable[[], float]
    signer: Callable[[], Signer]
    # Whose words texts are read by.
    facility: Facility = PLAIN
    # None: this process reads nothing with a model.
    rerank_model: rerank_with_model.Model | None = None
    # What this process knows of a model by its name: the rest is read.
    named: Named = ranking_features.unknown


def finish(
    tools: Tools, job: Job, plan: Plan, arrived: Mapping[int, Sequence[Outcome]]
) -> Finished:
    """Rank what has arrived and read its page; a failed read is the job's error.

    At its deadline a search gets a moment more to read the page, and no longer.
    """
    began = time.perf_counter()
    heard = [outcome for branch in arrived.values() for outcome in branch]
    facts_ms = int((job.deadline - tools.now()) * 1000 * FACTS_SHARE)
    try:
        known = ranking_features.load_ranking_features(
            tools.pool, plan, heard, facts_ms, tools.named
        )
        known = rerank_with_model.rerank_with_model(
            tools.rerank_model,
            tools.pool,
            plan,
            arrived,
            known,
            job.deadline - tools.now(),
            tools.facility,
        )
    except DatabaseConnectionError as exc:
        return Finished(conclude(plan, arrived), None, exc)
    read_at = time.perf_counter()
    conclusion = conclude(plan, arrived, known)
    ranked_at = time.perf_counter()
    if conclusion.error is not None:
        return Finished(conclusion, None, conclusion.error)
    runs = fold.runs(conclusion.ranked)
    left_ms = max(LATE_READ_MS, int((job.deadline - tools.now()) * 1000))
    try:
        page = read_page(tools.pool, plan, runs, left_ms)
        following = paging.following(tools.signer, plan, job.job_id, runs, page)
        left_ms = int((job.deadline - tools.now()) * 1000)
        said = response_parts.build_response_parts(
            tools.pool, plan, conclusion, page, tools.facility, left_ms
        )
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        return Finished(conclusion, None, exc)
    took = {
        "facts": _ms(read_at - began),
        "rank": _ms(ranked_at - read_at),
        "hydrate": _ms(time.perf_counter() - ranked_at),
        "total": _ms(tools.now() - job.created),
    }
    body = render(plan, job.job_id, conclusion, page, took, following, said)
    return Finished(conclusion, body, None)


def tell(client: redis.Redis, mailbox: str, job: Job, finished: Finished) -> None:
    """Put the answer where the API waits for it."""
    if finished.error is not None:
        message = f"{job.job_id} failed {json.dumps(as_data(finished.error))}"
    else:
        message = f"{job.job_id} answer {json.dumps(finished.body)}"
    pipe = client.pipeline(transaction=False)
    pipe.rpush(mailbox, message)
    pipe.expire(mailbox, MAILBOX_SECONDS)
    with translated_errors():
        pipe.execute()


def store(pool: Pool, job: Job, finished: Finished) -> bool:
    """Close the job in Postgres, once; the caller has its answer already.

    True for whoever closed it, who alone counts it.
    """
    try:
        with at_once(pool) as conn:
            return close_job.close_job(conn, job, finished.ending)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # A submitted job stays open and the finisher ends it; a direct one is told.
        log.warning("job_not_stored", job_id=str(job.job_id), code=exc.error_code)
        return False


def as_data(error: LogchordError) -> dict[str, Any]:
    """Return an error as it travels to whoever answers with it."""
    return {
        "message": error.message,
        "code": error.error_code,
        "severity": error.severity.value,
        "retriable": error.retriable,
        "technical": error.technical,
        "details": error.details,
    }


def as_error(values: Mapping[str, Any]) -> LogchordError:
    """Return the error that travelled."""
    return LogchordError(**{**values, "severity": Severity(values["severity"])})


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
