"""An ended search, looked into: why an entry is not in it, and whether it repeats."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from api.context import Caller, Ctx, needs
from api.search import own_jobs
from api.search.routes.search import accepted
from api.search.schemas.jobs import JobAccepted, WhyNot
from api.server.json_response import as_json
from api.strict_route import audited, described, strict_router
from shared.errors import InvalidRequestError
from shared.search.explain import why_not
from shared.text import door

router = strict_router("/v1/search/jobs", "search", needs("search"))


@router.get("/{job_id}/why-not")
@described("Say why an entry is not in the answer", WhyNot, 404, 410)
def get_why_not(
    job_id: UUID,
    caller: Caller,
    ctx: Ctx,
    entry: Annotated[str, Query(min_length=1, max_length=1000)],
) -> Response:
    """Name the first gate that kept it out, and what it would have needed.

    `entry` is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID or a bare
    external id. What the caller may not see is answered for as what does not exist,
    unless `search.acl_honesty` has it told that there is such an entry.
    """
    found = own_jobs.find(ctx, caller, job_id)
    named = door.admit(entry, "entry")
    return as_json(why_not.explain(ctx.reader(caller.scope), found, named).body())


@router.post("/{job_id}/replay")
@described("Ask the same again, and compare", JobAccepted, 404, 410, status_code=202)
@audited("search")
async def post_replay(
    job_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Submit the plan as it was; once that job has ended, its `replay` compares both.

    Dates such as `yesterday` stay the days that they were.
    """
    found = await asyncio.to_thread(own_jobs.find, ctx, caller, job_id)
    if found.ended_at is None:
        message = "This search has not ended yet: ask again when it has."
        raise InvalidRequestError.field("job_id", "not_ended", message)
    plan = ctx.searches.again(found, caller.scope)
    return accepted(request, await ctx.searches.submit(plan, caller))
