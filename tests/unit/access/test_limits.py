"""The limiter without Redis: this process counts, or says that it cannot."""

import asyncio

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from shared.access.limits import Allowance, Limiter, refuse
from shared.errors import CapacityError
from shared.messaging.redis_link import RedisLink


class Unreachable:
    """A Redis that refuses every connection; counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def connect(self) -> RedisLink:
        self.asked += 1
        raise RedisConnectionError


def take(limiter: Limiter, times: int, limit: int, **options: bool) -> list[Allowance]:
    async def all_of_them() -> list[Allowance]:
        return [
            await limiter.take("key:default", limit, **options) for _ in range(times)
        ]

    return asyncio.run(all_of_them())


@pytest.mark.requirement("SEC8")
def test_without_redis_this_process_counts_and_asks_it_once_a_second():
    redis = Unreachable()
    limiter = Limiter(redis.connect)

    taken = take(limiter, 5, 3, may_go_local=True)

    assert [one.allowed for one in taken] == [True, True, True, False, False]
    assert [one.remaining for one in taken] == [2, 1, 0, 0, 0]
    assert redis.asked == 1


@pytest.mark.requirement("SEC8")
def test_without_redis_other_writes_wait():
    limiter = Limiter(Unreachable().connect)

    with pytest.raises(CapacityError) as caught:
        take(limiter, 1, 3, may_go_local=False)

    assert caught.value.error_code == "rate_limiter_unavailable"
    assert caught.value.retry_after_seconds == 1


def test_a_limit_of_nought_never_ends_and_asks_nobody():
    redis = Unreachable()

    taken = take(Limiter(redis.connect), 100, 0, may_go_local=False)

    assert all(one.allowed for one in taken)
    assert taken[0].headers == {}
    assert redis.asked == 0


def test_a_refusal_says_when_to_come_again():
    error = refuse(Allowance(60, 0, 0, allowed=False))

    assert (error.status, error.retry_after_seconds) == (429, 1)
    assert Allowance(60, 5, 55, allowed=True).headers == {
        "RateLimit-Limit": "60",
        "RateLimit-Remaining": "5",
        "RateLimit-Reset": "55",
    }
