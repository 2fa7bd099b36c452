"""Searches: asked and awaited, or submitted as jobs and looked after."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from api import metrics
from api.context import Caller, Ctx, needs
from api.door_route import DoorRoute
from api.errors import documented
from api.schemas.search import Job, JobAccepted, SearchRequest, SearchResponse
from shared import patience
from shared.errors import AccessError, CapacityError
from shared.jobs import job as jobs
from shared.jobs.job import Job as RunningJob
from shared.jobs.outcome import Outcome
from shared.log import get_logger
from shared.postgres import connection
from shared.query import fault as faults
from shared.query.fault import Fault
from shared.query.logged import logged
from shared.query.plan import Plan
from shared.results import stored
from shared.results.response import timestamp

log = get_logger()

router = APIRouter(
    prefix="/v1/search",
    tags=["search"],
    dependencies=[Depends(needs("search"))],
    route_class=DoorRoute,
)

_POLL_SECONDS = (0.02, 0.05, 0.1, 0.25)


@router.post(
    "/query",
    summary="Search, and wait for the answer",
    response_model=SearchResponse,
    responses={
        202: {"model": JobAccepted, "description": "Not ended within wait_ms."},
        **documented(504),
    },
)
async def post_query(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Answer with the results, or with the job when `wait_ms` is over before it."""
    plan = _plan(body, request, caller, ctx)
    began = time.perf_counter()
    reply = await ctx.searches.ask(plan, caller.trace, body.wait_ms)
    metrics.search_done(plan.method, time.perf_counter() - began)
    if isinstance(reply, str):
        return Response(reply, media_type="application/json")
    return _accepted(request, reply)


@router.post(
    "/jobs",
    status_code=202,
    summary="Submit a search, and look for its answer later",
    response_model=JobAccepted,
    responses=documented(),
)
async def post_job(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Store the search as a job; it always ends by its deadline."""
    plan = _plan(body, request, caller, ctx)
    job = await ctx.searches.submit(plan, caller.trace)
    return _accepted(request, job)


@router.get(
    "/jobs/{job_id}",
    name="get_job",
    summary="Look after a job; wait_ms makes it a long poll",
    response_model=Job,
    responses=documented(404, 410),
)
async def get_job(
    job_id: UUID,
    caller: Caller,
    ctx: Ctx,
    wait_ms: Annotated[int, Query(ge=0, le=30_000)] = 0,
) -> Response:
    """Return the job, once it has ended or when `wait_ms` is over."""
    until = time.monotonic() + wait_ms / 1000
    turn = 0
    while True:
        body = await asyncio.to_thread(_look, ctx, caller, job_id)
        left = until - time.monotonic()
        if body["ended_at"] is not None or left <= 0:
            return Response(json.dumps(body), media_type="application/json")
        pause = _POLL_SECONDS[min(turn, len(_POLL_SECONDS) - 1)]
        turn += 1
        await asyncio.sleep(min(pause, left))


def _look(ctx: Ctx, caller: Caller, job_id: UUID) -> dict[str, Any]:
    # A long poll looks again and again: each time anew.
    patience.begin()
    with connection(ctx.pool) as conn:
        found = jobs.own(conn, caller.scope, job_id)
    now = datetime.now(UTC)
    jobs.refuse_expired(found, ctx.settings.job_retention_hours, now)
    running = [] if found.ended_at else _running(ctx, job_id)
    return stored.job_body(lambda: ctx.pool, found, caller.scope, running)


def _running(ctx: Ctx, job_id: UUID) -> list[Outcome]:
    """Return the branches that are in; none while Redis cannot be asked."""
    try:
        arrived = jobs.outcomes(ctx.jobs, job_id)
    except CapacityError as exc:
        log.warning("job_progress_unknown", code=exc.error_code)
        return []
    return [outcome for number in sorted(arrived) for outcome in arrived[number]]


def _plan(body: SearchRequest, request: Request, caller: Caller, ctx: Ctx) -> Plan:
    question = body.question(_fault(request, caller, ctx))
    plan = ctx.searches.plan(question, caller.scope)
    setting, tenant = ctx.settings.log_queries, caller.scope.tenant
    kept = logged(plan.query, setting, ctx.secret(), tenant)
    log.info("search_asked", mode=plan.method, **kept)
    return plan


def _fault(request: Request, caller: Caller, ctx: Ctx) -> Fault | None:
    header = request.headers.get(faults.HEADER)
    if header is None:
        return None
    if not ctx.settings.fault_injection or "admin" not in caller.scope.allowed:
        raise AccessError(
            f"{faults.HEADER} needs the setting fault_injection and the scope 'admin'.",
            code="scope_missing",
            details={"needed": "admin"},
        )
    return faults.parse(header)


def _accepted(request: Request, job: RunningJob) -> Response:
    where = request.url_for("get_job", job_id=str(job.job_id)).path
    body = {
        "job_id": str(job.job_id),
        "state": "queued",
        "deadline_at": timestamp(job.deadline_at),
        "links": {"self": where},
    }
    return Response(
        json.dumps(body),
        status_code=202,
        media_type="application/json",
        headers={"Location": where},
    )
