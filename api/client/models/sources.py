"""What the API tells of sources, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from api.client.models.model import Model


class CheckOut(Model):
    """What one page of a source looks like."""

    ok: bool
    took_ms: float
    sample: list[dict[str, Any]]
    problems: list[str]
    timezone: str | None
    capabilities: dict[str, str]
    found: dict[str, Any] | None


class ReloadOut(Model):
    """What has changed since the configuration was last read."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    invalid: list[dict[str, str]]


class RunOut(Model):
    """One pull of a source, and what it found."""

    run_id: str
    source: str
    kind: str
    state: str
    window: dict[str, datetime | None]
    started_at: datetime | None
    ended_at: datetime | None
    heartbeat_at: datetime | None
    seen: int
    bytes: int
    added: int
    updated: int
    unchanged: int
    deleted: int
    rejected: int
    quarantined: int
    error: dict[str, Any] | None
    waiting: WaitingOut | None = None


class RunPage(Model):
    """Runs, the newest first."""

    items: list[RunOut]
    next_cursor: str | None


class SourceList(Model):
    """Every source of the caller's facility."""

    items: list[SourceOut]


class SourceOut(Model):
    """One source: how it is asked, how it stands, and what is here of it."""

    name: str
    adapter: str
    kind: str
    enabled: bool
    paused: bool
    serving: str
    timezone: str | None
    logbooks: list[str]
    last_run: RunOut | None
    next_run_at: datetime | None
    entries: int
    more_entries: bool
    lag_seconds: float | None
    since_success_seconds: float | None
    complete_from: datetime | None
    complete_to: datetime | None
    degraded: str | None
    quarantined: int
    files_not_fetched: int
    shortfalls: list[str]
    consecutive_failures: int
    last_error: dict[str, Any] | None
    readers: dict[str, list[str] | None] | None
    config_hash: str


class Triggered(Model):
    """The run that was queued."""

    run_id: str


class WaitingOut(Model):
    """What a run that is queued waits for."""

    queue: str
    ahead: int | None
    workers: int
