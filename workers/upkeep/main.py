"""A plain process: nudges what is due, schedules chores, ends overdue jobs.

Each loop holds an advisory lock, so that a second upkeep stands by. None of them
needs the broker to be alive.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from shared import log as logs
from shared.access import audit_records
from shared.agents import turn_rows
from shared.enrich import reanalyse
from shared.errors import (
    CapacityError,
    ConfigurationError,
    LogchordError,
    OpenSearchError,
    WorkerLostError,
)
from shared.messaging import fan_out, nudges, redis_clients, task_names
from shared.messaging.celery_app import count_messages, make_app
from shared.opensearch import fill_index, tidy_indices
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, make_pool
from shared.search.jobs import close_job, partitions
from shared.search.quality import event_partitions
from shared.settings.settings import Settings
from shared.sources.runs import sync_config
from shared.text.facility.facility import PLAIN, Facility
from shared.text.facility.facility import load as load_facility
from shared.version import VERSION
from shared.watch import alert_rows, tell_problems
from shared.work import (
    chore_records,
    diagnosis,
    due_work,
    lag,
    live_processes,
    quarantine,
    quarantine_budget,
    schedule,
    work_overview,
)
from shared.work.live_processes import Identity, Reporter
from shared.work.upkeep_loops import MESSAGES_LOOP
from workers.runtime import quarantine_work, worker_metrics
from workers.upkeep.loops import Loop

if TYPE_CHECKING:
    import redis
    from opensearchpy import OpenSearch

log = logs.get_logger()

SWEEP_GRACE_SECONDS = 1.0
# How often it is looked for what nobody works on.
SWEEP_SECONDS = 1.0
FINISH_SECONDS = 1.0
RETENTION_SECONDS = 60.0
INDEX_SECONDS = 5.0
MESSAGES_SECONDS = 5.0
ALERT_QUEUE = task_names.QUEUE_OF[task_names.DELIVER_ALERTS]
SCHEDULE_SECONDS = 1.0
# How often the installation does each of its chores.
CHORES = {
    chore_records.EXPIRE: 3600.0,
    # Where days are equal their entries are not looked at.
    chore_records.RECONCILE_INDEX: 3600.0,
    chore_records.REMOVE_FILES: 86_400.0,
    chore_records.RETIRE_ENTRIES: 3600.0,
    chore_records.RENEW_TEXTS: 3600.0,
    chore_records.COUNT_WORDS: 86_400.0,
    chore_records.MINE_GLOSSARY: 86_400.0,
}


@contextmanager
def _broker_or_next_turn(event: str) -> Iterator[None]:
    """Leave what is due to the loop's next turn if the broker cannot be reached."""
    try:
        yield
    except CapacityError as exc:
        log.warning(event, technical=exc.technical)


def sweep_due_work(conn: Connection, app: Any) -> None:
    """Nudge for what nobody works on, at most two messages per worker process."""
    late = due_work.list_overdue_stages(conn, grace_seconds=SWEEP_GRACE_SECONDS)
    if not late:
        return
    with _broker_or_next_turn("sweep_without_broker"):
        _nudge(conn, app, late)


def quarantine_spent(
    conn: Connection, settings: Settings, facility: Callable[[], Facility]
) -> None:
    """Quarantine what no worker survives; their leases are over."""
    put = functools.partial(
        quarantine_work.quarantine_work, settings=settings, facility=facility
    )
    for claim in quarantine.add_spent(conn, put=put):
        log.warning(
            "entry_quarantined",
            entry_id=str(claim.entry_id),
            stage=claim.stage,
            attempts=claim.attempts,
            code=WorkerLostError.code,
        )


def _nudge(conn: Connection, app: Any, late: list[str]) -> None:
    queue_of = {
        stage: task_names.QUEUE_OF[task_names.task_of(stage)[0]] for stage in late
    }
    room = _room(conn, app, set(queue_of.values()))
    # In turn and in no fixed order: a stage that nobody can work on, such as that of
    # an older model, must not take the room of those it shares a queue with.
    shuffled = random.sample(late, len(late))
    for stage in shuffled * nudges.NUDGES_PER_PROCESS:
        if room[queue_of[stage]] > 0:
            nudges.send_nudge(app, stage)
            room[queue_of[stage]] -= 1


def _room(conn: Connection, app: Any, queues: set[str]) -> dict[str, int]:
    """Return how many more nudges each queue may hold: two for each process of it."""
    standing = work_overview.by_queue(live_processes.list_processes(conn), queues)
    alive = {one.queue: max(1, one.alive) for one in standing}
    return {
        name: nudges.NUDGES_PER_PROCESS * alive[name] - length
        for name, length in count_messages(app, sorted(queues)).items()
    }


