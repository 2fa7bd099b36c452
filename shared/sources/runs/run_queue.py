"""A run that has not begun: who comes before it, and whether anybody can begin it."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from shared.messaging import task_names
from shared.sources import run_records
from shared.sources.run_records import IngestionRun
from shared.work import live_processes, schedule, work_overview

QUEUED = "queued"


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many runs go before a queued one, and whether a worker is alive for it."""

    queue: str
    # Runs that are taken before it; None: it is not due, as of a paused source.
    ahead: int | None
    # Those of the queue that have reported themselves of late.
    workers: int


def load_run_queue(
    conn: Connection, found: Iterable[IngestionRun]
) -> dict[UUID, Waiting]:
    """Return the wait of each queued run, by the run's id."""
    queued = [one for one in found if one.state == QUEUED]
    if not queued:
        return {}
    due = [(one.source, one.kind) for one in schedule.list_due_runs(conn)]
    queues = {
        kind: task_names.QUEUE_OF[task_names.run_task(kind)]
        for kind in run_records.KINDS
    }
    standing = work_overview.by_queue(
        live_processes.list_processes(conn), queues.values()
    )
    alive = {one.queue: one.alive for one in standing}
    told = {}
    for run in queued:
        queue = queues[run.kind]
        line = [one for one in due if queues.get(one[1]) == queue]
        mine = (run.source, run.kind)
        ahead = line.index(mine) if mine in line else None
        told[run.id] = Waiting(queue, ahead, alive[queue])
    return told
