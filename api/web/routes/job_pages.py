"""Searches that were submitted as jobs, and why an entry is not in an answer."""

import asyncio
import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.search import own_jobs
from api.search.routes.search_again import get_why_not, post_replay
from api.search.routes.search_jobs import cancel_job, get_job, list_jobs
from api.search.telemetry import PageAction
from api.web import answer_card, page_visit, rendering
from api.web.page_route import page_router, read_form
from api.web.search_form import SearchForm
from shared.access.scope import Scope
from shared.errors import InvalidRequestError
from shared.search.query.plan import Plan
from shared.search.response import score_trace

router = page_router(needs("search"))


@router.get("/jobs")
@router.get("/jobs.json")
def get_jobs_page(
    request: Request, caller: Caller, ctx: Ctx, cursor: str | None = None
) -> Response:
    """List one's own jobs, the newest first."""
    body = rendering.body_of(list_jobs(caller, ctx, cursor=cursor))
    return rendering.show(request, "jobs.html", body)


@router.get("/jobs/{job_id}")
@router.get("/jobs/{job_id}.json")
async def get_job_page(
    job_id: UUID,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    part: Annotated[str | None, Query(pattern="^answer$")] = None,
) -> Response:
    """Show a job: its branches as they come in, its plan, and what it found.

    `part`: its answer alone, once there is one.
    """
    body = rendering.body_of(await get_job(job_id, caller, ctx))
    again = SearchForm.of_request(body["request"])
    told = body["response"]
    if told is not None:
        ctx.telemetry.note_job(job_id, json.dumps(told))
    if part and told is None:
        return Response(status_code=204 if body["ended_at"] else 202)
    values: dict[str, Any] = {
        "form": again or SearchForm(q=body["request"]["query"]),
        "card": await asyncio.to_thread(_card_of, ctx, caller.scope, told),
        "empty": None,
        "words_at": None,
    }
    if part:
        text = rendering.render(request, "_answer.html", body=told, **values)
        return HTMLResponse(text, headers=rendering.HEADERS)
    plan = await asyncio.to_thread(_plan_of, ctx, caller, job_id)
    flower = f"http://127.0.0.1:{ctx.settings.flower_port}"
    return rendering.show(
        *(request, "job.html", body), flower=flower, again=again, plan=plan, **values
    )


@router.post("/jobs/{job_id}")
async def post_job_form(
    job_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Stop a job, or ask the same again."""
    form = await read_form(request)
    shown = job_id
    if form.get("action") == "stop":
        await asyncio.to_thread(cancel_job, job_id, caller, ctx)
    elif form.get("action") == "replay":
        sent = rendering.body_of(await post_replay(job_id, request, caller, ctx))
        shown = sent["job_id"]
    else:
        message = "action: one of stop, replay."
        raise InvalidRequestError.field("action", "value", message)
    return RedirectResponse(f"{ctx.settings.base_path}/jobs/{shown}", 303)


def _plan_of(ctx: ApiContext, caller: CallerInfo, job_id: UUID) -> dict[str, Any]:
    """Return the plan of a job, as `debug` tells that of a search."""
    return score_trace.planned(
        Plan.from_values(own_jobs.find(ctx, caller, job_id).plan)
    )


def _card_of(
    ctx: ApiContext, scope: Scope, told: dict[str, Any] | None
) -> answer_card.AnswerCard:
    if told is None:
        return answer_card.AnswerCard()
    return answer_card.make_card(ctx, scope, told, [])


@router.get("/why-not")
@router.get("/why-not.json")
def get_why_not_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    job: UUID,
    entry: Annotated[str, Query(min_length=1, max_length=1000)],
) -> Response:
    """Say which gate an entry did not pass in a search."""
    named = _name_of(entry, ctx.settings.base_path)
    body = rendering.body_of(get_why_not(job, caller, ctx, named))
    if not rendering.is_twin(request):
        tenant, visit = caller.scope.tenant, page_visit.find_visit(request)
        how = {"action": "why_not"}
        ctx.telemetry.note(
            PageAction(tenant, "rescue_action", visit, job_id=job, details=how)
        )
    return rendering.show(request, "why_not.html", body, asked=entry, job_id=job)


def _name_of(entry: str, base_path: str) -> str:
    """Return the name in a pasted text: one of our links, or an entry's number."""
    _, found, path = entry.strip().partition(f"{base_path}/e/")
    return f"/e/{path.partition('#')[0].partition('?')[0]}" if found else entry.strip()
