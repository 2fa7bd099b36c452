"""Rate limits by key: buckets in Redis, and in this process while Redis is away."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError

from shared.errors import CapacityError
from shared.log import get_logger
from shared.messaging.redis_clients import LIMITER_TIMEOUT_SECONDS
from shared.messaging.redis_link import RedisLink

log = get_logger()

# What a request counts as: each has a limit of its own.
Kind = Literal["search", "ingest", "default"]

WINDOW_SECONDS = 60
_BREAKER_SECONDS = 1.0
_LOCAL_BUCKETS = 10_000

# One bucket that refills evenly: a burst of a minute's worth, then the steady rate.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(kept[1]) or limit
local at = tonumber(kept[2]) or now
tokens = math.min(limit, tokens + math.max(0, now - at) * limit / window)
local taken = 0
if tokens >= 1 then
    tokens = tokens - 1
    taken = 1
end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], window * 2)
return {taken, tostring(tokens)}
"""
_TAKE_SHA = hashlib.sha1(_TAKE.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Allowance:
    """What this request leaves of a limit; a limit of 0 has no end."""

    limit: int
    remaining: int
    reset_seconds: int
    allowed: bool

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that every answer carries."""
        if self.limit == 0:
            return {}
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
        }


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Limiter:
    """Takes one token a request; opens a breaker when Redis is slow or gone."""

    def __init__(self, connect: Callable[[], Awaitable[RedisLink]]) -> None:
        self._connect = connect
        self._connecting = asyncio.Lock()
        self._link: RedisLink | None = None
        # Nobody asks there any more; who asked before still hears, in its own time.
        self._left: set[RedisLink] = set()
        self._open_until = 0.0
        self._local: dict[str, _Bucket] = {}

    async def take(self, bucket: str, limit: int, *, may_go_local: bool) -> Allowance:
        """Take a token; without Redis from this process's bucket, or 503."""
        if limit == 0:
            return Allowance(0, 0, 0, allowed=True)
        if time.monotonic() >= self._open_until:
            link = None
            try:
                link = await self._connected()
                taken, left = await _ask(link, f"rate:{bucket}", limit)
            except (RedisError, OSError) as exc:
                self._leave(link, exc)
            else:
                return _allowance(limit, float(left), bool(taken))
        if not may_go_local:
            raise CapacityError(
                "The rate limiter is not reachable; try again shortly.",
                code="rate_limiter_unavailable",
                retry_after_seconds=1,
            )
        return self._take_locally(bucket, limit)

    def close(self) -> None:
        """Close the connection to Redis; the next request connects again."""
        link, self._link = self._link, None
        for one in [*self._left, *([] if link is None else [link])]:
            self._end(one)

    def _leave(self, link: RedisLink | None, why: RedisError | OSError) -> None:
        """Ask Redis nothing for a moment after the first failure of a link."""
        is_anothers = link is not None and link is not self._link
        if is_anothers or time.monotonic() < self._open_until:
            return
        self._open_until = time.monotonic() + _BREAKER_SECONDS
        log.warning("limiter_without_redis", error=type(why).__name__)
        link, self._link = self._link, None
        if link is not None:
            # Whoever asked before has heard by then, or waits no longer.
            self._left.add(link)
            loop = asyncio.get_running_loop()
            loop.call_later(LIMITER_TIMEOUT_SECONDS, self._end, link)

    def _end(self, link: RedisLink) -> None:
        self._left.discard(link)
        link.close()

    async def _connected(self) -> RedisLink:
        link = self._link
        if link is not None and not link.lost.done():
            return link
        async with self._connecting:
            # Others may have waited for the same, and in vain.
            if time.monotonic() < self._open_until:
                raise RedisConnectionError
            if self._link is None or self._link.lost.done():
                self._link = await self._connect()
            return self._link

    def _take_locally(self, name: str, limit: int) -> Allowance:
        now = time.monotonic()
        if len(self._local) >= _LOCAL_BUCKETS:
            self._local.clear()
        bucket = self._local.setdefault(name, _Bucket(float(limit), now))
        refill = (now - bucket.at) * limit / WINDOW_SECONDS
        bucket.tokens = min(limit, bucket.tokens + refill)
        bucket.at = now
        taken = bucket.tokens >= 1
        bucket.tokens -= taken
        return _allowance(limit, bucket.tokens, taken)


async def _ask(link: RedisLink, key: str, limit: int) -> tuple[int, str]:
    given = (1, key, limit, WINDOW_SECONDS)
    async with asyncio.timeout(LIMITER_TIMEOUT_SECONDS):
        try:
            taken, left = await link.answer("EVALSHA", _TAKE_SHA, *given)
        except NoScriptError:
            taken, left = await link.answer("EVAL", _TAKE, *given)
    return taken, left


def _allowance(limit: int, tokens: float, taken: bool) -> Allowance:  # noqa: FBT001
    missing = max(0.0, (1 if not taken else limit) - tokens)
    return Allowance(
        limit, int(tokens), math.ceil(missing * WINDOW_SECONDS / limit), taken
    )


def refuse(allowance: Allowance) -> CapacityError:
    """Return the 429 of a spent bucket."""
    return CapacityError(
        f"More than {allowance.limit} requests a minute; try again shortly.",
        code="rate_limited",
        retry_after_seconds=max(1, allowance.reset_seconds),
    )
