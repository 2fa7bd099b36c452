"""The lease of an agent's turn: one worker has it, as long as its model speaks."""

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

from shared.agents import end_agent, turn_rows
from shared.agents.take_turn import Ending, take_turn
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.postgres.pool import connection
from shared.search.jobs import close_job
from shared.search.jobs import job as jobs
from tests.support.agent_runner import Runner, call, calls, scripted
from tests.support.fixtures.asking import ANNA
from tests.support.stub_servers.chat_server import Reply, goes_on, says
from tests.support.waiting import until

# Long enough for a thread that a busy machine lets wait.
LEASE_SECONDS, RENEW_SECONDS = 3.0, 0.1


def test_two_workers_on_one_turn_ask_the_model_once(runner: Runner) -> None:
    scripted(runner, calls(call("keyword", query="klystron")), says("It did [1.1]."))
    job = runner.open()
    both = [
        threading.Thread(target=take_turn, args=(runner.process, job.job_id, 1))
        for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(runner.script.asked) == 1
    assert len(runner.sent) == 1


def test_a_model_that_speaks_for_longer_than_a_lease_is_left_alone(runner, monkeypatch):
    monkeypatch.setattr(turn_rows, "LEASE_SECONDS", LEASE_SECONDS)
    monkeypatch.setattr(turn_rows, "RENEW_SECONDS", RENEW_SECONDS)
    may_speak = threading.Event()
    scripted(runner, held(may_speak, says("Nothing was found.")))
    runner.timeout_seconds = 50.0
    job = runner.open()
    endings: list[Ending | None] = []
    first = threading.Thread(
        target=lambda: endings.append(take_turn(runner.process, job.job_id, 1))
    )
    first.start()
    try:
        until(
            lambda: _age(runner, job.job_id) > 2 * LEASE_SECONDS,
            within_seconds=40,
            what="the end of a lease that nobody renews",
        )
        # Whoever is nudged gets nothing, and the sweeper finds nothing.
        assert take_turn(runner.process, job.job_id, 1) is None
        with connection(runner.asking.pool) as conn:
            assert turn_rows.list_left_alone(conn) == []
    finally:
        may_speak.set()
        first.join()

    (ending,) = endings
    assert ending is not None
    assert (ending.reason, len(runner.script.asked)) == ("answered", 1)
    (turn,) = runner.turns(job)
    assert turn.repeated == 0


def test_a_call_that_takes_longer_than_a_lease_is_sent_once(runner, monkeypatch):
    class Loading(HashingEncoder):
        def encode(self, texts: Any) -> Any:
            loaded.wait(60)
            return super().encode(texts)

    monkeypatch.setattr(turn_rows, "LEASE_SECONDS", LEASE_SECONDS)
    monkeypatch.setattr(turn_rows, "RENEW_SECONDS", RENEW_SECONDS)
    loaded = threading.Event()
    scripted(runner, calls(call("semantic", query="klystron")), says("It did [1.1]."))
    job = runner.open()
    assert take_turn(runner.process, job.job_id, 1) is None
    context = runner.asking.context
    runner.asking.context = replace(context, encoder=lambda _: Loading())
    calling = threading.Thread(target=runner.run_calls, args=(job,))
    calling.start()
    try:
        until(
            lambda: _age(runner, job.job_id) > 3 * LEASE_SECONDS,
            within_seconds=40,
            what="the end of a lease that nobody renews",
        )
        # Whoever is nudged meanwhile sends nothing again.
        assert take_turn(runner.process, job.job_id, 2) is None
        assert runner.sent == []
        with connection(runner.asking.pool) as conn:
            assert turn_rows.list_left_alone(conn) == []
    finally:
        loaded.set()
        calling.join()
    assert (runner.run(job, 2).reason, runner.ran) == ("answered", [100])


def test_a_worker_that_has_lost_its_turn_stores_nothing_of_it(runner, monkeypatch):
    monkeypatch.setattr(turn_rows, "RENEW_SECONDS", RENEW_SECONDS)
    scripted(runner, goes_on(runner.script.released, ""), says("Nothing was found."))
    runner.timeout_seconds = 50.0
    job = runner.open()
    endings: list[Ending | None] = []
    first = threading.Thread(
        target=lambda: endings.append(take_turn(runner.process, job.job_id, 1))
    )
    first.start()
    until(lambda: runner.script.asked, within_seconds=20, what="the model's call")
    # As one that was frozen: its lease is over before it looks again.
    with connection(runner.asking.pool) as conn:
        conn.execute(
            "UPDATE agent_turn SET lease_until = now() - interval '1 s', holder = %s"
            " WHERE job_id = %s",
            (job.job_id, job.job_id),
        )
    second = take_turn(runner.process, job.job_id, 1)
    first.join(timeout=30)

    assert runner.script.hung_up.wait(10)
    assert endings == [None]
    assert second is not None
    assert (second.reason, second.turns[-1].repeated) == ("answered", 1)
    assert len(runner.script.asked) == 2


def test_nothing_runs_on_once_its_owner_has_ended_it(runner: Runner) -> None:
    scripted(runner, calls(call("keyword", query="klystron")), says("It did [1.1]."))
    job = runner.open()
    take_turn(runner.process, job.job_id, 1)
    with connection(runner.asking.pool) as conn:
        conn.execute(
            "UPDATE job SET ended_at = now(), state = 'partial', cancelled = true"
            " WHERE id = %s",
            (job.job_id,),
        )
    jobs.forget(runner.redis, job.job_id)
    assert take_turn(runner.process, job.job_id, 2) is None
    assert runner.turns(job)[-1].exit_reason == "cancelled"
    assert len(runner.script.asked) == 1


def test_a_job_that_its_deadline_has_ended_leaves_no_turn_open(runner: Runner) -> None:
    scripted(runner, calls(call("keyword", query="klystron")), says("It did [1.1]."))
    job = runner.open()
    take_turn(runner.process, job.job_id, 1)
    with connection(runner.asking.pool) as conn:
        conn.execute(
            "UPDATE job SET deadline_at = now() - interval '1 s' WHERE id = %s",
            (job.job_id,),
        )
        (ended,) = close_job.finish_overdue_jobs(conn, runner.redis)
    assert ended.state == "partial"
    with connection(runner.asking.pool) as conn:
        stored = jobs.find_own_job(conn, ANNA, job.job_id)
    # As it is told while nobody takes it, and once somebody comes too late.
    for _ in range(2):
        (told,) = end_agent.close_turns(runner.turns(job), stored)
        assert (told.state, told.exit_reason) == ("ended", "deadline")
        assert take_turn(runner.process, job.job_id, 2) is None
    assert runner.turns(job)[-1].exit_reason == "deadline"


def test_whose_quota_is_spent_is_not_asked_for_by_the_next_worker_either(runner):
    scripted(runner, says("Nothing was found."))
    runner.take_answer = lambda _: False
    job = runner.open()
    # Whoever finds it spent dies before that is stored with the answer.
    for _ in range(2):
        ending = take_turn(runner.process, job.job_id, 1)
        assert ending is not None
        assert ending.reason == "model_unavailable"
        with connection(runner.asking.pool) as conn:
            conn.execute("UPDATE agent_turn SET lease_until = now() - interval '1 s'")
    assert runner.script.asked == []


def held(until_set: threading.Event, reply: Reply) -> Reply:
    """Return a reply that waits for an event."""

    def wait(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        until_set.wait(60)
        reply(handler, body)

    return wait


def _age(runner: Runner, job_id: Any) -> float:
    with connection(runner.asking.pool) as conn:
        row = conn.execute(
            "SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8"
            " FROM agent_turn WHERE job_id = %s",
            (job_id,),
        ).fetchone()
    return (row and row[0]) or 0.0