def arrange_chores(conn: Connection) -> None:
    """Make sure that every chore of this release is scheduled."""
    for kind, every_seconds in sorted(CHORES.items()):
        schedule.arrange(conn, schedule.INSTALLATION, kind, every_seconds)


def renew_at_once(conn: Connection, facility: Facility) -> None:
    """Have entries read anew at once if the facility's file has changed.

    Until they are due, no answer can say that they may be found by older terms.
    """
    last = chore_records.find_last_done(conn, chore_records.RENEW_TEXTS)
    by = (last.result or {}).get(reanalyse.READ_BY) if last else None
    if by is None or by == reanalyse.read_by(facility):
        return
    kind = chore_records.RENEW_TEXTS
    every = CHORES[kind]
    schedule.bring_forward(conn, schedule.INSTALLATION, kind, every_seconds=every)


def schedule_chores(conn: Connection) -> None:
    """Make a row of each chore whose time has come, and say when it comes next."""
    for kind in CHORES.keys() & set(
        schedule.list_due_kinds(conn, schedule.INSTALLATION)
    ):
        # One commit: a death leaves the run as due as it was, never done twice.
        with conn.transaction():
            run = schedule.take_due_run(conn, schedule.INSTALLATION, kind)
            if run is not None:
                chore_records.open_chore(conn, kind)
                schedule.finish(conn, run)


def nudge_chores(conn: Connection, app: Any) -> None:
    """Nudge for the chores nobody works on, at most two messages per worker process."""
    for kind in chore_records.fail_lost(conn):
        log.error("chore_failed", kind=kind, code=WorkerLostError.code)
    # A kind of another release is left to that one's workers.
    late = [
        one
        for one in chore_records.overdue(conn)
        if task_names.chore_task(one[0]) in task_names.QUEUE_OF
    ]
    if not late:
        return
    with _broker_or_next_turn("chores_without_broker"):
        queue = diagnosis.CHORES_QUEUE
        room = _room(conn, app, {queue})[queue]
        for kind, maintenance_id in random.sample(late, len(late))[: max(0, room)]:
            nudges.send_chore(app, kind, maintenance_id)


def nudge_sources(conn: Connection, app: Any) -> None:
    """Nudge for the runs of sources that are due, the healthy ones first."""
    late = schedule.list_due_runs(conn)
    if not late:
        return
    queue_of = {
        run.kind: task_names.QUEUE_OF[task_names.run_task(run.kind)] for run in late
    }
    with _broker_or_next_turn("sources_without_broker"):
        room = _room(conn, app, set(queue_of.values()))
        for run in late:
            if room[queue_of[run.kind]] > 0:
                nudges.send_run(app, run.source, run.kind)
                room[queue_of[run.kind]] -= 1


def arrange_sources(
    conn: Connection, settings: Settings, environ: Mapping[str, str]
) -> None:
    """Bring the rows of sources to what the configuration says by now.

    Whoever takes the lock again, after its connection was lost, has read the file long
    ago: the sources that were added since would be removed.
    """
    try:
        settings = Settings.load(environ)
    except ConfigurationError as exc:
        log.warning("configuration_unreadable", message=exc.message)
        return
    with conn.transaction():
        result = sync_config.arrange(conn, settings)
    for name, error in result.invalid.items():
        log.error("source_invalid", source=name, message=error.message)


def sweep_agent_turns(conn: Connection, app: Any) -> None:
    """Nudge for the turns of agents whose workers are gone."""
    watched, lease = {fan_out.WATCHED: True}, turn_rows.LEASE_SECONDS
    with _broker_or_next_turn("agents_without_broker"):
        for job_id, turn_no in turn_rows.list_left_alone(conn):
            fan_out.send_agent_turn(app, job_id, turn_no, watched, expires=lease)


def nudge_alerts(conn: Connection, app: Any) -> None:
    """Nudge for the alerts that are due, and for no more than workers take."""
    if not alert_rows.are_due(conn):
        return
    with _broker_or_next_turn("alerts_without_broker"):
        if _room(conn, app, {ALERT_QUEUE})[ALERT_QUEUE] > 0:
            nudges.send_delivery(app)


