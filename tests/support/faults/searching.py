"""Searches in flight while faults happen, submitted and waited for; each must end."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, LiteralString, Self

import httpx2
import psycopg

from tests.support.fixtures.system import System
from tests.support.waiting import until

FAULT_INJECTION = {"LOGCHORD_FAULT_INJECTION": "true"}
# P8: how long after its deadline a job may be without an end.
LATE_SECONDS = 5.0
_DEADLINE_SECONDS = 2.0
# Late enough to be in flight when the fault comes, and in time without it.
_SLOW = {"X-Logchord-Fault": "branch=semantic;delay_ms=1000"}
_BODY = {"query": "beam dump", "mode": "hybrid"}
_ENDS = frozenset({"done", "partial", "search_timeout", "search_failed"})
_REFUSALS = frozenset({"broker_unavailable"})

_UNENDED: LiteralString = """
    SELECT count(*) FROM job
     WHERE ended_at IS NULL
       AND clock_timestamp() < deadline_at + make_interval(secs => %(late)s)"""
_STATES: LiteralString = """
    SELECT CASE WHEN ended_at IS NULL
                  OR ended_at > deadline_at + make_interval(secs => %(late)s)
                THEN 'stuck' ELSE state END, count(*)
      FROM job WHERE id = ANY(%(ids)s::uuid[]) GROUP BY 1"""


@dataclass
class Searches:
    """A caller of searches that are slow enough to meet a fault."""

    system: System
    submitted: list[str] = field(default_factory=list)
    waiting: list[Future[tuple[str, float]]] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Open what is needed to ask."""
        self._pool = ThreadPoolExecutor(16)
        self._client = self.system.client(self.system.key(scopes=("admin",)))
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for whoever waits."""
        self._pool.shutdown()
        self._client.close()

    def ask(self, *, jobs: int = 4, direct: int = 2) -> None:
        """Have searches in flight: jobs submitted, and callers who wait."""
        body = {**_BODY, "deadline_ms": int(_DEADLINE_SECONDS * 1000)}
        for _ in range(jobs):
            answer = self._client.post("/v1/search/jobs", json=body, headers=_SLOW)
            assert answer.status_code == 202, answer.text
            self.submitted.append(answer.json()["job_id"])
        self.waiting += [self._pool.submit(self._wait, body) for _ in range(direct)]

    def ends(self) -> dict[str, int]:
        """Return how the jobs ended; `stuck` did not, 5 s after their deadline."""
        for one in self.waiting:
            told, seconds = one.result(timeout=60)
            assert told in _ENDS | _REFUSALS, told
            assert seconds < _DEADLINE_SECONDS + LATE_SECONDS
        values = {"ids": self.submitted, "late": LATE_SECONDS}
        with psycopg.connect(self.system.database, autocommit=True) as conn:

            def all_over() -> bool:
                row = conn.execute(_UNENDED, values).fetchone()
                return row == (0,)

            until(all_over, within_seconds=30, what="jobs ended, or late for it")
            counts: dict[str, int] = dict(conn.execute(_STATES, values).fetchall())
        assert sum(counts.values()) == len(self.submitted)
        return counts

    def _wait(self, body: dict[str, Any]) -> tuple[str, float]:
        began = time.monotonic()
        try:
            answer = self._client.post("/v1/search/query", json=body, headers=_SLOW)
        except httpx2.TransportError as exc:
            return type(exc).__name__, time.monotonic() - began
        told = answer.json()
        said = told.get("state") or told["error"]["code"]
        return said, time.monotonic() - began
