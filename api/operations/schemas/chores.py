"""A chore, as REST tells it."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from api.server.body_model import RequestBody, ResponseBody, dump_fields, shown_by
from shared.work.chore_records import Maintenance

_ID = "01a1fe98-5d60-70ec-8e12-22cdf1ff00dd"


class RebuildIn(RequestBody):
    """The parts of the index that a rebuild makes anew."""

    full: bool = False
    """Have every text read and every vector made anew first."""


class QueuedOut(ResponseBody):
    """A chore that is due."""

    model_config = shown_by({"maintenance_id": _ID})

    maintenance_id: UUID
    """Look at it, or stop it, with /v1/maintenance/{maintenance_id}."""


class KnowledgeIn(RequestBody):
    """All of it is made anew: there is nothing to choose."""


class KnowledgeQueuedOut(ResponseBody):
    """A chore that is due, as routes below `/v1/advisory-ai/` spell it."""

    model_config = shown_by({"maintenanceId": _ID})

    maintenanceId: UUID = Field(  # noqa: N815 - as these routes spell it
        description="Look at it, or stop it, with /v1/maintenance/{maintenance_id}."
    )


class MaintenanceOut(ResponseBody):
    """How far a chore of the installation has come."""

    model_config = shown_by(
        {
            "maintenance_id": _ID,
            "kind": "reconcile_index",
            "state": "running",
            "phase": None,
            "done": 41_000,
            "total": 120_000,
            "per_minute": 246_000.0,
            "eta_seconds": 19.3,
            "attempts": 1,
            "error": None,
            "result": None,
            "created_at": "2026-03-02T04:10:00.000Z",
            "started_at": "2026-03-02T04:10:01.000Z",
            "ended_at": None,
        }
    )

    maintenance_id: UUID
    kind: str = Field(examples=["expire", "reconcile_index"])
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    phase: str | None = Field(examples=["copy", "compare"])
    """Its step just now, where it does one thing after another."""
    done: int = Field(description="Rows or entries gone through so far.")
    total: int | None = Field(description="Null: not known before the end.")
    per_minute: float | None = Field(description="Since its start, waits included.")
    eta_seconds: float | None = Field(description="Null: not known.")
    attempts: int = Field(description="How often a worker has taken it up.")
    error: dict[str, Any] | None
    """Why it failed or waits, in the shape of every error."""
    result: dict[str, Any] | None = Field(description="What it came to, once done.")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


def maintenance_out(one: Maintenance) -> dict[str, Any]:
    """Return a chore with its rate and the time it still takes."""
    return dump_fields(
        MaintenanceOut,
        one,
        maintenance_id=one.id,
        per_minute=_rounded(one.per_minute),
        eta_seconds=_rounded(one.eta_seconds),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
