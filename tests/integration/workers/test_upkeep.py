"""Upkeep nudges what nobody works on, ends overdue jobs, and one of two stands by."""

import base64
import json

import psycopg
import pytest
import redis

from shared.messaging.celery_app import count_messages
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.messaging.task_names import EMBED_ENTRIES, EXTRACT_METADATA
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.work import due_work
from tests.support.saving import save_entry
from tests.support.waiting import until
from workers.upkeep.main import arrange_sources, sweep_due_work

OLD, NEW = embed_stage("old-model"), embed_stage("new-model")
EMBED_QUEUE, METADATA_QUEUE = "enhance.embed", "enhance.metadata"


def test_whoever_takes_over_upkeep_reads_the_file_as_it_is_by_now(committing, tmp_path):
    path = tmp_path / "logchord.yaml"
    path.write_text(
        "sources:\n  hall: {adapter: olog, base_url: 'http://127.0.0.1:9'}\n"
    )
    environ = {"LOGCHORD_CONFIG": str(path)}
    began_without = Settings()

    arrange_sources(committing, began_without, environ)
    known = source_state.current_settings(committing, {}, ["hall"])
    assert known["hall"].adapter == "olog"

    path.write_text("sources: [")
    arrange_sources(committing, began_without, environ)
    assert source_state.tenant_of(committing, "hall") == "default"


@pytest.fixture
def make_due(committing):
    """Add an entry whose stages have been due for a minute."""

    def make(*stages: str) -> None:
        save_entry(committing, "A-1", "RF cavity 3 tripped", stages=stages)
        committing.execute("UPDATE work SET due_at = now() - interval '1 min'")

    return make


@pytest.fixture
def alive(committing):
    """Report worker processes of a queue."""

    def report(queue: str, count: int, age: str = "1 s") -> None:
        for _ in range(count):
            committing.execute(
                "INSERT INTO worker_process"
                " (id, kind, queues, pid, host, version, seen_at)"
                " VALUES (uuidv7(), 'k', %s, 1, 'h', '1', now() - %s::interval)",
                ([queue], age),
            )

    return report


@pytest.fixture
def app(celery_setup_app):
    """Our application over a broker that no worker reads from."""
    return celery_setup_app


@pytest.fixture
def messages(app):
    def messages(queue: str) -> list[tuple[str, list]]:
        with redis.Redis.from_url(app.conf.broker_url) as client:
            found = [json.loads(item) for item in client.lrange(queue, 0, -1)]
            client.delete(queue)
        return [
            (one["headers"]["task"], json.loads(base64.b64decode(one["body"]))[0])
            for one in found
        ]

    return messages


def waiting(app, queue: str) -> int:
    return count_messages(app, [queue])[queue]


def test_what_nobody_works_on_is_nudged_without_ids(
    committing, app, make_due, messages
):
    make_due(METADATA_STAGE, NEW)

    sweep_due_work(committing, app)

    assert messages(METADATA_QUEUE) == [(EXTRACT_METADATA, [[]])] * 2
    assert messages(EMBED_QUEUE) == [(EMBED_ENTRIES, ["new-model", []])] * 2


def test_at_most_two_nudges_wait_for_each_living_process(
    committing, app, make_due, alive
):
    make_due(METADATA_STAGE)
    for _ in range(5):
        sweep_due_work(committing, app)
    assert waiting(app, METADATA_QUEUE) == 2

    alive(METADATA_QUEUE, 2)
    alive(METADATA_QUEUE, 5, age="16 s")
    alive(EMBED_QUEUE, 3)
    for _ in range(5):
        sweep_due_work(committing, app)

    assert waiting(app, METADATA_QUEUE) == 4


def test_what_is_in_hand_or_due_later_or_just_added_is_not_nudged(
    committing, app, make_due
):
    make_due(METADATA_STAGE)
    for change in (
        "leased_until = clock_timestamp() + interval '5 s'",
        "leased_until = NULL, due_at = now() + interval '5 s'",
        "due_at = now()",
    ):
        committing.execute(f"UPDATE work SET {change}")
        sweep_due_work(committing, app)

    assert waiting(app, METADATA_QUEUE) == 0


