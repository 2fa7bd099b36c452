"""Jobs of searches: looked after, read on, watched, and ended by their owner."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.search import job_events, own_jobs
from api.search.hit_amount import HitAmount
from api.search.job_events import POLL_SECONDS, JobSnapshot
from api.search.schemas.jobs import Job, JobPage, JobResults
from api.server import metrics, thread_pool
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.strict_route import audited, described, strict_router
from shared.agents import agent_trace, end_agent, turn_rows
from shared.errors import CapacityError, LogchordError, NotFoundError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.explain import replay
from shared.search.export import job_window
from shared.search.export.job_window import MEDIA_TYPES, WindowFormat
from shared.search.jobs import close_job, progress
from shared.search.jobs import job as jobs
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.query.modes import AGENT
from shared.search.response import job_answer
from shared.search.results import paging
from shared.search.results.hydrate import hydrate

log = get_logger()

router = strict_router("/v1/search/jobs", "search", needs("search"))

_MAX_EVENT_ID = 2**31
FILE_TYPES = sorted({kind.partition(";")[0] for kind in MEDIA_TYPES.values()})


@router.get("")
@described("List one's own jobs", JobPage)
def list_jobs(
    caller: Caller, ctx: Ctx, limit: PageSize = 20, cursor: str | None = None
) -> Response:
    """The newest first; what they found stands at each job's own address.

    A job that was asked with a key that sees more stands in no list of another key.
    """
    scope = caller.scope
    pages = ListPage(ctx, scope, "GET /v1/search/jobs", "", limit)
    after = pages.open_id(cursor)
    with connection(ctx.pool) as conn:
        found = jobs.newest(conn, scope, limit=limit + 1, after=after)
    page, next_cursor = pages.close(found)
    items = [job_answer.job_line(one) for one in page if jobs.may_read(scope, one)]
    return as_json({"items": items, "next_cursor": next_cursor})


@router.get("/{job_id}")
@described(
    "Look after a job; wait_ms makes it a long poll", Job, 404, 410, name="get_job"
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
        body = await thread_pool.run_step(_look, ctx, caller, job_id)
        left = until - time.monotonic()
        if body["ended_at"] is not None or left <= 0:
            return as_json(body)
        pause = POLL_SECONDS[min(turn, len(POLL_SECONDS) - 1)]
        turn += 1
        await asyncio.sleep(min(pause, left))


@router.get("/{job_id}/results")
@described("Read on in what a job found", JobResults, 404, 410)
def get_results(
    job_id: UUID,
    caller: Caller,
    ctx: Ctx,
    amount: HitAmount,
    limit: PageSize | None = None,
    cursor: str | None = None,
) -> Response:
    """A page of one ranking, its entries read again with the rights of now.

    Sorted by time, pages go on through all that match. Without a limit a page is as
    long as the job's first; as much is told of each hit as the job asked for. A job
    that has not ended has none yet: its cursor begins at the first.
    """
    found = own_jobs.find(ctx, caller, job_id)
    after: list[Any] = [0]
    if cursor is not None:
        size = found.plan["limit"] if limit is None else limit
        owned = paging.binding(caller.scope, job_id, size)
        after = ctx.signer().open(cursor, owned)
    page = job_answer.results(
        ctx.reader(caller.scope), found, after, limit, amount.instead_of
    )
    return as_json(page)


@router.get("/{job_id}/export")
@described(
    "Write what a job found into a file",
    None,
    *(404, 410),
    also={
        200: {
            "description": "A record a hit, then one that says if these are all.",
            "content": {kind: {"schema": {"type": "string"}} for kind in FILE_TYPES},
        }
    },
)
@audited("export")
def get_export(
    job_id: UUID,
    caller: Caller,
    ctx: Ctx,
    form: Annotated[WindowFormat, Query(alias="format")] = "jsonl",
) -> Response:
    """Its one window, read again with the rights of now; `md` is to be read by people.

    All that match, however many: `POST /v1/search/export`.
    """
    found = own_jobs.find(ctx, caller, job_id)
    plan, page, complete = job_answer.window(ctx.reader(caller.scope), found)
    tenant = caller.scope.tenant
    text = job_window.written(form, plan.query, tenant, page, complete=complete)
    headers = {"Content-Disposition": f'attachment; filename="hits.{form}"'}
    return Response(text, media_type=MEDIA_TYPES[form], headers=headers)


@router.get("/{job_id}/events")
@described(
    "Watch a job",
    None,
    *(404, 410),
    also={
        200: {
            "description": "What happens, as it happens, until the job has ended.",
            "content": {"text/event-stream": {}},
        }
    },
    response_class=StreamingResponse,
)
async def get_events(
    job_id: UUID,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    last_event_id: Annotated[int, Header(ge=0, le=_MAX_EVENT_ID)] = 0,
) -> StreamingResponse:
    """Send what came after `Last-Event-ID`, or the whole job where that is lost."""
    await asyncio.to_thread(own_jobs.find, ctx, caller, job_id)
    look = partial(_seen, ctx, caller, job_id)
    events = _watched(ctx, job_id, look, last_event_id)
    if "text/event-stream" in request.headers.get("accept", ""):
        events = _soon_again(events)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


@router.delete("/{job_id}")
@described("End a job now, with what is in", Job, 404, 410)
def cancel_job(job_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Idempotent: a job that has ended stays as it is."""
    found = own_jobs.find(ctx, caller, job_id)
    if found.ended_at is None:
        arrived: Mapping[int, Sequence[Outcome]] | None
        arrived = close_job.what_is_in(ctx.jobs, job_id)
        with connection(ctx.pool) as conn:
            state = close_job.cancel(conn, found, arrived or {})
        log.info("job_cancelled", job_id=str(job_id), first=state is not None)
        if state is not None:
            metrics.job_ended(state)
        _forget(ctx, job_id)
    return as_json(_look(ctx, caller, job_id))


