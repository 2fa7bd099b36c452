"""The mailbox on a real Valkey: it hears, survives cuts, and forgets strangers."""

import asyncio
import socket
import time

import pytest

from api.caller_info import CallerInfo
from api.search.mailbox import Mailbox
from api.search.searches import Searches
from shared.access.cursors import Signer
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.celery_app import make_app
from shared.postgres.pool import make_pool
from shared.search.query.plan import SearchQuery
from shared.settings.settings import Settings

WAIT_SECONDS = 10.0


def test_branches_and_answer_of_a_job_reach_whoever_waits_for_it(
    on_valkey, jobs_client
):
    async def story() -> tuple[object, dict[int, str]]:
        mailbox = Mailbox(lambda: redis_clients.mailbox_redis(on_valkey))
        await mailbox.start()
        job_id = uuid7()
        with mailbox.wait_for(job_id) as waiter:
            jobs_client.rpush(
                mailbox.name,
                f"{uuid7()} answer somebody else's",
                f"{job_id} outcome 1 [one]",
                f"{job_id} outcome 0 [zero]",
                f"{job_id} outcome 1 [again]",
                f'{job_id} answer {{"a": 1}}',
            )
            answer = await waiter.answer(WAIT_SECONDS)
        await mailbox.stop()
        return answer, waiter.outcomes

    answer, outcomes = asyncio.run(story())
    assert answer == ("answer", '{"a": 1}')
    assert outcomes == {0: "[zero]", 1: "[one]"}


def test_an_answer_that_does_not_come_is_none_at_its_time(on_valkey):
    async def story() -> object:
        mailbox = Mailbox(lambda: redis_clients.mailbox_redis(on_valkey))
        await mailbox.start()
        with mailbox.wait_for(uuid7()) as waiter:
            answer = await waiter.answer(0.05)
        await mailbox.stop()
        return answer

    assert asyncio.run(story()) is None


@pytest.mark.requirement("P8")
def test_a_cut_connection_is_made_again_and_later_words_are_heard(
    on_valkey, jobs_client
):
    async def story() -> object:
        mailbox = Mailbox(lambda: redis_clients.mailbox_redis(on_valkey))
        await mailbox.start()
        job_id, other = uuid7(), uuid7()
        with mailbox.wait_for(job_id) as waiter:
            with mailbox.wait_for(other) as first:
                jobs_client.rpush(mailbox.name, f"{other} answer early")
                assert await first.answer(WAIT_SECONDS) == ("answer", "early")
            jobs_client.client_kill_filter(_type="normal", skipme=True)
            jobs_client.rpush(mailbox.name, f"{job_id} answer late")
            answer = await waiter.answer(WAIT_SECONDS)
        await mailbox.stop()
        return answer

    assert asyncio.run(story()) == ("answer", "late")


@pytest.mark.requirement("P8")
def test_a_connection_that_went_silent_is_given_up_and_words_are_heard_again(
    on_valkey, jobs_client
):
    async def story(silent_port: int) -> object:
        silent = Settings.load({"BROKER_URL": f"redis://127.0.0.1:{silent_port}/0"})
        ways = iter([silent])
        mailbox = Mailbox(lambda: redis_clients.mailbox_redis(next(ways, on_valkey)))
        await mailbox.start()
        job_id = uuid7()
        with mailbox.wait_for(job_id) as waiter:
            jobs_client.rpush(mailbox.name, f"{job_id} answer heard")
            answer = await waiter.answer(WAIT_SECONDS)
        await mailbox.stop()
        return answer

    # It accepts and never says a word, as a link does whose other half is gone.
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        assert asyncio.run(story(deaf.getsockname()[1])) == ("answer", "heard")


def test_a_job_is_forgotten_once_nobody_waits(on_valkey, jobs_client):
    async def story() -> None:
        mailbox = Mailbox(lambda: redis_clients.mailbox_redis(on_valkey))
        await mailbox.start()
        gone, job_id = uuid7(), uuid7()
        with mailbox.wait_for(gone):
            pass
        with mailbox.wait_for(job_id) as waiter:
            jobs_client.rpush(mailbox.name, f"{gone} answer x", f"{job_id} answer y")
            assert await waiter.answer(WAIT_SECONDS) == ("answer", "y")
        await mailbox.stop()

    asyncio.run(story())


@pytest.mark.requirement("P8")
def test_searches_at_once_are_refused_in_time_by_a_redis_that_hangs(database):
    async def story(port: int) -> tuple[list[object], float]:
        settings = Settings.load({"BROKER_URL": f"redis://127.0.0.1:{port}/0"})
        client = redis_clients.jobs_redis(settings, timeout_seconds=1.0)
        pool = make_pool(database, application="test", size=1)
        app = make_app(settings)
        searches = Searches(
            settings,
            app,
            client,
            BrokerClock(client),
            pool,
            lambda: Signer(b"test", 60),
            None,
        )
        plan = searches.plan(SearchQuery("beam", deadline_ms=1000), Scope("t", "anna"))
        began = time.monotonic()
        caller = CallerInfo(plan.scope, {}, began)
        asked = [searches.ask(plan, caller, None) for _ in range(12)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        took = time.monotonic() - began
        await searches.stop()
        pool.close()
        client.close()
        return list(answers), took

    with socket.create_server(("127.0.0.1", 0), backlog=100) as deaf:
        answers, took = asyncio.run(story(deaf.getsockname()[1]))
    codes = {getattr(one, "error_code", one) for one in answers}
    assert codes == {"broker_unavailable"}
    assert took < 3
