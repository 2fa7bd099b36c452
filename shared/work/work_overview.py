"""How the work stands, all of it, from Postgres alone: one answer for every surface."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from psycopg import Connection

from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.work import chore_records, diagnosis, lag, live_processes, upkeep_loops
from shared.work.chore_records import REBUILD_INDEX, RECONCILE_INDEX, Maintenance
from shared.work.diagnosis import SystemState
from shared.work.lag import ANY_TENANT, Lag
from shared.work.live_processes import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(SystemState):
    """Stages, processes, loops and chores at one moment, with their problems."""

    # Whose counts they are.
    tenant: str
    # What last compared the index with Postgres, if anything did.
    compared: Maintenance | None

    @property
    def problems(self) -> list[str]:
        """Return a sentence for each problem; none when all is well."""
        return diagnosis.describe_problems(self)

    @property
    def index_watermark(self) -> datetime:
        """Up to when everything written can be found in the index."""
        named = {METADATA_STAGE, INDEX_STAGE}
        marks = [one.watermark for one in self.stages if one.stage in named]
        return min(marks, default=self.as_of)

    @property
    def drift(self) -> int | None:
        """How many documents differed when the index was last compared."""
        if self.compared is None or self.compared.result is None:
            return None
        result = self.compared.result
        return int(result["differing"]) + int(result.get("removed", 0))


@dataclass(frozen=True, slots=True)
class QueueState:
    """The workers of one queue, as they report themselves."""

    queue: str
    alive: int
    stale: int


def load_overview(
    conn: Connection,
    known: Iterable[str],
    *,
    that_run: Collection[str],
    max_backlog: int,
    zone: str,
    tenant: str = ANY_TENANT,
    counted: Lag | None = None,
) -> Overview:
    """Return how the work stands; `counted` saves counting a large backlog again.

    Work of other stages than those `that_run` waits for its package, and fills nothing.
    """
    behind = counted or lag.measure_lag(conn, known, tenant)
    if tenant == ANY_TENANT:
        run = [one for one in behind.stages if lag.is_run(one.stage, that_run)]
        live = sum(one.due for one in run)
    else:
        live = lag.count_live_due(conn, that_run, most=max_backlog)
    return Overview(
        tenant=tenant,
        as_of=behind.as_of,
        stages=behind.stages,
        processes=live_processes.list_processes(conn),
        loops=upkeep_loops.listing(conn),
        chores=chore_records.list_unfinished(conn),
        not_run=frozenset(
            one.stage
            for one in behind.stages
            if one.due + one.bulk and not lag.is_run(one.stage, that_run)
        ),
        full_at=max_backlog if live > max_backlog else None,
        zone=zone,
        compared=chore_records.find_last_done(conn, RECONCILE_INDEX, REBUILD_INDEX),
    )


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
