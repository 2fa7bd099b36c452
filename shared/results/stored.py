"""Answers of jobs that ended: their entries are read again, with today's rights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from shared.access.scope import Scope
from shared.jobs import outcome, verdict
from shared.jobs.job import StoredJob
from shared.jobs.outcome import Diagnostic, Outcome
from shared.jobs.releases import known
from shared.jobs.verdict import State
from shared.query.plan import Plan
from shared.ranking import fold
from shared.ranking.rank import rank
from shared.ranking.ranked import Order, Ranked, Suppressed
from shared.results import beside, facts, highlights, paging
from shared.results.conclusion import Conclusion
from shared.results.page import read_page
from shared.results.response import hits, render, timestamp
from shared.text.facility import PLAIN, Facility

if TYPE_CHECKING:
    from shared.access.cursors import Signer
    from shared.postgres import Pool

READ_MS = 2000
_ANSWERED = ("done", "partial")


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a stored job, and by what."""

    pool: Callable[[], Pool]
    scope: Scope
    signer: Callable[[], Signer]
    # Whose words texts are read by.
    facility: Facility = PLAIN


def job_body(
    reader: Reader, stored: StoredJob, running: Sequence[Outcome]
) -> dict[str, Any]:
    """Return a job as its owner sees it, with its answer once it has one."""
    branches = branches_of(stored) if stored.ended_at else list(running)
    return {
        **job_line(stored, is_running=bool(running)),
        "branches": [branch.summary() for branch in branches],
        "response": response(reader, stored),
        "replay": None,
    }


def job_line(stored: StoredJob, *, is_running: bool = False) -> dict[str, Any]:
    """Return how a job fares, without what it found."""
    waits = "running" if is_running else "queued"
    return {
        "job_id": str(stored.id),
        "state": stored.state if stored.ended_at else waits,
        "cancelled": stored.cancelled,
        "queue_position": None,
        "created_at": timestamp(stored.created_at),
        "deadline_at": timestamp(stored.deadline_at),
        "ended_at": timestamp(stored.ended_at),
        "request": stored.request,
        "branches": [],
        "response": None,
        "error": stored.error,
    }


def response(reader: Reader, stored: StoredJob) -> dict[str, Any] | None:
    """Return the answer to a job, or None where it has none."""
    if stored.state not in _ANSWERED:
        return None
    branches = branches_of(stored)
    # Who asks now decides what is seen, not who asked then.
    plan = replace(Plan.from_values(stored.plan), scope=reader.scope)
    order = order_of(reader, stored, plan, branches)
    conclusion = Conclusion(
        cast("State", stored.state),
        tuple(branches),
        order,
        degraded=verdict.is_degraded(branches),
    )
    runs = fold.runs(order.items)
    page = read_page(reader.pool, plan, runs, READ_MS)
    ended = stored.ended_at or stored.deadline_at
    took = {"total": round((ended - stored.created_at).total_seconds() * 1000, 3)}
    following = paging.following(reader.signer, plan, stored.id, runs, page)
    said = beside.read(reader.pool, plan, conclusion, page, reader.facility, READ_MS)
    return render(plan, stored.id, conclusion, page, took, following, said)


def results(
    reader: Reader, stored: StoredJob, place: int, limit: int | None
) -> dict[str, Any]:
    """Return a page of a job's window from a place on, its entries read again.

    Of a job that has not ended there is none yet; its cursor begins the window.
    """
    plan = replace(Plan.from_values(stored.plan), scope=reader.scope)
    plan = plan if limit is None else replace(plan, limit=limit)
    branches = branches_of(stored)
    runs, at, page = [], place, []
    if stored.state in _ANSWERED:
        runs = fold.runs(order_of(reader, stored, plan, branches).items)
        page = read_page(reader.pool, plan, runs[place:], READ_MS)
        at = paging.place_after(runs, page)
    texts = highlights.reader(reader.pool, plan, branches, reader.facility)
    more = stored.ended_at is None or at < len(runs)
    owned = paging.binding(reader.scope, stored.id, plan.limit)
    return {
        "job_id": str(stored.id),
        "state": stored.state if stored.ended_at else "running",
        "items": hits(plan, page, texts, place + 1),
        # What the caller could see then, and not any more.
        "removed": max(0, at - place - len(page)) if stored.ended_at else 0,
        "next_cursor": reader.signer().make([at], owned) if more else None,
        "error": stored.error,
    }


def branches_of(stored: StoredJob) -> list[Outcome]:
    """Return what the branches of a job came to."""
    return outcome.from_json(json.dumps(stored.branches or []))


def order_of(
    reader: Reader, stored: StoredJob, plan: Plan, branches: Sequence[Outcome]
) -> Order:
    """Return the order that a job ended with."""
    if stored.ranked is None:
        return rank(branches, facts.read(reader.pool, plan, branches, READ_MS), plan)
    return read_order(stored.ranked)


def read_order(values: Mapping[str, Any]) -> Order:
    """Return an order as a job keeps it; what an older release left out is nothing."""
    return Order(
        items=tuple(_ranked(item) for item in values["window"]),
        reranked=values.get("reranked", False),
        suppressed=Suppressed(**values.get("suppressed", {})),
        notes=tuple(Diagnostic(**note) for note in values.get("notes", ())),
        missed=tuple(_ranked(item) for item in values.get("missed", ())),
    )


def _ranked(values: Mapping[str, Any]) -> Ranked:
    span = values["span"]
    return Ranked(**{**known(Ranked, values), "span": tuple(span) if span else None})
