"""How the work stands, all of it, from Postgres alone: one answer for every surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import lag, loops, maintenance, problems, processes
from shared.due.lag import ANY_TENANT, Lag, StageLag
from shared.due.loops import LoopState
from shared.due.maintenance import Maintenance
from shared.due.problems import Seen
from shared.due.processes import Process


@dataclass(frozen=True, slots=True)
class Overview:
    """Stages, processes, loops and chores at one moment, and what is wrong there."""

    # Whose counts they are.
    tenant: str
    as_of: datetime
    stages: tuple[StageLag, ...]
    processes: list[Process]
    loops: list[LoopState]
    chores: list[Maintenance]
    problems: list[str]


@dataclass(frozen=True, slots=True)
class QueueState:
    """The workers of one queue, as they report themselves."""

    queue: str
    alive: int
    stale: int


def read(
    conn: Connection[TupleRow],
    known: Iterable[str],
    *,
    max_backlog: int,
    tenant: str = ANY_TENANT,
    counted: Lag | None = None,
) -> Overview:
    """Return how the work stands; `counted` saves counting a large backlog again."""
    behind = counted or lag.read(conn, known, tenant)
    alive = processes.listing(conn)
    turning = loops.listing(conn)
    chores = maintenance.unfinished(conn)
    if tenant == ANY_TENANT:
        live = sum(one.due for one in behind.stages)
    else:
        live = lag.live_due(conn, most=max_backlog)
    seen = Seen(
        stages=behind.stages,
        processes=alive,
        loops=turning,
        chores=chores,
        as_of=behind.as_of,
        full_at=max_backlog if live > max_backlog else None,
    )
    told = problems.told(seen)
    return Overview(tenant, behind.as_of, behind.stages, alive, turning, chores, told)


def by_queue(alive: Iterable[Process], queues: Iterable[str]) -> list[QueueState]:
    """Return every queue, those too that nobody works on."""
    known = list(alive)
    named = sorted({*queues, *(queue for one in known for queue in one.queues)})
    return [
        QueueState(
            queue,
            alive=sum(queue in one.queues and not one.stale for one in known),
            stale=sum(queue in one.queues and one.stale for one in known),
        )
        for queue in named
    ]
