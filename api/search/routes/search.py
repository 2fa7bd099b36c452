"""Searches: asked and awaited, or submitted as jobs."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from api.context import Caller, Ctx, needs
from api.search.schemas.jobs import JobAccepted
from api.search.schemas.plan import QueryPlan
from api.search.schemas.search import SearchRequest, SearchResponse
from api.search.telemetry import AskedQuestion
from api.search.unified_search import require_unified_search
from api.server.json_response import as_json
from api.strict_route import audited, described, strict_router
from shared.errors import AccessError, InvalidRequestError
from shared.log import get_logger
from shared.search.explain import plan_preview
from shared.search.export.formats import Format
from shared.search.jobs.job import Job as RunningJob
from shared.search.query import fault as faults
from shared.search.query.fault import Fault
from shared.search.query.plan import Plan, SearchQuery
from shared.search.query.query_log import make_log_keys
from shared.times.rfc3339 import timestamp

log = get_logger()

# Fields of a search that mean nothing to a file of all that match.
_UNHEARD = (
    *("limit", "modules", "collapse", "rerank", "min_relevance_score", "strict"),
    *("similarity_threshold", "fuzzy_threshold", "debug", "wait_ms", "deadline_ms"),
    *("detail", "fields", "max_chars"),
)

router = strict_router("/v1/search", "search", needs("search"), require_unified_search)


@router.post("/query")
@described(
    "Search, and wait for the answer",
    SearchResponse,
    504,
    also={202: {"model": JobAccepted, "description": "Not ended within wait_ms."}},
)
@audited("search")
async def post_query(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Answer with the results, or with the job when `wait_ms` is over before it."""
    plan = await _plan(body, request, caller, ctx)
    reply = await ctx.searches.ask(plan, caller, body.wait_ms)
    if isinstance(reply, str):
        # Written when it is answered, and by another thread.
        whose = (caller.scope.tenant, plan.query, body.session_id)
        ctx.telemetry.note(AskedQuestion(*whose, reply))
        return Response(reply, media_type="application/json")
    return accepted(request, reply)


@router.post("/jobs")
@described(
    "Submit a search, and look for its answer later", JobAccepted, status_code=202
)
@audited("search")
async def post_job(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Store the search as a job; it always ends by its deadline."""
    plan = await _plan(body, request, caller, ctx)
    job = await ctx.searches.submit(plan, caller)
    return accepted(request, job)


@router.post("/export")
@described(
    "Write all that match into a file",
    also={
        200: {
            "description": "A record an entry, then one that says if all are there.",
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
            },
        }
    },
    response_class=StreamingResponse,
)
@audited("export")
async def post_export(
    body: SearchRequest,
    caller: Caller,
    ctx: Ctx,
    form: Annotated[Format, Query(alias="format")] = "jsonl",
) -> StreamingResponse:
    """Stream the entries that pass the filters and match by words, with no cut."""
    if not body.exhaustive:
        message = "A file holds all that match: ask for it with `exhaustive: true`."
        raise InvalidRequestError.field("exhaustive", "needed", message)
    if body.facets:
        message = "A file has no facets: ask for these in a search."
        raise InvalidRequestError.field("facets", "not_here", message)
    for name in _UNHEARD:
        value = getattr(body, name)
        if value is not None and value is not False and value != "entry":
            message = f"{name}: a file holds all that match, whole and unranked."
            raise InvalidRequestError.field(name, "not_here", message)
    plan = await planned(body.question(None), caller, ctx)
    file = await ctx.exports.begin(plan, form, ctx.searches.context)
    log.info("export_begun", format=form)
    return file


@router.post("/plan")
@described("Show what a search would do, and do nothing of it", QueryPlan)
async def post_plan(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Answer with the plan of the same request to `/v1/search/query`."""
    question = body.question(fault_of(request, caller, ctx))
    plan = await _made(question, caller, ctx, keep=False)
    log.info("plan_shown", mode=plan.method, **_asked(plan, caller, ctx))
    told = await asyncio.to_thread(
        plan_preview.preview_plan, ctx.searches.context, plan
    )
    return as_json({**told, "expected_ms": ctx.searches.expected_ms(plan)})


async def _plan(
    body: SearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Plan:
    return await planned(body.question(fault_of(request, caller, ctx)), caller, ctx)


async def _made(question: SearchQuery, caller: Caller, ctx: Ctx, *, keep: bool) -> Plan:
    approved = await ctx.searches.glossaries.of(caller.scope.tenant)
    await ctx.searches.scores.refresh()
    plan = ctx.searches.plan(question, caller.scope, approved)
    return await ctx.sessions.carried(plan, question.session_id, keep=keep)


async def planned(question: SearchQuery, caller: Caller, ctx: Ctx) -> Plan:
    """Return the plan of a question, and log that it was asked, as the setting says."""
    plan = await _made(question, caller, ctx, keep=True)
    asked = _asked(plan, caller, ctx)
    caller.audited.update(asked)
    log.info("search_asked", mode=plan.method, **asked)
    return plan


def _asked(plan: Plan, caller: Caller, ctx: Ctx) -> Mapping[str, str]:
    setting, tenant = ctx.settings.log_queries, caller.scope.tenant
    return make_log_keys(plan.query, setting, ctx.secret(), tenant)


def fault_of(request: Request, caller: Caller, ctx: Ctx) -> Fault | None:
    """Return the fault that the request asks for, if whoever asks may."""
    header = request.headers.get(faults.HEADER)
    if header is None:
        return None
    if not ctx.settings.fault_injection or not caller.scope.is_admin:
        raise AccessError(
            f"{faults.HEADER} needs the setting fault_injection and the scope 'admin'.",
            code="scope_missing",
            details={"needed": "admin"},
        )
    return faults.parse(header)


def accepted(request: Request, job: RunningJob) -> Response:
    """Answer with a job that goes on by itself, and where to look after it."""
    where = request.url_for("get_job", job_id=str(job.job_id)).path
    links = {"self": where, "events": f"{where}/events", "cancel": where}
    body = {
        "job_id": str(job.job_id),
        "state": "queued",
        "deadline_at": timestamp(job.deadline_at),
        "links": links,
    }
    return as_json(body, 202, {"Location": where})
