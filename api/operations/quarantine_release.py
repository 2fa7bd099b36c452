"""Whatever a filter names is made due again, in short commits, while there is time."""

import time
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries.pushes import first_stages
from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import Connection, connection
from shared.sources.intake import quarantined_items, retry_items
from shared.work import lag, quarantine
from shared.work.quarantine import Released, Which

log = get_logger()

# What waits in a facility's own work, then what its sources sent.
_WORK, _ITEMS = "work", "items"
# So many in one commit; an item is read with the payload that was kept of it.
_ROWS, _READ = 1000, 100
# A program waits for the answer, and asks for the rest.
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ReleaseProgress:
    """The place that a release has come to, in one of its two parts."""

    part: str
    after: UUID | None = None

    @classmethod
    def begin(cls, which: Which) -> Self:
        """Return the place where the release of this work begins."""
        return cls(_ITEMS if which.stage == quarantined_items.STAGE else _WORK)

    @classmethod
    def of(cls, kept: list[str | None]) -> Self:
        """Read the place from a cursor."""
        part, after = kept
        return cls(str(part), None if after is None else UUID(after))

    def kept(self) -> list[str | None]:
        """Return the place for a cursor."""
        return [self.part, None if self.after is None else str(self.after)]


@dataclass(frozen=True, slots=True)
class ReleaseStep:
    """The result of a release so far, and the place where its rest begins."""

    released: Released
    rest: ReleaseProgress | None = None


def release(
    ctx: ApiContext,
    caller: CallerInfo,
    which: Which,
    place: ReleaseProgress,
    limit: int | None,
) -> ReleaseStep:
    """Release what a filter names from a place on, each step in its own commit."""
    ends = time.monotonic() + _SECONDS
    done = ReleaseStep(Released(0, [], []), place)
    left = limit
    while done.rest is not None and left != 0 and time.monotonic() < ends:
        try:
            with connection(ctx.pool) as conn:
                step = _step(ctx, conn, caller, which, done.rest, left)
        except LogchordError as exc:
            if done.rest == place:
                raise
            # What is done is told, and what is not begins at its cursor.
            log.warning("release_ended_early", code=exc.error_code)
            break
        if left is not None:
            left -= step.released.released + step.released.still_quarantined
        done = ReleaseStep(_together(done.released, step.released), step.rest)
    return done


def read_one(
    ctx: ApiContext, conn: Connection, caller: CallerInfo, which: Which
) -> Released:
    """Read once more the one item that is named."""
    return _read(ctx, conn, caller, which, ReleaseProgress(_ITEMS), 1)


def _step(
    ctx: ApiContext,
    conn: Connection,
    caller: CallerInfo,
    which: Which,
    place: ReleaseProgress,
    left: int | None,
) -> ReleaseStep:
    most = _ROWS if place.part == _WORK else _READ
    limit = most if left is None else min(left, most)
    if place.part == _ITEMS:
        found = _read(ctx, conn, caller, which, place, limit)
        rest = None if found.last is None else ReleaseProgress(_ITEMS, found.last)
        return ReleaseStep(found, rest)
    watched = replace(which, tenant=lag.reach(conn, caller.scope.watched))
    found = quarantine.release(conn, watched, limit=limit, after=place.after)
    if found.last is not None:
        return ReleaseStep(found, ReleaseProgress(_WORK, found.last))
    return ReleaseStep(found, ReleaseProgress(_ITEMS) if which.stage is None else None)


def _read(
    ctx: ApiContext,
    conn: Connection,
    caller: CallerInfo,
    which: Which,
    place: ReleaseProgress,
    limit: int,
) -> Released:
    """Read again what the caller's sources sent; what cannot be stays quarantined."""
    stages = first_stages(ctx)
    mine = replace(which, tenant=caller.scope.tenant)
    read = retry_items.read_again(
        conn, ctx.settings, mine, stages, limit=limit, after=place.after
    )
    touched = sorted(stages) if read.entries else []
    return Released(len(read.entries), [], touched, read.still_quarantined, read.last)


def _together(one: Released, other: Released) -> Released:
    return Released(
        one.released + other.released,
        sorted({*one.resumed, *other.resumed}),
        sorted({*one.stages, *other.stages}),
        one.still_quarantined + other.still_quarantined,
    )
