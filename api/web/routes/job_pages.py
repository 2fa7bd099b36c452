"""Searches that were submitted as jobs, and why an entry is not in an answer."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from api.context import Caller, Ctx, needs
from api.search.routes.search_again import get_why_not
from api.search.routes.search_jobs import get_job, list_jobs
from api.web import rendering
from api.web.page_route import PageRoute
from api.web.search_form import SearchForm

router = APIRouter(
    include_in_schema=False,
    route_class=PageRoute,
    dependencies=[Depends(needs("search"))],
)


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
    job_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Show a job: its branches as they come in, its plan, and what it found."""
    body = rendering.body_of(await get_job(job_id, caller, ctx))
    flower = f"http://127.0.0.1:{ctx.settings.flower_port}"
    again = SearchForm.of_request(body["request"])
    return rendering.show(request, "job.html", body, flower=flower, again=again)


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
    return rendering.show(request, "why_not.html", body, asked=entry, job_id=job)


def _name_of(entry: str, base_path: str) -> str:
    """Return the name in a pasted text: one of our links, or an entry's number."""
    _, found, path = entry.strip().partition(f"{base_path}/e/")
    return f"/e/{path.partition('#')[0].partition('?')[0]}" if found else entry.strip()
