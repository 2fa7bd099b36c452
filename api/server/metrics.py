"""Prometheus figures of one API process; what Postgres knows is asked when scraped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from shared.sources.admin.source_overview import Behind
from shared.work.lag import Lag
from shared.work.work_overview import QueueState

REGISTRY = CollectorRegistry()
_REQUESTS = Counter(
    "logchord_http_requests_total",
    "Requests answered.",
    ["route", "status"],
    registry=REGISTRY,
)
_SECONDS = Histogram(
    "logchord_http_seconds", "How long a request took.", ["route"], registry=REGISTRY
)
_SEARCHES = Histogram(
    "logchord_search_seconds", "How long a search took.", ["mode"], registry=REGISTRY
)
_JOBS = Counter(
    "logchord_jobs_total", "Searches ended, by state.", ["state"], registry=REGISTRY
)
_BRANCHES = Histogram(
    "logchord_branch_seconds",
    "How long was waited for a search branch that told nothing.",
    ["branch", "status"],
    registry=REGISTRY,
)
_INGESTED = Counter(
    "logchord_ingested_total",
    "Entries taken in.",
    ["source", "status"],
    registry=REGISTRY,
)
_AUDIT_WAITING = Gauge(
    "logchord_audit_waiting",
    "Rows of the audit that are in memory alone: a kill -9 would cost them.",
    registry=REGISTRY,
)
_AUDIT_LOST = Counter(
    "logchord_audit_lost_total",
    "Rows of the audit that there was no room for while Postgres was away.",
    registry=REGISTRY,
)


def watch_audit(count_waiting: Callable[[], int]) -> None:
    """Show how many rows of the audit wait to be written."""
    _AUDIT_WAITING.set_function(count_waiting)


def audit_lost() -> None:
    """Count a row of the audit that nobody will read."""
    _AUDIT_LOST.inc()


def request_done(route: str, status: int, seconds: float) -> None:
    """Count one request by the route's pattern, never by its address."""
    _REQUESTS.labels(route, str(status)).inc()
    _SECONDS.labels(route).observe(seconds)


def search_done(mode: str, seconds: float) -> None:
    """Count one search that was waited for to its end, found or failed, by its mode."""
    _SEARCHES.labels(mode).observe(seconds)


def job_ended(state: str) -> None:
    """Count a search that this process ended itself: late, cancelled or blank."""
    _JOBS.labels(state).inc()


def branch_missed(branch: str, seconds: float) -> None:
    """Count a branch that told nothing as long as anybody waited."""
    _BRANCHES.labels(branch, "timeout").observe(seconds)


def ingested(source: str, status: str, count: int) -> None:
    """Count entries by what became of them."""
    _INGESTED.labels(source, status).inc(count)


class WorkFigures(NamedTuple):
    """What Postgres knows of stages, sources and workers."""

    behind: Lag
    sources: Sequence[Behind]
    queues: Sequence[QueueState]


# A figure's name, its help, its label, and its number by the label's values.
_Figure = tuple[str, str, str, Mapping[str, float]]


def render(
    work: WorkFigures | None, quotas: Mapping[str, int], components: Mapping[str, bool]
) -> bytes:
    """Return the metrics of this process, of Postgres and of Redis, if they answer."""
    fresh = CollectorRegistry()
    known = Gauge(
        "logchord_work_known", "1 if Postgres told of the work.", registry=fresh
    )
    known.set(work is not None)
    told = "Answers that a model may still word just now."
    figures: list[_Figure] = [
        ("logchord_llm_quota_remaining", told, "tenant", quotas),
        (
            "logchord_component_up",
            "1 if it answers, as /health/ready says.",
            "component",
            components,
        ),
    ]
    if work is not None:
        figures += _list_figures(work)
        due = Gauge(
            "logchord_due_work", "Rows of due work.", ["stage", "class"], registry=fresh
        )
        for one in work.behind.stages:
            due.labels(one.stage, "live").set(one.due)
            due.labels(one.stage, "bulk").set(one.bulk)
    for name, told, label, numbers in figures:
        gauge = Gauge(name, told, [label], registry=fresh)
        for value, number in numbers.items():
            gauge.labels(value).set(number)
    return generate_latest(REGISTRY) + generate_latest(fresh)


def _list_figures(work: WorkFigures) -> Iterator[_Figure]:
    """Yield what is known of each queue, stage and source; /v1/lag shows it, too."""
    alive = {one.queue: one.alive for one in work.queues}
    yield "logchord_workers_alive", "Workers that report themselves.", "queue", alive
    for name, told, of_stage in (
        (
            "logchord_due_oldest_seconds",
            "Age of the oldest row that is not done.",
            "oldest_seconds",
        ),
        (
            "logchord_due_overdue",
            "Rows due for over 10 s that nobody works on.",
            "overdue",
        ),
        ("logchord_due_leased", "Rows in somebody's hands.", "leased"),
        ("logchord_quarantined", "Quarantined rows.", "quarantined"),
        (
            "logchord_stage_ended_per_minute",
            "Rows ended within the last minute.",
            "per_minute",
        ),
    ):
        numbers = {one.stage: getattr(one, of_stage) for one in work.behind.stages}
        yield name, told, "stage", numbers
    resting = {one.stage: one.paused is not None for one in work.behind.stages}
    yield "logchord_stage_paused", "1 while the stage rests.", "stage", resting
    lags = {
        one.source: one.lag_seconds
        for one in work.sources
        if one.lag_seconds is not None
    }
    told = "Age of the newest entry of a source."
    yield "logchord_source_lag_seconds", told, "source", lags
    failures = {one.source: one.failures for one in work.sources}
    yield "logchord_source_failures", "Failures in a row.", "source", failures
    paused = {one.source: one.is_paused for one in work.sources}
    yield "logchord_source_paused", "1 while nobody asks it.", "source", paused
