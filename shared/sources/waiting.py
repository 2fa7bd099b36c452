"""A run that has not begun: who comes before it, and whether anybody can begin it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared import broker
from shared.due import overview, processes, schedule
from shared.sources import runs
from shared.sources.runs import IngestionRun

QUEUED = "queued"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for."""

    queue: str
    # Runs that are taken before it; None: it is not due, as of a paused source.
    ahead: int | None
    # Those of the queue that have reported themselves of late.
    workers: int


def of(
    conn: Connection[TupleRow], found: Iterable[IngestionRun]
) -> dict[UUID, Waiting]:
    """Return what each of these waits for that is queued, by its id."""
    queued = [one for one in found if one.state == QUEUED]
    if not queued:
        return {}
    due = [(one.source, one.kind) for one in schedule.due_of_sources(conn)]
    queues = {kind: broker.QUEUE_OF[broker.run_task(kind)] for kind in runs.KINDS}
    standing = overview.by_queue(processes.listing(conn), queues.values())
    alive = {one.queue: one.alive for one in standing}
    told = {}
    for run in queued:
        queue = queues[run.kind]
        line = [one for one in due if queues.get(one[1]) == queue]
        mine = (run.source, run.kind)
        ahead = line.index(mine) if mine in line else None
        told[run.id] = Waiting(queue, ahead, alive[queue])
    return told
