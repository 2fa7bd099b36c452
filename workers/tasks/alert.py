"""What Celery runs of saved searches: entries that came are matched, alerts sent."""

import functools
import threading
import time
from collections.abc import Sequence

from shared.log import get_logger
from shared.messaging.stage_names import ALERT_STAGE
from shared.messaging.task_names import DELIVER_ALERTS, MATCH_ENTRIES
from shared.postgres.pool import connection
from shared.watch import alert_rows, deliver_alerts, find_alerts, waited_for
from shared.watch.saved_plans import SavedPlanner
from shared.work import batches, due_work
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import BATCH_SECONDS, Ids, attempt, settle_batch, task

log = get_logger()

MATCH_BATCH = 128


@task(MATCH_ENTRIES)
def match_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Find whom what came is to be told to; twice equals once."""
    ctx.checkpoint("before_claim", *entry_ids)
    error = attempt(find_alerts.make_vectors, ctx.search_context, _planner(ctx))
    if error is not None:
        # What needs one stays due, and says so.
        log.warning("saved_searches_not_embedded", code=error.error_code)
    for claims in ctx.batches(ALERT_STAGE, entry_ids, limit=MATCH_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        for tenant in sorted({claim.tenant for claim in claims}):
            ours = [one for one in claims if one.tenant == tenant]
            error = attempt(_match, ctx, ours)
            if error is not None:
                settle_batch(ctx, ours, error, lambda claim: _match(ctx, [claim]))


@task(DELIVER_ALERTS)
def deliver(ctx: Context) -> None:
    """Send what is due; a webhook that hangs holds one thread of this process."""
    turn: threading.Lock = ctx.kept("delivering", threading.Lock)
    if not turn.acquire(blocking=False):
        return
    try:
        ends = time.monotonic() + BATCH_SECONDS
        while time.monotonic() < ends and not batches.is_ending():
            with connection(ctx.pool) as conn:
                alerts = alert_rows.claim(conn, deliver_alerts.MOST_TOGETHER)
            if not alerts:
                return
            ctx.checkpoint("after_claim", *(one.entry_id for one in alerts))
            deliver_alerts.deliver(ctx.pool, ctx.settings, alerts, batches.is_ending)
    finally:
        turn.release()


def _match(ctx: Context, claims: Sequence[Claim]) -> None:
    """Match entries of one facility; alerts and the end of the work are one commit.

    What is hidden yet is matched once more when it may be seen.
    """
    ids = [claim.entry_id for claim in claims]
    context, planner = ctx.search_context, _planner(ctx)
    with connection(ctx.pool) as conn:
        hidden = waited_for.list_hidden(conn, claims[0].tenant, ids)
    found = find_alerts.find_matches(
        context, planner, ctx.settings, claims[0].tenant, ids
    )
    ctx.checkpoint("after_match", *ids)
    with connection(ctx.pool) as conn:
        fired = find_alerts.fire_all(conn, planner, found)
        ctx.checkpoint("before_finish", *ids)
        due_work.put_off(conn, claims[0].claim, hidden)
        seen = [claim for claim in claims if claim.entry_id not in hidden]
        due_work.finish(conn, *seen)
        ctx.checkpoint("before_commit", *ids)
    ctx.checkpoint("after_commit", *ids)
    if fired:
        log.info("alerts_fired", alerts=fired, saved_searches=len(found))


def _planner(ctx: Context) -> SavedPlanner:
    make = functools.partial(SavedPlanner, ctx.settings, ctx.search_context)
    return ctx.kept("saved_planner", make)
