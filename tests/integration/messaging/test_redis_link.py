"""One connection for a loop on a real Valkey, and the limiter that asks through it."""

import asyncio
import socket

import pytest
import redis
from redis.exceptions import RedisError, ResponseError
from structlog.testing import capture_logs

from shared.access import limits
from shared.access.limits import WINDOW_SECONDS, Allowance, Limiter
from shared.errors import CapacityError
from shared.ids import uuid7
from shared.log import get_logger
from shared.messaging import redis_clients
from shared.messaging.redis_link import RedisLink
from shared.settings.settings import Settings

WAIT_SECONDS = 10.0
LIMIT = WINDOW_SECONDS


def test_each_answer_goes_to_whoever_asked_though_some_gave_up(on_valkey) -> None:
    async def story() -> list[object]:
        link = await RedisLink.open(redis_clients.mailbox_redis(on_valkey))
        gone = asyncio.create_task(link.answer("BLPOP", f"no:{uuid7()}", 0.05))
        echoes = [asyncio.create_task(link.answer("ECHO", f"ä{n}")) for n in range(99)]
        wrong = asyncio.create_task(link.answer("LPUSH", "too-few"))
        # All of them have asked by then.
        await asyncio.wait([gone], timeout=0)
        gone.cancel()
        answers: list[object] = list(await asyncio.gather(*echoes))
        with pytest.raises(ResponseError):
            await wrong
        link.close()
        with pytest.raises(RedisError):
            await link.answer("PING")
        return answers

    assert asyncio.run(story()) == [f"ä{n}" for n in range(99)]


def test_whoever_waits_for_a_link_that_is_cut_is_told(on_valkey, jobs_client) -> None:
    async def story() -> object:
        link = await RedisLink.open(redis_clients.mailbox_redis(on_valkey))
        waiting = asyncio.create_task(link.answer("BLPOP", f"no:{uuid7()}", 0))
        # It has asked by then.
        await asyncio.wait([waiting], timeout=0)
        jobs_client.client_kill_filter(_type="normal", skipme=True)
        async with asyncio.timeout(WAIT_SECONDS):
            with pytest.raises((RedisError, OSError)):
                await waiting
            return await link.lost

    assert isinstance(asyncio.run(story()), RedisError | OSError)


@pytest.mark.requirement("SEC8")
def test_a_bucket_is_counted_in_redis_through_new_connections_and_lost_scripts(
    on_valkey: Settings, jobs_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long it waits is none of this: a busy machine may take longer.
    monkeypatch.setattr(limits, "LIMITER_TIMEOUT_SECONDS", WAIT_SECONDS)

    async def story() -> None:
        made = []

        async def connect() -> RedisLink:
            made.append(await RedisLink.open(redis_clients.mailbox_redis(on_valkey)))
            return made[-1]

        limiter = Limiter(connect)
        bucket = f"{uuid7()}:search"

        async def take() -> int:
            # Not to be had without Redis: whatever is counted is counted there.
            return (await limiter.take(bucket, LIMIT, may_go_local=False)).remaining

        began = asyncio.get_running_loop().time()
        left = list(await asyncio.gather(*(take() for _ in range(5))))
        jobs_client.script_flush()
        left.append(await take())
        jobs_client.client_kill_filter(_type="normal", skipme=True)
        async with asyncio.timeout(WAIT_SECONDS):
            await made[0].lost
        left.append(await take())
        took = asyncio.get_running_loop().time() - began
        limiter.close()
        assert len(made) == 2
        # One comes back a second.
        assert LIMIT - len(left) <= left[-1] <= LIMIT - len(left) + took

    asyncio.run(story())


@pytest.mark.requirement("SEC8")
def test_an_answer_too_late_for_one_is_in_time_for_whoever_asked_after_it(
    on_valkey: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that has logged before may keep to what was configured then.
    monkeypatch.setattr(limits, "log", get_logger())

    async def story() -> list[str]:
        made = []

        async def connect() -> RedisLink:
            made.append(await RedisLink.open(redis_clients.mailbox_redis(on_valkey)))
            return made[-1]

        def asks(seconds: float, *, may_go_local: bool) -> asyncio.Task[Allowance]:
            monkeypatch.setattr(limits, "LIMITER_TIMEOUT_SECONDS", seconds)
            taking = limiter.take(bucket, LIMIT, may_go_local=may_go_local)
            return asyncio.create_task(taking)

        limiter, bucket = Limiter(connect), f"{uuid7()}:search"
        began = asyncio.get_running_loop().time()
        first = await asks(WAIT_SECONDS, may_go_local=False)
        made[0]._transport.pause_reading()
        with capture_logs() as logs:
            hasty = [asks(0.05, may_go_local=True) for _ in range(3)]
            # They have asked by then, and so has the next.
            await asyncio.wait(hasty, timeout=0)
            patient = asks(WAIT_SECONDS, may_go_local=False)
            await asyncio.wait([patient], timeout=0)
            local = await asyncio.gather(*hasty)
            with pytest.raises(CapacityError):
                await asks(WAIT_SECONDS, may_go_local=False)
        made[0]._transport.resume_reading()
        last = await patient
        took = asyncio.get_running_loop().time() - began
        limiter.close()
        assert [one.remaining for one in local] == [LIMIT - 1, LIMIT - 2, LIMIT - 3]
        # Redis has counted all five; one comes back a second.
        assert first.remaining == LIMIT - 1
        assert LIMIT - 5 <= last.remaining <= LIMIT - 5 + took
        assert len(made) == 1
        return [one["event"] for one in logs]

    assert asyncio.run(story()) == ["limiter_without_redis"]


@pytest.mark.alone
@pytest.mark.requirement("SEC8")
def test_a_redis_that_never_answers_holds_up_nobody_for_long() -> None:
    async def story(port: int) -> tuple[list[bool], float]:
        settings = Settings.load({"BROKER_URL": f"redis://127.0.0.1:{port}/0"})
        limiter = Limiter(lambda: RedisLink.open(redis_clients.brief_redis(settings)))
        loop = asyncio.get_running_loop()
        began = loop.time()
        taken = await asyncio.gather(
            *(limiter.take("key:search", 60, may_go_local=True) for _ in range(50))
        )
        took = loop.time() - began
        limiter.close()
        return [one.allowed for one in taken], took

    with socket.create_server(("127.0.0.1", 0), backlog=100) as deaf:
        allowed, took = asyncio.run(story(deaf.getsockname()[1]))
    assert all(allowed)
    # One tries for 50 ms; the others do not wait for 50 ms each.
    assert took < 1
