"""Prometheus figures of one API process; what Postgres knows is asked when scraped."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from shared.sources.admin.source_overview import Behind
from shared.work.lag import Lag, StageLag
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


# For each stage: name, help, and the number itself, which /v1/lag shows too.
_OF_STAGE: tuple[tuple[str, str, Callable[[StageLag], float]], ...] = (
    (
        "logchord_due_oldest_seconds",
        "Age of the oldest row that is not done.",
        lambda one: one.oldest_seconds,
    ),
    (
        "logchord_due_overdue",
        "Rows due for over 10 s that nobody works on.",
        lambda one: one.overdue,
    ),
    ("logchord_due_leased", "Rows in somebody's hands.", lambda one: one.leased),
    ("logchord_quarantined", "Quarantined rows.", lambda one: one.quarantined),
    (
        "logchord_stage_paused",
        "1 while the stage rests.",
        lambda one: one.paused is not None,
    ),
    (
        "logchord_stage_ended_per_minute",
        "Rows ended within the last minute.",
        lambda one: one.per_minute,
    ),
)


class WorkFigures(NamedTuple):
    """What Postgres knows of stages, sources and workers."""

    behind: Lag
    sources: Sequence[Behind]
    queues: Sequence[QueueState]


def render(
    work: WorkFigures | None, quotas: Mapping[str, int], components: Mapping[str, bool]
) -> bytes:
    """Return the metrics of this process, of Postgres and of Redis, if they answer."""
    fresh = CollectorRegistry()
    known = Gauge(
        "logchord_work_known", "1 if Postgres told of the work.", registry=fresh
    )
    known.set(work is not None)
    if work is not None:
        _render_stages(work.behind, fresh)
        _render_sources(work.sources, fresh)
        alive = Gauge(
            "logchord_workers_alive",
            "Workers that report themselves.",
            ["queue"],
            registry=fresh,
        )
        for one in work.queues:
            alive.labels(one.queue).set(one.alive)
    left = Gauge(
        "logchord_llm_quota_remaining",
        "Answers that a model may still word just now.",
        ["tenant"],
        registry=fresh,
    )
    for tenant, count in quotas.items():
        left.labels(tenant).set(count)
    well = Gauge(
        "logchord_component_up",
        "1 if it answers, as /health/ready says.",
        ["component"],
        registry=fresh,
    )
    for name, is_well in components.items():
        well.labels(name).set(is_well)
    return generate_latest(REGISTRY) + generate_latest(fresh)


def _render_stages(behind: Lag, fresh: CollectorRegistry) -> None:
    due = Gauge(
        "logchord_due_work", "Rows of due work.", ["stage", "class"], registry=fresh
    )
    for one in behind.stages:
        due.labels(one.stage, "live").set(one.due)
        due.labels(one.stage, "bulk").set(one.bulk)
    for name, told, number in _OF_STAGE:
        gauge = Gauge(name, told, ["stage"], registry=fresh)
        for one in behind.stages:
            gauge.labels(one.stage).set(number(one))


def _render_sources(sources: Sequence[Behind], fresh: CollectorRegistry) -> None:
    lag = Gauge(
        "logchord_source_lag_seconds",
        "Age of the newest entry of a source.",
        ["source"],
        registry=fresh,
    )
    failures = Gauge(
        "logchord_source_failures", "Failures in a row.", ["source"], registry=fresh
    )
    paused = Gauge(
        "logchord_source_paused", "1 while nobody asks it.", ["source"], registry=fresh
    )
    for one in sources:
        if one.lag_seconds is not None:
            lag.labels(one.source).set(one.lag_seconds)
        failures.labels(one.source).set(one.failures)
        paused.labels(one.source).set(one.is_paused)
