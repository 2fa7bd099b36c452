"""Sources and their runs, as REST tells them."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from api.server.body_model import RequestBody, ResponseBody, dump_fields
from shared.search.absence import coverage
from shared.sources import load_adapter
from shared.sources.admin.check_source import Checked
from shared.sources.admin.source_overview import SourceView
from shared.sources.run_records import IngestionRun
from shared.sources.runs.run_queue import Waiting
from shared.times.rfc3339 import timestamp

RunKind = Literal["tail", "reconcile", "backfill", "reparse"]
RunState = Literal["queued", "running", "done", "partial", "failed"]
# What of its capabilities concerns whoever reads the source.
_CAN = ("order", "edits", "deletes", "replies", "attachments", "readers")


class WaitingOut(ResponseBody):
    """What a run that is queued waits for."""

    queue: str
    ahead: int | None
    """Runs that are taken before it; null: it is not due now."""
    workers: int = Field(description="How many of the queue are alive.")


class RunOut(ResponseBody):
    """One pull of a source, and what it found."""

    run_id: UUID
    source: str
    kind: RunKind
    state: RunState
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
    """Of a run that has not begun: what it waits for."""


class RunPage(ResponseBody):
    """Runs, the newest first."""

    items: list[RunOut]
    next_cursor: str | None


class SourceOut(ResponseBody):
    """One source: how it is asked, how it stands, and what is here of it."""

    name: str
    adapter: str
    kind: Literal["pull", "push"]
    enabled: bool
    paused: bool
    serving: Literal["live", "snapshot"]
    timezone: str | None
    logbooks: list[str]
    last_run: RunOut | None
    next_run_at: datetime | None
    entries: int
    """Among its newest 50,000, which alone are counted."""
    more_entries: bool = Field(description="It may have others, which are not counted.")
    lag_seconds: float | None
    """Since its newest entry, among the same."""
    since_success_seconds: float | None = Field(description="Since it last answered.")
    complete_from: datetime | None = Field(description="Complete back to this time.")
    complete_to: datetime | None
    degraded: str | None = Field(description="What is wrong, and what to do.")
    quarantined: int = Field(description="Records that could not be read.")
    files_not_fetched: int
    """Files that it refused, or that could not be had, among 50,000."""
    shortfalls: list[str]
    """Parts of it that are not here, and why; messages of errors for admins."""
    consecutive_failures: int
    last_error: dict[str, Any] | None
    readers: dict[str, list[str] | None] | None
    """Who may read which of its logbooks, as configured, for admins; `*`: those not
    named. Null for a logbook: whoever may read the source."""
    config_hash: str


class SourceList(ResponseBody):
    """Every source of the caller's facility."""

    items: list[SourceOut]


class TriggerIn(RequestBody):
    """What a run is asked for."""

    model_config = ConfigDict(populate_by_name=True)

    kind: RunKind = "tail"
    start: datetime | None = Field(None, alias="from")
    end: datetime | None = Field(None, alias="to")
    limit: int | None = Field(None, ge=1, le=10_000_000)
    dry_run: bool = False
    confirm_prune: bool = False
    """Delete although it is more than the safety share."""


class Triggered(ResponseBody):
    """The run that was queued."""

    run_id: UUID


class CheckOut(ResponseBody):
    """What one page of a source looks like; nothing was stored."""

    ok: bool
    took_ms: float
    sample: list[dict[str, Any]]
    problems: list[str]
    timezone: str | None
    """In which its naive times are read; null: in none."""
    capabilities: dict[str, str]
    """How edits and deletions are seen, and what else it tells."""
    found: dict[str, Any] | None
    """What it says of itself: its newest entry, how many there are, the zone that its
    times look like, books that not everybody may read there, and those that nobody may
    read here."""


class ReloadOut(ResponseBody):
    """What has changed since the configuration was last read."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    invalid: list[dict[str, str]]


def run_out(
    one: IngestionRun, *, admin: bool, waiting: Waiting | None = None
) -> dict[str, Any]:
    """Return a run; cursors and technical details for admins alone."""
    shown = dump_fields(
        RunOut,
        one,
        run_id=one.id,
        window={"from": timestamp(one.window_from), "to": timestamp(one.window_to)},
        error=_error(one.error, admin=admin),
        waiting=asdict(waiting) if waiting else None,
    )
    shown["expected"] = one.expected
    if admin:
        shown |= {"cursor_before": one.cursor_before, "cursor_after": one.cursor_after}
    return shown


def source_out(one: SourceView, *, admin: bool) -> dict[str, Any]:
    """Return a source; its cursors for admins alone."""
    standing, stock = one.state, one.stock
    assert stock is not None, "a source is shown with what is here of it"
    lag, quiet = one.lag_seconds, one.since_success_seconds
    shown: dict[str, Any] = {
        "name": one.name,
        "adapter": one.settings.adapter,
        "kind": "pull" if one.settings.is_pulled else "push",
        "enabled": one.settings.enabled,
        "paused": bool(standing and standing.paused),
        "serving": standing.serving if standing else "live",
        "timezone": one.settings.timezone,
        "logbooks": stock.logbooks,
        "last_run": run_out(one.last_run, admin=admin) if one.last_run else None,
        "next_run_at": timestamp(one.next_run_at),
        "entries": stock.entries,
        "more_entries": stock.has_more,
        "lag_seconds": None if lag is None else round(lag, 1),
        "since_success_seconds": None if quiet is None else round(quiet, 1),
        "complete_from": timestamp(standing.complete_from) if standing else None,
        "complete_to": timestamp(standing.complete_to) if standing else None,
        "degraded": one.problem,
        "quarantined": one.shortfall.quarantined,
        "files_not_fetched": one.shortfall.files,
        "shortfalls": list(one.shortfall.describe(one.name, admin=admin)),
        "consecutive_failures": standing.failures if standing else 0,
        "last_error": _error(standing.last_error, admin=admin) if standing else None,
        "readers": one.settings.args.get("readers") if admin else None,
        "config_hash": (standing.config_hash if standing else "")
        or load_adapter.config_hash(one.settings),
    }
    if admin:
        shown["cursor"] = {kind: row.cursor for kind, row in one.standings.items()}
    return shown


def lag_out(one: SourceView, *, admin: bool) -> dict[str, Any]:
    """Return how far a source is behind; why it has gaps for admins alone."""
    lag, standing = one.lag_seconds, one.state
    return {
        "source": one.name,
        "lag_seconds": None if lag is None else round(lag, 1),
        "complete_from": timestamp(standing.complete_from) if standing else None,
        "complete_to": timestamp(standing.complete_to) if standing else None,
        "gaps": one.gaps if admin else coverage.stretches(one.gaps),
    }


def _error(error: dict[str, Any] | None, *, admin: bool) -> dict[str, Any] | None:
    if error is None or admin:
        return error
    shown = dict(error)
    details = {k: v for k, v in shown.pop("details", {}).items() if k != "technical"}
    return {**shown, "details": details} if details else shown


def check_out(found: Checked, sample: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a check as JSON."""
    report, said = found.report, None
    if report is not None:
        said = asdict(report) | {"newest": timestamp(report.newest)}
        del said["problems"]
    return {
        "ok": True,
        "took_ms": round(found.took_seconds * 1000, 1),
        "sample": sample,
        "problems": list(found.problems),
        "timezone": found.timezone,
        "capabilities": {one: getattr(found.capabilities, one) for one in _CAN},
        "found": said,
    }
