"""How the work stands, all of it, from Postgres alone: one answer for every surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import lag, loops, problems, processes
from shared.due.lag import ANY_TENANT, Lag, StageLag
from shared.due.loops import LoopState
from shared.due.problems import Seen
from shared.due.processes import Process


@dataclass(frozen=True, slots=True)
class Overview:
    """Stages, processes and loops at one moment, and what is wrong with them."""

    as_of: datetime
    stages: tuple[StageLag, ...]
    processes: list[Process]
    loops: list[LoopState]
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
    if tenant == ANY_TENANT:
        live = sum(one.due for one in behind.stages)
    else:
        live = lag.live_due(conn, most=max_backlog)
    seen = Seen(
        stages=behind.stages,
        processes=alive,
        loops=turning,
        full_at=max_backlog if live > max_backlog else None,
    )
    return Overview(behind.as_of, behind.stages, alive, turning, problems.told(seen))


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
