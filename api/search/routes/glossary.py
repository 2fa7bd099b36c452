"""The facility's glossary: proposed by who searches, decided by its admins."""

import json
from typing import Annotated, Literal

from fastapi import Path, Query, Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx
from api.search.schemas.glossary import (
    MOST_NAMED,
    ProposalIn,
    Said,
    State,
    TermOut,
    TermPage,
    term_out,
)
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.strict_route import described, strict_router
from shared.glossary import glossary_terms, term_usage
from shared.log import get_logger
from shared.postgres.pool import Connection, connection
from shared.text import door

log = get_logger()

router = strict_router("/v1/glossary", "search")

# A slash is a part of `I/O`.
Named = Annotated[str, Path(min_length=1, max_length=100)]
Chosen = Annotated[
    list[Said] | None,
    Query(
        max_length=MOST_NAMED,
        description="These of its expansions; none: what is proposed, and a rejection"
        " takes back what is approved, too.",
    ),
]


@router.get("")
@described("List the glossary", TermPage, scope="search")
def list_glossary(
    caller: Caller,
    ctx: Ctx,
    state: Annotated[State | None, Query()] = None,
    limit: PageSize = 50,
    cursor: str | None = None,
) -> Response:
    """By their letters; entries that say so are those that you may see."""
    scope = caller.scope
    query = json.dumps([scope.tenant, state])
    pages = ListPage(ctx, scope, "GET /v1/glossary", query, limit)
    after = pages.open(cursor)
    with connection(ctx.pool) as conn:
        found = term_usage.page(conn, scope, state=state, after=after, limit=limit + 1)
    page, next_cursor = pages.close(found, lambda last: last.place)
    body = {"items": [term_out(one) for one in page], "next_cursor": next_cursor}
    return as_json(body)


@router.post("/{term:path}/approve")
@described("Have a term's expansions searched", TermOut, 404, scope="admin")
def approve(
    term: Named, caller: Caller, ctx: Ctx, expansion: Chosen = None
) -> Response:
    """From the next search on, of everybody in the facility."""
    return _decided(ctx, caller, term, "approved", expansion)


@router.post("/{term:path}/reject")
@described("Have a term's expansions searched no more", TermOut, 404, scope="admin")
def reject(term: Named, caller: Caller, ctx: Ctx, expansion: Chosen = None) -> Response:
    """What was approved is undone by it; what was found in entries stays rejected."""
    return _decided(ctx, caller, term, "rejected", expansion)


@router.post("/{term:path}")
@described("Propose what may be said for a term", TermOut, 404, scope="search")
def propose(term: Named, body: ProposalIn, caller: Caller, ctx: Ctx) -> Response:
    """Nothing is searched by it until an admin approves it."""
    door.admit(term, "term")
    with connection(ctx.pool) as conn:
        glossary_terms.propose(conn, caller.scope.tenant, term, body.expansions)
        return _told(conn, caller, term, "proposed")


def _decided(
    ctx: ApiContext,
    caller: CallerInfo,
    term: str,
    state: Literal["approved", "rejected"],
    named: list[str] | None,
) -> Response:
    door.admit(term, "term")
    with connection(ctx.pool) as conn:
        changed = glossary_terms.decide(conn, caller.scope, term, state, named)
        answer = _told(conn, caller, term, state)
    ctx.searches.glossaries.forget(caller.scope.tenant)
    count, who = len(changed), caller.scope.caller
    log.info("glossary_decided", state=state, expansions=count, by=who)
    return answer


def _told(conn: Connection, caller: CallerInfo, term: str, state: State) -> Response:
    """Answer with the term in this state; what was proposed may be approved already."""
    found = term_usage.page(conn, caller.scope, term=term, limit=3)
    wanted = [one for one in found if one.state == state] or found
    return as_json(term_out(wanted[0]))
