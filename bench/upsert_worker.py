"""A real worker whose one stage is an upsert: `python -m bench.upsert_worker QUEUES`.

It becomes what `python -m workers.runtime.worker_kinds QUEUES` becomes, but for what
its task does. Nobody imports it: its task would take the place of the real one there.
"""

import os
import sys
from typing import LiteralString, NoReturn

from shared.messaging.stage_names import INDEX_STAGE
from shared.messaging.task_names import INDEX_ENTRIES
from shared.postgres.pool import connection
from shared.work import due_work
from workers.runtime import worker_kinds
from workers.runtime.context import Context
from workers.runtime.task import Ids, task
from workers.tasks import index

_UPSERT: LiteralString = """
    INSERT INTO upserted (entry_id)
    SELECT entry_id FROM unnest(%(ids)s::uuid[]) AS due (entry_id) ORDER BY entry_id
        ON CONFLICT (entry_id) DO UPDATE SET times = upserted.times + 1"""


@task(INDEX_ENTRIES)
def upsert_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Write one row an entry: as little as a stage can do."""
    for claims in ctx.batches(INDEX_STAGE, entry_ids, limit=index.INDEX_BATCH):
        with connection(ctx.pool) as conn:
            conn.execute(_UPSERT, {"ids": sorted(one.entry_id for one in claims)})
            due_work.finish(conn, *claims)


def _go_on_here(_: object, command: list[str]) -> NoReturn:
    from celery.__main__ import main as celery

    sys.argv = list(command)
    sys.exit(celery())


if __name__ == "__main__":
    # An exec would bring the task's own body back.
    os.execv = _go_on_here  # type: ignore[assignment]
    worker_kinds.main(sys.argv[1:])
