"""The audit, read by admins; nothing changes it."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Query, Response

from api.access.schemas.audit import AuditPage, audit_record_out
from api.context import Caller, Ctx, needs_whole_facility
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.strict_route import audited, described, strict_router
from shared.access import audit_records
from shared.access.audit_records import Action, AuditFilter
from shared.entries import refs
from shared.postgres.pool import connection
from shared.times.rfc3339 import parse_time

router = strict_router("/v1/audit", "access", needs_whole_facility)

_Name = Annotated[
    str | None, Query(max_length=255, description="A key's id, or a person.")
]
_Target = Annotated[
    str | None,
    Query(max_length=500, description="An entry by any name; a key, a source."),
]
_Time = Annotated[str | None, Query(max_length=64, description="From then on.")]
_End = Annotated[str | None, Query(max_length=64, description="Before then.")]


@router.get("")
@described("Read who did what", AuditPage)
@audited("read")
def list_audit(
    caller: Caller,
    ctx: Ctx,
    who: _Name = None,
    action: Action | None = None,
    target: _Target = None,
    since: _Time = None,
    until: _End = None,
    limit: PageSize = 50,
    cursor: str | None = None,
) -> Response:
    """The newest first, of the facility; with a key of `*` everybody's."""
    scope, zone = caller.scope, ctx.settings.facility_timezone
    query = json.dumps([who, action, target, since, until])
    pages = ListPage(ctx, scope, "GET /v1/audit", query, limit)
    after = pages.open(cursor)
    with connection(ctx.pool) as conn:
        targets = None
        if target is not None:
            meant = refs.find(conn, scope.tenant, target)
            names = (f"{one.source}/{one.external_id}" for one in meant)
            targets = [target, *names, *(str(one.entry_id) for one in meant)]
        asked = AuditFilter(
            who,
            action,
            targets,
            None if since is None else parse_time(since, "since", zone=zone),
            None if until is None else parse_time(until, "until", zone=zone),
        )
        found = audit_records.list_records(
            conn, scope.watched, asked, limit=limit + 1, after=after
        )
    page, next_cursor = pages.close(found, lambda last: last.place)
    items = [*map(audit_record_out, page)]
    return as_json({"items": items, "next_cursor": next_cursor})
