"""What the questions of a session named: in Redis alone, and soon forgotten.

Its loss costs the next question a preference, and nothing else.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import redis.asyncio
from redis.exceptions import RedisError

from shared.access.scope import Scope
from shared.log import get_logger
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.context import ranking_context
from shared.search.query.plan import Plan
from shared.text.facility.facility import Facility

log = get_logger()

MAX_QUESTIONS = 8
_NOT_READ = Diagnostic(
    "info",
    "query",
    "session_unread",
    "What this session asked before could not be read, so nothing of it counts.",
    category="search",
)


@dataclass(frozen=True, slots=True)
class Sessions:
    """One per API process, with a client that gives up soon."""

    client: redis.asyncio.Redis
    inactivity_seconds: int
    facility: Facility
    now: Callable[[], float] = time.time

    async def stop(self) -> None:
        """Close the connection to Redis."""
        await self.client.aclose()

    async def carried(self, plan: Plan, session_id: str | None, *, keep: bool) -> Plan:
        """Return the plan with what its session named before, and keep its own names.

        Nothing is kept of what is only looked at.
        """
        if session_id is None or plan.is_listing or not plan.branches:
            return plan
        own = ranking_context.carries(plan, self.facility)
        try:
            told = await self._exchanged(key_of(plan.scope, session_id), own, keep=keep)
        except (RedisError, OSError) as exc:
            log.warning("session_not_read", technical=str(exc))
            return replace(plan, diagnostics=(*plan.diagnostics, _NOT_READ))
        terms = [term for _, terms in self._lately(told) for term in terms]
        return replace(plan, ordering=ranking_context.carried(plan.ordering, terms))

    async def _exchanged(
        self, key: str, own: Sequence[str], *, keep: bool
    ) -> list[str]:
        """Return the questions of a session, the newest first, and add this one."""
        async with self.client.pipeline(transaction=True) as pipe:
            pipe.lrange(key, 0, MAX_QUESTIONS - 1)
            if keep:
                pipe.lpush(key, json.dumps([self.now(), own]))
                pipe.ltrim(key, 0, MAX_QUESTIONS - 1)
                pipe.expire(key, self.inactivity_seconds)
            told: list[str] = (await pipe.execute())[0]
        return told

    def _lately(self, told: Sequence[str]) -> list[tuple[float, list[str]]]:
        """Return the questions after which nobody has been silent for too long."""
        asked: list[tuple[float, list[str]]] = [tuple(json.loads(one)) for one in told]
        times = [self.now(), *(at for at, _ in asked)]
        goes_on = takewhile(
            lambda one: one[0] - one[1][0] <= self.inactivity_seconds,
            zip(times, asked, strict=False),
        )
        return [one for _, one in goes_on]


def key_of(scope: Scope, session_id: str) -> str:
    """Return where a session lies: nobody reads that of another caller."""
    whose = json.dumps([scope.tenant, scope.subject, scope.key_id, session_id])
    return "session:" + hashlib.sha256(whose.encode()).hexdigest()
