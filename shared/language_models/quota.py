"""How many answers a model may word for a tenant, a day and a minute; in Redis."""

from functools import lru_cache
from typing import NamedTuple, cast

import redis
from redis.commands.core import Script

from shared.messaging.broker_errors import translate_broker_errors

# Both are counted or neither; whoever asks at the same moment takes another one.
_TAKE = """
local time = tonumber(redis.call('TIME')[1])
local day = KEYS[1] .. ':day:' .. math.floor(time / 86400)
local minute = KEYS[1] .. ':minute:' .. math.floor(time / 60)
local of_day = tonumber(redis.call('GET', day) or 0)
local of_minute = tonumber(redis.call('GET', minute) or 0)
local left = math.min(ARGV[1] - of_day, ARGV[2] - of_minute)
if left < 1 or ARGV[3] == '0' then return {0, math.max(0, left)} end
redis.call('INCR', day)
redis.call('EXPIRE', day, 2 * 86400)
redis.call('INCR', minute)
redis.call('EXPIRE', minute, 120)
redis.call('SADD', KEYS[2], ARGV[4])
redis.call('EXPIRE', KEYS[2], 2 * 86400)
return {1, left - 1}
"""
# Who has asked for one of late.
_TENANTS = "quota:llm:tenants"


class Quota(NamedTuple):
    """Whether one more answer is allowed, and how many are left after it."""

    is_allowed: bool
    remaining: int


def take_answer(
    client: redis.Redis, tenant: str, per_day: int, per_minute: int
) -> Quota:
    """Take one answer of a tenant's quota, if any is left."""
    return _ask(client, tenant, per_day, per_minute, 1)


def left_answers(
    client: redis.Redis, tenant: str, per_day: int, per_minute: int
) -> int:
    """Return how many answers a tenant may have just now."""
    return _ask(client, tenant, per_day, per_minute, 0).remaining


def list_tenants(client: redis.Redis) -> set[str]:
    """Return the tenants that have taken an answer within two days."""
    with translate_broker_errors():
        return cast("set[str]", client.smembers(_TENANTS))


def _ask(
    client: redis.Redis, tenant: str, per_day: int, per_minute: int, takes: int
) -> Quota:
    with translate_broker_errors():
        taken, left = _script(client)(
            keys=[f"quota:llm:{tenant}", _TENANTS],
            args=[per_day, per_minute, takes, tenant],
        )
    return Quota(bool(taken), int(left))


@lru_cache(maxsize=4)
def _script(client: redis.Redis) -> Script:
    return client.register_script(_TAKE)