async def _watched(
    ctx: ApiContext, job_id: UUID, look: Callable[[int], JobSnapshot], after: int
) -> AsyncIterator[bytes]:
    told = job_events.told_before(after)
    with ctx.searches.events.watch(job_id, told) as watch:
        async for event in job_events.stream(look, watch, after):
            yield event


async def _soon_again(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    # A browser would wait three seconds after a cut before it asks for the rest.
    yield format_sse_event(retry=500)
    async for event in events:
        yield event


def _position(ctx: ApiContext, found: StoredJob) -> int | None:
    """Return how many come before a job that has not ended."""
    if found.ended_at is not None:
        return None
    with connection(ctx.pool) as conn:
        return jobs.before(conn, found)


def _forget(ctx: ApiContext, job_id: UUID) -> None:
    try:
        jobs.forget(ctx.jobs, job_id)
    except CapacityError as exc:
        # It has ended all the same: what its branches still do is for nothing.
        log.warning("branches_not_stopped", job_id=str(job_id), code=exc.error_code)


def _look(ctx: ApiContext, caller: CallerInfo, job_id: UUID) -> dict[str, Any]:
    found = own_jobs.find(ctx, caller, job_id)
    arrived = None if found.ended_at else close_job.what_is_in(ctx.jobs, job_id)
    told = [one for number in sorted(arrived or {}) for one in (arrived or {})[number]]
    return {**_body(ctx, caller, found, told), "replay": _replay(ctx, caller, found)}


def _body(
    ctx: ApiContext, caller: CallerInfo, found: StoredJob, told: Sequence[Outcome]
) -> dict[str, Any]:
    body = job_answer.job_body(ctx.reader(caller.scope), found, told)
    body["queue_position"] = None if told else _position(ctx, found)
    if found.plan["method"] == AGENT:
        body |= _of_agent(ctx, caller, found, body["response"])
    return body


def _of_agent(
    ctx: ApiContext,
    caller: CallerInfo,
    found: StoredJob,
    response: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the turns of an agent, and how it ended.

    The model's arguments may repeat an entry: they are left out unless the caller may
    see all entries that were found.
    """
    with connection(ctx.pool) as conn:
        stored = turn_rows.list_turns(conn, found.id, caller.scope.tenant)
    turns = end_agent.close_turns(stored, found)
    plan = ctx.reader(caller.scope).plan_of(found)
    seen = end_agent.list_seen_entries(plan, turns)
    with connection(ctx.pool) as conn:
        shown = hydrate(conn, seen, caller.scope, job_answer.READ_MS)
    told = agent_trace.trace_turns(turns, with_arguments=len(shown) == len(seen))
    reason = next((one.exit_reason for one in turns if one.exit_reason), None)
    agent = end_agent.describe(plan, turns, reason, None)
    return {
        "turns": [asdict(one) for one in told],
        "response": response and {**response, "agent": agent},
    }


def _replay(
    ctx: ApiContext, caller: CallerInfo, found: StoredJob
) -> dict[str, Any] | None:
    """Return how an ended replay compares with the job that it repeats."""
    of = found.plan.get("replay_of")
    if of is None or found.ended_at is None:
        return None
    try:
        with connection(ctx.pool) as conn:
            first = jobs.find_own_job(conn, caller.scope, UUID(of))
            return replay.compare(conn, caller.scope, first, found)
    except LogchordError as exc:
        # It is kept no longer, or the comparison takes too long: the job is told.
        if not isinstance(exc, NotFoundError):
            log.warning("replay_not_compared", code=exc.error_code)
        unknown = dict.fromkeys(("same", "old_hash"))
        return {"of": of, **unknown, "new_hash": replay.hash_of(found), "changed": []}


def _seen(ctx: ApiContext, caller: CallerInfo, job_id: UUID, after: int) -> JobSnapshot:
    found = own_jobs.find(ctx, caller, job_id)
    try:
        told = progress.read_progress(ctx.jobs, job_id, after)
    except CapacityError as exc:
        log.warning("job_progress_unknown", code=exc.error_code)
        told = None
    return JobSnapshot(
        found,
        told,
        lambda: _body(ctx, caller, found, []),
        lambda: None if told and told.last else _position(ctx, found),
    )
