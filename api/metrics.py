"""Prometheus figures of one API process; what Postgres knows is asked when scraped."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from shared.due.lag import StageLag

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
_INGESTED = Counter(
    "logchord_ingested_total",
    "Entries taken in.",
    ["source", "status"],
    registry=REGISTRY,
)


def request_done(route: str, status: int, seconds: float) -> None:
    """Count one request by the route's pattern, never by its address."""
    _REQUESTS.labels(route, str(status)).inc()
    _SECONDS.labels(route).observe(seconds)


def search_done(mode: str, seconds: float) -> None:
    """Count one search that was waited for, by its mode."""
    _SEARCHES.labels(mode).observe(seconds)


def job_ended(state: str) -> None:
    """Count a search that this process ended itself, the last branch being late."""
    _JOBS.labels(state).inc()


def ingested(source: str, status: str, count: int) -> None:
    """Count entries by what became of them."""
    _INGESTED.labels(source, status).inc(count)


def render(stages: Sequence[StageLag]) -> bytes:
    """Return this process's figures and those of the work table."""
    fresh = CollectorRegistry()
    due = Gauge(
        "logchord_due_work", "Rows of due work.", ["stage", "class"], registry=fresh
    )
    oldest = Gauge(
        "logchord_due_oldest_seconds",
        "Age of the oldest due row.",
        ["stage"],
        registry=fresh,
    )
    aside = Gauge(
        "logchord_quarantined", "Entries put aside.", ["stage"], registry=fresh
    )
    for one in stages:
        due.labels(one.stage, "live").set(one.due)
        due.labels(one.stage, "bulk").set(one.bulk)
        oldest.labels(one.stage).set(one.oldest_seconds)
        aside.labels(one.stage).set(one.quarantined)
    return generate_latest(REGISTRY) + generate_latest(fresh)
