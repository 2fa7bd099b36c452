"""Jobs in flight on a real Valkey, and their ends in a real Postgres."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import redis
from psycopg import Connection

from shared.access.cursors import Signer
from shared.access.scope import Scope
from shared.errors import InvalidRequestError, NotFoundError, OpenSearchError
from shared.ids import uuid7
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.postgres.pool import make_pool
from shared.search.jobs import close_job, outcome, progress, stored_outcomes
from shared.search.jobs import job as jobs
from shared.search.jobs.close_job import Ending
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response.end_search import end_search
from shared.search.retrieval.search_context import SearchContext
from shared.settings.settings import Settings
from tests.support.saving import save_many

SCOPE = Scope("default", "anna", allowed=frozenset({"search"}))
PLAN = make_plan(SearchQuery("beam", mode="hybrid"), SCOPE, PlanLimits())
HIT = Candidate(
    str(uuid7()), "default/api/1#0000", 1.5, "note", "api", "human", "2026", 1
)
FOUND = Outcome("os_bm25", "ok", "bm25", hits=(HIT,), candidates=1, kept=1)
EMPTY = Outcome("semantic", "empty", "cosine")


@pytest.fixture
def client(jobs_client: redis.Redis) -> redis.Redis:
    return jobs_client


def new_job(*, plan: Plan = PLAN, submitted: bool = False, ends_in: float = 3.0) -> Job:
    now = time.time()
    return Job(
        job_id=uuid7(),
        tenant=plan.scope.tenant,
        subject=plan.scope.subject,
        key_id=None,
        plan=plan.to_json(),
        branches=len(plan.branches),
        created=now,
        deadline=now + ends_in,
        submitted=submitted,
    )


@pytest.fixture
def job(client: redis.Redis) -> Job:
    """A job that is open."""
    opened = new_job()
    jobs.open_job(client, opened)
    return opened


def keep(
    client: redis.Redis,
    job: Job,
    number: int,
    *told: Outcome,
    mailbox: str | None,
    events_until: int | None = None,
) -> dict[int, list[Outcome]] | None:
    return stored_outcomes.store_outcomes(
        client,
        job.job_id,
        number,
        told,
        awaited=job.branches,
        deadline=job.deadline,
        mailbox=mailbox,
        events_until=events_until,
    )


def test_a_job_is_read_back_as_it_was_opened(client, job):
    assert jobs.load_job(client, job.job_id) == job
    assert 100 < client.ttl(f"job:{job.job_id}") <= 125


def test_a_job_that_redis_lost_is_none(client):
    assert jobs.load_job(client, uuid7()) is None


@pytest.mark.requirement("P8")
def test_the_last_branch_is_told_that_nothing_is_missing(client, job):
    first = keep(client, job, 1, EMPTY, mailbox=None)
    last = keep(client, job, 0, FOUND, mailbox=None)
    assert first is None
    assert last == {0: [FOUND], 1: [EMPTY]}
    assert jobs.outcomes(client, job.job_id) == {0: [FOUND], 1: [EMPTY]}


def test_a_branch_delivered_twice_counts_once_and_keeps_its_first_outcome(client, job):
    assert keep(client, job, 0, FOUND, mailbox=None) is None
    again = keep(client, job, 0, replace(FOUND, status="error"), mailbox=None)
    assert again is None
    assert jobs.outcomes(client, job.job_id) == {0: [FOUND]}


def test_exactly_one_of_many_branches_at_once_is_the_last(client):
    job = replace(new_job(), branches=16)
    jobs.open_job(client, job)
    with ThreadPoolExecutor(8) as pool:
        kept = list(
            pool.map(lambda n: keep(client, job, n, EMPTY, mailbox=None), range(16))
        )
    (told,) = (one for one in kept if one is not None)
    assert sorted(told) == list(range(16))


def test_every_branch_tells_the_mailbox_and_who_looks_on(client):
    job = new_job()
    until = int(time.time()) + 60
    progress.branch_started(client, job.job_id, "os_bm25", 0, until=until)
    keep(client, job, 0, FOUND, mailbox="mailbox:test", events_until=until)
    told = str(client.lpop("mailbox:test"))
    job_id, kind, number, text = told.split(" ", 3)
    assert (job_id, kind, number) == (str(job.job_id), "outcome", "0")
    assert outcome.from_json(text) == [FOUND]
    read = progress.read_progress(client, job.job_id)
    assert read.events == [
        ("branch_started", {"name": "os_bm25", "part": 0}, 1),
        ("branch_done", {**FOUND.summary(), "part": 0}, 2),
    ]
    assert read.last == 2
    # Whoever has the first reads no more than what comes behind it.
    assert progress.read_progress(client, job.job_id, 1).events == read.events[1:]
    assert progress.read_progress(client, job.job_id, 2) == (2, [])


def test_a_direct_search_leaves_no_event(client):
    job = new_job()
    keep(client, job, 0, FOUND, mailbox=None)
    assert progress.read_progress(client, job.job_id) == (0, [])


def test_nothing_a_job_keeps_in_redis_stays(client, job):
    until = int(time.time()) + 60
    keep(client, job, 0, FOUND, mailbox="mailbox:gone", events_until=until)
    names = (f"job:{job.job_id}", f"progress:{job.job_id}", "mailbox:gone")
    assert all(client.ttl(name) > 0 for name in names)


def test_the_brokers_clock_is_what_deadlines_are_judged_by(client):
    assert abs(BrokerClock(client).now() - time.time()) < 1


def ending(state: str = "done", *told: Outcome) -> Ending:
    return Ending(state, told or (FOUND, EMPTY), {"window": []}, None)


def test_a_direct_job_is_stored_once_at_its_end(conn):
    job = new_job()
    assert close_job.close_job(conn, job, ending())
    assert not close_job.close_job(conn, job, ending("failed"))
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    assert stored.state == "done"
    assert stored.request["query"] == "beam"


def test_whoever_stores_a_direct_job_does_not_wait_for_the_disk(conn):
    asked = "SELECT current_setting('synchronous_commit')"
    conn.execute("SET LOCAL synchronous_commit = on")
    assert close_job.close_job(conn, new_job(), ending())
    assert conn.execute(asked).fetchone() == ("off",)


def test_a_submitted_job_ends_once_by_compare_and_set(conn):
    job = new_job(submitted=True)
    jobs.submit_job(conn, job)
    assert jobs.find_own_job(conn, SCOPE, job.job_id).ended_at is None
    assert close_job.close_job(conn, job, ending("partial"))
    assert not close_job.close_job(conn, job, ending("done"))
    assert jobs.find_own_job(conn, SCOPE, job.job_id).state == "partial"


def test_a_stored_job_holds_no_text_of_an_entry(conn):
    job = new_job()
    close_job.close_job(conn, job, ending())
    row = conn.execute(
        "SELECT branches::text || ranked::text FROM job WHERE id = %s", (job.job_id,)
    ).fetchone()
    assert row is not None
    assert "content" not in row[0]
    assert "title" not in row[0]


@pytest.mark.parametrize("other", [Scope("default", "ben"), Scope("elsewhere", "anna")])
def test_somebody_elses_job_is_as_absent_as_none(conn, other):
    job = new_job()
    close_job.close_job(conn, job, ending())
    with pytest.raises(NotFoundError):
        jobs.find_own_job(conn, other, job.job_id)


def test_a_job_past_its_retention_is_gone(conn):
    job = new_job()
    close_job.close_job(conn, job, ending())
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    ended = stored.ended_at or datetime.now(UTC)
    jobs.refuse_expired(stored, 24, ended + timedelta(hours=24))
    with pytest.raises(InvalidRequestError) as caught:
        jobs.refuse_expired(stored, 24, ended + timedelta(hours=24, seconds=1))
    assert caught.value.error_code == "job_expired"


def overdue_job(conn: Connection, client: redis.Redis | None = None) -> Job:
    job = new_job(submitted=True, ends_in=-2.0)
    jobs.submit_job(conn, job)
    conn.commit()
    if client is not None:
        jobs.open_job(client, job)
    return job


@pytest.mark.requirement("P8")
def test_an_overdue_job_ends_with_what_is_in(conn, client):
    job = overdue_job(conn, client)
    stored_outcomes.store_outcomes(
        client, job.job_id, 0, [FOUND], awaited=2, deadline=time.time(), mailbox=None
    )
    assert len(close_job.finish_overdue_jobs(conn, client)) == 1
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    assert stored.state == "partial"
    assert close_job.finish_overdue_jobs(conn, client) == []


@pytest.mark.requirement("F26", "P8")
def test_an_overdue_job_names_the_branch_that_was_not_heard_of(conn, client):
    job = overdue_job(conn, client)
    keep(client, job, 0, FOUND, mailbox=None)
    (ended,) = close_job.finish_overdue_jobs(conn, client)
    assert (ended.state, ended.unheard) == ("partial", ("semantic",))
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    told = [(b["name"], b["status"], b["error_code"]) for b in stored.branches or []]
    assert told == [("os_bm25", "ok", None), ("semantic", "timeout", "branch_timeout")]


@pytest.mark.requirement("P8")
def test_a_redis_that_hangs_costs_all_overdue_jobs_together_one_time_out(conn):
    overdue = [overdue_job(conn) for _ in range(5)]
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        settings = Settings.load({"BROKER_URL": f"redis://127.0.0.1:{port}/0"})
        hanging = redis_clients.jobs_redis(settings, timeout_seconds=0.5)
        began = time.monotonic()
        close_job.finish_overdue_jobs(conn, hanging)
        took = time.monotonic() - began
        hanging.close()
    states = {jobs.find_own_job(conn, SCOPE, job.job_id).state for job in overdue}
    assert states == {"failed"}
    assert took < 2.5


@pytest.mark.requirement("P8")
def test_a_last_branch_past_the_deadline_still_ends_its_job_with_what_is_in(
    conn, database
):
    ids = save_many(conn, 60, text="x" * 50_000)
    conn.commit()
    hits = tuple(replace(HIT, entry_id=str(one)) for one in ids)
    plan = replace(PLAN, limit=60)
    late = replace(
        outcome.make_overdue("semantic", "cosine"), reason="expired_in_queue"
    )
    pool = make_pool(database, application="test", size=1)
    signer = Signer(b"test", 60)
    finished = end_search(
        SearchContext(pool=pool, signer=lambda: signer),
        new_job(plan=plan, submitted=True, ends_in=-0.1),
        plan,
        {0: [replace(FOUND, hits=hits)], 1: [late]},
    )
    pool.close()
    assert finished.error is None
    assert finished.ending.state == "partial"


@pytest.mark.requirement("F27", "P8")
def test_an_overdue_job_whose_state_was_flushed_ends_failed(conn, client):
    job = overdue_job(conn, client)
    client.flushdb()
    close_job.finish_overdue_jobs(conn, client)
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    assert stored.state == "failed"
    assert stored.error is not None
    assert stored.error["code"] == "search_timeout"


@pytest.mark.requirement("P8")
def test_overdue_jobs_end_with_redis_down_too(conn):
    job = overdue_job(conn)
    nowhere = redis.Redis(port=1, socket_connect_timeout=0.2)
    close_job.finish_overdue_jobs(conn, nowhere)
    assert jobs.find_own_job(conn, SCOPE, job.job_id).state == "failed"


@pytest.mark.requirement("P8")
def test_a_job_whose_plan_cannot_be_read_ends_and_keeps_nobody_behind_it(conn, client):
    odd, other = overdue_job(conn), overdue_job(conn)
    conn.execute("UPDATE job SET plan = plan - 'query' WHERE id = %s", (odd.job_id,))
    assert len(close_job.finish_overdue_jobs(conn, client)) == 2
    found = [jobs.find_own_job(conn, SCOPE, job.job_id) for job in (odd, other)]
    assert [job.ended_at is None for job in found] == [False, False]
    assert found[0].error is not None
    assert found[0].error["code"] == "internal_error"


def test_a_job_with_time_left_is_left_alone(conn, client):
    job = new_job(submitted=True)
    jobs.submit_job(conn, job)
    assert close_job.finish_overdue_jobs(conn, client) == []
    assert jobs.find_own_job(conn, SCOPE, job.job_id).ended_at is None


def test_an_overdue_job_keeps_why_its_branches_failed(database, client):
    down = outcome.make_failure("os_bm25", "bm25", OpenSearchError())
    with psycopg.connect(database) as conn:
        job = overdue_job(conn)
        jobs.open_job(client, job)
        keep(client, job, 0, down, mailbox=None)
        close_job.finish_overdue_jobs(conn, client)
        stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    assert stored.state == "failed"
    assert stored.branches is not None
    assert stored.branches[0]["error_code"] == "opensearch_unavailable"


def test_an_overdue_job_whose_every_branch_failed_says_so_and_not_that_time_ran_out(
    conn, client
):
    job = overdue_job(conn, client)
    for number, (name, unit) in enumerate([("os_bm25", "bm25"), ("semantic", "x")]):
        down = outcome.make_failure(name, unit, OpenSearchError())
        keep(client, job, number, down, mailbox=None)
    close_job.finish_overdue_jobs(conn, client)
    stored = jobs.find_own_job(conn, SCOPE, job.job_id)
    assert stored.state == "failed"
    assert stored.error is not None
    assert (stored.error["code"], stored.error["severity"]) == (
        "search_failed",
        "RETRIABLE",
    )
    told = stored.error["details"]["branches"]
    assert [b["error_code"] for b in told] == ["opensearch_unavailable"] * 2


def test_an_overdue_job_whose_fallback_took_over_is_done(conn, client):
    job = overdue_job(conn, client)
    down = outcome.make_failure("os_bm25", "bm25", OpenSearchError())
    instead = replace(FOUND, name="pg_fts", fallback_for="os_bm25")
    keep(client, job, 0, down, instead, mailbox=None)
    keep(client, job, 1, EMPTY, mailbox=None)
    close_job.finish_overdue_jobs(conn, client)
    assert jobs.find_own_job(conn, SCOPE, job.job_id).state == "done"


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("ahead_seconds", [-7200.0, 7200.0])
def test_a_job_ends_in_time_whatever_the_brokers_clock_says(
    conn, client, ahead_seconds
):
    ended, running = (new_job(submitted=True, ends_in=s) for s in (-2.0, 60.0))
    for job in (ended, running):
        wrong = job.created + ahead_seconds
        skewed = replace(
            job, created=wrong, deadline=wrong + job.deadline - job.created
        )
        jobs.submit_job(conn, skewed)
    conn.commit()
    assert len(close_job.finish_overdue_jobs(conn, client)) == 1
    assert jobs.find_own_job(conn, SCOPE, ended.job_id).state == "failed"
    assert jobs.find_own_job(conn, SCOPE, running.job_id).ended_at is None
