"""Answers of jobs that ended: their entries are read again, with today's rights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shared.access.scope import Scope
from shared.jobs import outcome, verdict
from shared.jobs.job import StoredJob
from shared.jobs.outcome import Outcome
from shared.jobs.verdict import State
from shared.query.plan import Plan
from shared.ranking.rank import Ranked, rank
from shared.results.conclusion import Conclusion
from shared.results.page import read_page
from shared.results.response import render, timestamp

if TYPE_CHECKING:
    from shared.postgres import Pool

READ_MS = 2000


def job_body(
    pool: Callable[[], Pool],
    stored: StoredJob,
    scope: Scope,
    running: Sequence[Outcome],
) -> dict[str, Any]:
    """Return a job as its owner sees it, with its answer once it has one."""
    ended = stored.ended_at is not None
    branches = (
        outcome.from_json(json.dumps(stored.branches or [])) if ended else list(running)
    )
    return {
        "job_id": str(stored.id),
        "state": stored.state if ended else "running" if running else "queued",
        "cancelled": False,
        "queue_position": None,
        "created_at": timestamp(stored.created_at),
        "deadline_at": timestamp(stored.deadline_at),
        "ended_at": timestamp(stored.ended_at),
        "request": stored.request,
        "branches": [branch.summary() for branch in branches],
        "response": _response(pool, stored, scope, branches),
        "error": stored.error,
    }


def _response(
    pool: Callable[[], Pool],
    stored: StoredJob,
    scope: Scope,
    branches: Sequence[Outcome],
) -> dict[str, Any] | None:
    if stored.state not in {"done", "partial"}:
        return None
    # Who asks now decides what is seen, not who asked then.
    plan = replace(Plan.from_values(stored.plan), scope=scope)
    ranked = (
        rank(branches, plan)
        if stored.ranked is None
        else [_ranked(item) for item in stored.ranked["window"]]
    )
    conclusion = Conclusion(
        cast("State", stored.state),
        tuple(branches),
        tuple(ranked),
        degraded=verdict.is_degraded(branches),
    )
    page = read_page(pool, plan, ranked, READ_MS)
    ended = stored.ended_at or stored.deadline_at
    took = (ended - stored.created_at).total_seconds() * 1000
    return render(plan, stored.id, conclusion, page, {"total": round(took, 3)})


def _ranked(values: Mapping[str, Any]) -> Ranked:
    span = values["span"]
    return Ranked(**{**values, "span": tuple(span) if span else None})
