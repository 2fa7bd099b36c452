"""What is in force, who is alive, and how far each stage is behind."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any, LiteralString

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict

from api.context import ApiContext, Caller, Ctx, needs
from api.door_route import DoorRoute
from api.errors import documented
from api.schemas.entries import timestamp
from shared.access.scope import Scope
from shared.due import lag, processes
from shared.entries import reading
from shared.postgres import connection
from shared.version import VERSION

router = APIRouter(prefix="/v1", tags=["operations"], route_class=DoorRoute)

_LOOPS: LiteralString = """
    SELECT name, holder, extract(epoch FROM now() - last_turn_at)::float8
      FROM upkeep_loop ORDER BY name LIMIT 100"""
_NOW: LiteralString = "SELECT now()"

_OVERDUE_IS_A_PROBLEM_SECONDS = 30


class Loose(BaseModel):
    """A body that may grow; clients ignore what they do not know."""

    model_config = ConfigDict(extra="allow")


class StageOut(Loose):
    """One stage of enrichment."""

    stage: str
    due: int
    bulk: int
    overdue: int
    oldest_seconds: float
    leased: int
    quarantined: int
    watermark: datetime


class LagOut(Loose):
    """How far each stage is behind, from Postgres."""

    as_of: datetime
    stages: list[StageOut]
    workers: list[dict[str, Any]]
    problems: list[str]


class StatusOut(Loose):
    """Components, workers and loops."""

    version: str
    components: dict[str, Any]
    entries: int
    workers: list[dict[str, Any]]
    upkeep: list[dict[str, Any]]


@router.get(
    "/lag",
    summary="How far each stage is behind",
    response_model=LagOut,
    responses=documented(),
    dependencies=[Depends(needs("read"))],
)
def get_lag(ctx: Ctx) -> Response:
    """From the work table, not from the lengths of queues."""
    with connection(ctx.pool) as conn:
        stages = lag.stages(conn, list(ctx.stages))
        alive = processes.listing(conn)
        row = conn.execute(_NOW).fetchone()
    body = {
        "as_of": timestamp(row[0]) if row else None,
        "sources": [],
        "stages": [_stage(one) for one in stages],
        "workers": _by_queue(alive),
        "problems": problems(stages, alive),
    }
    return _json(body)


@router.get(
    "/status",
    summary="Components, versions, workers",
    response_model=StatusOut,
    responses=documented(),
    dependencies=[Depends(needs("read"))],
)
async def get_status(caller: Caller, ctx: Ctx) -> Response:
    """Workers by their own rows, so also with Redis down."""
    found, known = await asyncio.gather(
        ctx.probes.all(), asyncio.to_thread(_known, ctx, caller.scope)
    )
    components: dict[str, Any] = {
        name: {
            "ok": one.ok,
            **({"technical": one.technical} if _is_admin(caller) else {}),
        }
        for name, one in found.items()
    }
    return _json({"version": VERSION, "components": components, **known})


def problems(stages: list[lag.StageLag], alive: list[processes.Process]) -> list[str]:
    """Say in plain sentences what is wrong and what to do about it."""
    found = []
    kinds = {one.kind for one in alive if not one.stale}
    if "upkeep" not in kinds:
        found.append("No upkeep is alive: start `logchord serve upkeep`.")
    found += [
        f"{one.overdue} entries wait for the stage {one.stage!r} and nobody works on"
        " them: look at its worker with `logchord status`."
        for one in stages
        if one.overdue and one.oldest_seconds > _OVERDUE_IS_A_PROBLEM_SECONDS
    ]
    found += [
        f"{one.quarantined} entries were put aside by the stage {one.stage!r}; the"
        " log tells why (event entry_put_aside)."
        for one in stages
        if one.quarantined
    ]
    return found


def _known(ctx: ApiContext, scope: Scope) -> dict[str, Any]:
    with connection(ctx.pool) as conn:
        alive = processes.listing(conn)
        entries = reading.total(conn, scope, reading.ListingFilter())
        loops = conn.execute(_LOOPS).fetchall()
    return {
        "entries": entries,
        "workers": [
            {
                "kind": one.kind,
                "queues": one.queues,
                "pid": one.pid,
                "host": one.host,
                "version": one.version,
                "since": timestamp(one.since),
                "stale": one.stale,
            }
            for one in alive
        ],
        "upkeep": [
            {"loop": name, "holder": holder, "seconds_since_turn": round(age, 1)}
            for name, holder, age in loops
        ],
    }


def _stage(one: lag.StageLag) -> dict[str, Any]:
    return {
        "stage": one.stage,
        "due": one.due,
        "bulk": one.bulk,
        "overdue": one.overdue,
        "oldest_seconds": round(one.oldest_seconds, 1),
        "leased": one.leased,
        "quarantined": one.quarantined,
        "watermark": timestamp(one.watermark),
    }


def _by_queue(alive: list[processes.Process]) -> list[dict[str, Any]]:
    queues = sorted({queue for one in alive for queue in one.queues})
    return [
        {
            "queue": queue,
            "alive": sum(queue in one.queues and not one.stale for one in alive),
            "stale": sum(queue in one.queues and one.stale for one in alive),
        }
        for queue in queues
    ]


def _is_admin(caller: Caller) -> bool:
    return "admin" in caller.scope.allowed


def _json(body: Any) -> Response:
    return Response(json.dumps(body), media_type="application/json")