def end_overdue_jobs(conn: Connection, client: redis.Redis) -> None:
    """End the jobs that nobody has ended in time, and count them."""
    for one in close_job.finish_overdue_jobs(conn, client):
        worker_metrics.JOBS.labels(one.state).inc()
        for name in one.unheard:
            worker_metrics.branch_done(name, "timeout", one.deadline_seconds)


def loops(settings: Settings) -> list[Loop]:
    """Return every duty of upkeep."""
    url = settings.require_database_url()
    app = make_app(settings)
    # Tried twice, it must leave a job the time to end within 5 s of its deadline.
    client = redis_clients.jobs_redis(settings, timeout_seconds=1.0)

    @functools.cache
    def facility() -> Facility:
        # Nobody's fault here: whoever reads texts refuses to without the file.
        path, zone = settings.analyser.facility_file, settings.facility_timezone
        try:
            return load_facility(path, zone)
        except ConfigurationError as exc:
            log.warning("facility_not_read", code=exc.error_code)
            return PLAIN

    def sweep(conn: Connection) -> None:
        quarantine_spent(conn, settings, facility)
        sweep_due_work(conn, app)
        nudge_alerts(conn, app)

    def finish(conn: Connection) -> None:
        end_overdue_jobs(conn, client)
        sweep_agent_turns(conn, app)

    def schedule_due(conn: Connection) -> None:
        schedule_chores(conn)
        nudge_chores(conn, app)
        nudge_sources(conn, app)

    def arrange(conn: Connection) -> None:
        arrange_chores(conn)
        renew_at_once(conn, facility())
        arrange_sources(conn, settings, os.environ)

    def keep(conn: Connection) -> None:
        # No chore: a search must have its partition where no worker of chores runs,
        # and whatever the broker does.
        oldest = partitions.rotate_partitions(
            conn, retention_hours=settings.job_retention_hours
        )
        turn_rows.forget(conn, oldest)
        event_partitions.rotate_event_partitions(
            conn, retention_days=settings.telemetry.retention_days
        )
        audit_records.rotate_audit(conn, retention_days=settings.audit.retention_days)
        # Nor this: a busy minute writes as many rows as an hour's chore should find.
        quarantine_budget.forget(conn)

    duties = [
        Loop(url, "sweeper", SWEEP_SECONDS, sweep),
        Loop(url, "finisher", FINISH_SECONDS, finish),
        Loop(url, "scheduler", SCHEDULE_SECONDS, schedule_due, before=arrange),
        Loop(url, "retention", RETENTION_SECONDS, keep),
        *_messages(url, settings),
    ]
    # Without an address it has no index to keep; its other duties go on.
    engine = make_client(settings) if settings.opensearch_url is not None else None
    if engine is not None:
        pool = make_pool(url, application="upkeep index", size=1)

        def open_index(_: Connection) -> LogchordError | None:
            return keep_index(engine, settings.opensearch_index, pool)

        duties.append(Loop(url, "index", INDEX_SECONDS, open_index))
    return duties


def _messages(url: str, settings: Settings) -> list[Loop]:
    """Return the loop that tells of problems, if anybody is to be told."""
    if settings.operations.webhook_url is None:
        return []
    tell = functools.partial(
        tell_problems.tell_problems, settings=settings, counts=lag.keep_counts()
    )
    return [Loop(url, MESSAGES_LOOP, MESSAGES_SECONDS, tell)]


def keep_index(engine: OpenSearch, base: str, pool: Pool) -> LogchordError | None:
    """Make the index that is not there, and take back a rebuild that was given up.

    Without it every search would be degraded until the next entry comes in. Returns
    why it could not look, which is how operators learn that OpenSearch is away.
    """
    try:
        fill_index.ensure_filled(engine, base, pool)
        fill_index.catch_up(pool)
        tidy_indices.tidy(engine, base, pool)
    except OpenSearchError as exc:
        # It may just be starting; the next turn looks again.
        log.info("index_not_looked_at", code=exc.error_code)
        return exc
    return None


def main(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    logs.configure("upkeep", settings.log_level)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    reporter = Reporter(
        settings.require_database_url(),
        Identity("upkeep", [], os.getpid(), socket.gethostname(), VERSION),
    )
    reporter.start()
    running = loops(settings)
    for loop in running:
        loop.thread.start()
    log.info("upkeep_ready", metrics_port=worker_metrics.served(settings.metrics_port))
    ended.wait()
    for loop in running:
        loop.stop.set()
    for loop in running:
        loop.thread.join(timeout=10)
    reporter.stop()


if __name__ == "__main__":
    main(Settings.load(os.environ))