def test_what_a_dead_worker_held_is_nudged_when_its_lease_is_over(
    committing, app, make_due, messages
):
    make_due(METADATA_STAGE)
    assert len(due_work.claim(committing, METADATA_STAGE, limit=1)) == 1
    sweep_due_work(committing, app)
    assert messages(METADATA_QUEUE) == []

    committing.execute(
        "UPDATE work SET leased_until = now() - interval '1 ms',"
        " due_at = now() - interval '15 s'"
    )
    sweep_due_work(committing, app)

    assert len(messages(METADATA_QUEUE)) == 2


def test_a_stage_nobody_can_work_on_leaves_room_for_the_others_of_its_queue(
    committing, app, make_due, messages
):
    make_due(OLD, NEW)

    for _ in range(3):
        sweep_due_work(committing, app)
        models = sorted(arguments[0] for _, arguments in messages(EMBED_QUEUE))
        assert models == ["new-model", "old-model"]


def test_the_sweeper_outlives_its_broker(
    committing, app, make_due, messages, celery_broker_cluster
):
    make_due(METADATA_STAGE)
    (server,) = celery_broker_cluster
    sweep_due_work(committing, app)
    server.kill()

    sweep_due_work(committing, app)
    server.restart()

    def swept() -> int:
        sweep_due_work(committing, app)
        return waiting(app, METADATA_QUEUE)

    assert until(swept, within_seconds=10) == 2


@pytest.mark.requirement("U14")
@pytest.mark.timeout(180)
def test_a_second_upkeep_takes_over_when_the_first_dies_and_redis_is_away(make_system):
    system = make_system(BROKER_URL="redis://:x@127.0.0.1:9/0")
    with psycopg.connect(system.database, autocommit=True) as conn:
        submit_overdue_job(conn)
        system.start("upkeep", "enhance")
        until(lambda: job_state(conn) == "failed", within_seconds=30)
        system.start("standby", command="upkeep")
        until(lambda: processes(conn) == 2, within_seconds=30)
        holder, until_then = held(conn, "finisher")
        assert holder == system.processes["upkeep"].pid
        until(lambda: held(conn, "finisher")[1] > until_then, within_seconds=10)
        assert held(conn, "finisher")[0] == holder

        system.kill("upkeep")
        submit_overdue_job(conn)

        until(lambda: job_state(conn) == "failed", within_seconds=15)
        successor = system.processes["standby"].pid
        for loop in ("sweeper", "finisher", "scheduler", "retention"):
            until(lambda loop=loop: held(conn, loop)[0] == successor, within_seconds=15)
        assert system.stop("standby", within_seconds=30) == 0
        assert processes(conn) == 1
        # A worker that cannot reach its broker is alive all the same, and says so.
        system.wait_ready("enhance")


def submit_overdue_job(conn):
    conn.execute("DELETE FROM job")
    conn.execute(
        "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
        " VALUES (uuidv7(), 'default', 'tester', 'queued', '{}',"
        ' \'{"branches": ["pg_fts"], "query": "beam", "method": "keyword",'
        " \"deadline_ms\": 1000}', now() - interval '1 s')"
    )


def job_state(conn) -> str:
    return conn.execute("SELECT state FROM job").fetchone()[0]


def processes(conn) -> int:
    """How many processes are listed; the killed one is, and shows as stale later."""
    row = conn.execute(
        "SELECT count(*) FROM worker_process WHERE kind = 'upkeep'"
    ).fetchone()
    return row[0]


def held(conn, loop: str):
    """The pid of the process that holds a loop, and when it last turned."""
    row = conn.execute(
        "SELECT split_part(holder, ' ', 2)::int, last_turn_at FROM upkeep_loop"
        " WHERE name = %s",
        (loop,),
    ).fetchone()
    return row or (None, None)
