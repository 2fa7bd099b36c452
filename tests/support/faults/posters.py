"""Callers who post side by side while a server misbehaves, each request noted."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2

from tests.support.faults.measures.ledger import Ledger, p95

POSTERS = 4
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Request:
    """One post: when it was, and how it was answered."""

    began: float
    ended: float
    status: int
    code: str
    told_when: bool


@dataclass
class Posters:
    """Posts numbered entries, each until it is accepted, as long as it is told to."""

    ledger: Ledger
    # So many are posted whatever happens, and never more than `most`.
    least: int = 0
    most: int = 1_000_000
    # What was refused is not posted again.
    give_up: bool = False
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open what the threads share."""
        self._numbers = count()
        self._turn = threading.Lock()
        self._ended = threading.Event()

    @contextmanager
    def at_work(self, several: int = POSTERS) -> Iterator[None]:
        """Post from so many threads; on leaving, wait for what is still to come."""
        key = self.ledger.system.key()
        with ThreadPoolExecutor(several) as pool:
            posters = [pool.submit(self._run, key) for _ in range(several)]
            try:
                yield
            finally:
                self._ended.set()
            for poster in posters:
                poster.result()

    def wait(self) -> None:
        """Return once as many are posted as ever will be."""
        while len(self.ledger.times) < self.most:
            assert not self._ended.wait(0.1)

    @property
    def p95_seconds(self) -> float:
        """How long 95 of 100 requests took at most."""
        return p95([one.ended - one.began for one in self.requests])

    @property
    def refused(self) -> list[Request]:
        """Every request that was not accepted."""
        return [one for one in self.requests if one.status not in {200, 201}]

    def _run(self, key: str) -> None:
        with self.ledger.system.client(key) as client:
            while (number := self._next()) is not None:
                with self._turn:
                    body = self.ledger.entry(number)
                ends = time.monotonic() + _PATIENCE_SECONDS
                while not self._post(client, body) and not self.give_up:
                    assert time.monotonic() < ends, self.requests[-1]

    def _next(self) -> int | None:
        with self._turn:
            number = next(self._numbers)
        enough = self._ended.is_set() and number >= self.least
        return None if enough or number >= self.most else number

    def _post(self, client: httpx2.Client, body: dict[str, Any]) -> bool:
        began = time.time()
        answer = client.post("/v1/entries", json=body, timeout=60)
        told = answer.json()
        code = "" if answer.is_success else told["error"]["code"]
        self.requests.append(
            Request(
                began,
                time.time(),
                answer.status_code,
                code,
                "retry-after" in answer.headers,
            )
        )
        if answer.is_success:
            self.ledger.times[told["entry_id"]] = time.time()
        return answer.is_success
