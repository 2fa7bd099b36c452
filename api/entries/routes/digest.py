"""The digest of a shift."""

import re
from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import Query, Response

from api.context import Caller, Ctx, needs
from api.entries import shift_digest, shift_times
from api.entries.schemas.digest import ShiftDigest
from api.server.json_response import as_json
from api.strict_route import audited, described, strict_router
from shared.postgres.pool import connection
from shared.text import door
from shared.times.calendar import Clock
from shared.times.rfc3339 import parse_time

router = strict_router("/v1", "entries", needs("search"))

PREVIOUS, THIS = "previous_shift", "this_shift"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@router.get("/digest")
@described("What a shift should know of the time before it", ShiftDigest)
@audited("read")
def get_digest(
    caller: Caller,
    ctx: Ctx,
    since: Annotated[
        str,
        Query(
            max_length=64,
            description="`previous_shift`, `this_shift`, or a time; where no shifts"
            " are configured, days are meant.",
        ),
    ] = PREVIOUS,
) -> Response:
    """Every item with its entry and revision; of the time 200 entries at most.

    Beside these what stands open from before: incidents of the last 30 days that are
    not resolved, locks of a year that were not removed, and what handovers of the last
    week asked for and no entry took up within three shifts.
    """
    clock = ctx.searches.calendar
    before = {PREVIOUS: 1, THIS: 0}.get(since)
    now = clock.now or datetime.now(UTC)
    if before is None:
        begun = _moment(door.admit(since, "since"), clock)
    else:
        begun = shift_times.begin_of_shift(clock, before=before) or now
    with connection(ctx.pool) as conn:
        body = shift_digest.build_digest(ctx, conn, caller.scope, begun, now, clock)
    return as_json(body)


def _moment(since: str, clock: Clock) -> datetime:
    """Return a time, or of a date when the facility's day of it begins."""
    if not _DATE.fullmatch(since):
        return parse_time(since, "since", zone=clock.zone)
    # What is no day, or too far, is no time either.
    parse_time(f"{since}T00:00Z", "since", zone=None)
    day = clock.day(date.fromisoformat(since)).since
    assert day is not None
    return day
