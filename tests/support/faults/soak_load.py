"""What goes on during the soak: entries made, edited and deleted, and searches asked.

Every answer is kept with its time, so that it can be held against the faults of then.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, LiteralString, Self

import httpx2
import psycopg

from tests.support.faults.measures.ledger import Ledger
from tests.support.fixtures.system import System

_POSTS_A_SECOND, _SEARCHES_A_SECOND, _JOBS_A_SECOND = 4.0, 2.0, 0.5
_AGAIN_SECONDS = 0.25
_MODES = ("hybrid", "keyword", "semantic")
_DEADLINES_MS = (800, 1500, 2500)
_QUESTIONS = ("klystron trip", "beam dump vacuum", "water flow", "magnet supply arc")

_STATE: LiteralString = """
    SELECT e.id::text, e.revision, e.deleted_at IS NOT NULL, r.text
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"""


@dataclass(frozen=True)
class Told:
    """One request, and what was answered: a state, an error's code, a broken link."""

    kind: str
    at: float
    seconds: float
    status: int
    code: str
    # How much longer than its deadline a search took.
    late_s: float = 0.0


@dataclass
class Known:
    """What was promised of one entry last."""

    entry_id: str
    text: str
    revision: int = 1
    deleted: bool = False


@dataclass
class Load:
    """Threads that post and search until they are told to stop."""

    system: System
    ledger: Ledger
    seed: int
    entries: dict[int, Known] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    # Of the searches that nobody waits for: these must end in Postgres.
    submitted: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._key = self.system.key()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=one, daemon=True)
            for one in (
                (1, _POSTS_A_SECOND, self._post),
                (2, _SEARCHES_A_SECOND, self._search),
                (3, _JOBS_A_SECOND, self._submit),
            )
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let each end what it has begun."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=90)
            if thread.is_alive():
                late = "a caller was not answered for 90 s after the last fault"
                self.failures.append(AssertionError(late))

    def not_as_promised(self, database: str) -> list[str]:
        """Return the entries that are not what was accepted last."""
        with psycopg.connect(database) as conn:
            found = {row[0]: row[1:] for row in conn.execute(_STATE).fetchall()}
        return [
            f"{one}: {found.get(one.entry_id)}"
            for one in self.entries.values()
            if found.get(one.entry_id) != (one.revision, one.deleted, one.text)
        ]

    def _run(
        self,
        number: int,
        per_second: float,
        step: Callable[[httpx2.Client, random.Random], None],
    ) -> None:
        chance = random.Random(self.seed + number)
        with self.system.client(self._key, timeout=20) as client:
            try:
                while not self._stop.wait(chance.expovariate(per_second)):
                    step(client, chance)
            except BaseException as exc:  # noqa: BLE001 - told at the end of the run
                self.failures.append(exc)

    def _post(self, client: httpx2.Client, chance: random.Random) -> None:
        live = [n for n, one in self.entries.items() if not one.deleted]
        gone = [n for n, one in self.entries.items() if one.deleted]
        dice = chance.random()
        if live and dice < 0.3:
            # Now and then one comes back that was deleted.
            self._push(client, [chance.choice(gone if gone and dice < 0.02 else live)])
        elif live and dice < 0.4:
            self._delete(client, chance.choice(live))
        else:
            first = len(self.entries)
            count = 1 if dice < 0.9 else chance.randint(2, 10)
            self._push(client, list(range(first, first + count)))

    def _push(self, client: httpx2.Client, numbers: list[int]) -> None:
        drafts = [self.ledger.entry(number) for number in numbers]
        answer = self._until_taken(client, "POST", "/v1/entries", {"entries": drafts})
        for number, draft, item in zip(
            numbers, drafts, answer.json()["items"], strict=True
        ):
            known = self.entries.get(number)
            if known is None:
                self.entries[number] = Known(item["entry_id"], draft["text"])
            else:
                known.text, known.deleted = draft["text"], False
                known.revision += 1
                self.ledger.edits += 1
            self.ledger.times[item["entry_id"]] = time.time()

    def _delete(self, client: httpx2.Client, number: int) -> None:
        known = self.entries[number]
        self._until_taken(client, "DELETE", f"/v1/entries/{known.entry_id}", None)
        known.deleted = True
        self.ledger.note_deleted(known.entry_id)

    def _until_taken(
        self, client: httpx2.Client, method: str, path: str, body: Any
    ) -> httpx2.Response:
        """Ask again until there is a promise: what it says twice it means once."""
        while True:
            answer = self._ask(client, "post", method, path, body)
            if answer is not None and answer.is_success:
                return answer
            # What is wrong with a request itself is as wrong the next time.
            refused = answer is not None and answer.is_client_error
            assert not refused, answer and answer.text[:500]
            # Not the event that ends the load: what was begun must end in a promise.
            threading.Event().wait(_AGAIN_SECONDS)

    def _search(self, client: httpx2.Client, chance: random.Random) -> None:
        body = _question(chance)
        self._ask(client, "search", "POST", "/v1/search/query", body)

    def _submit(self, client: httpx2.Client, chance: random.Random) -> None:
        body = _question(chance)
        answer = self._ask(client, "job", "POST", "/v1/search/jobs", body)
        if answer is not None and answer.is_success:
            self.submitted.append(answer.json()["job_id"])

    def _ask(
        self, client: httpx2.Client, kind: str, method: str, path: str, body: Any
    ) -> httpx2.Response | None:
        at = time.time()
        answer = None
        try:
            answer = client.request(method, path, json=body)
            status, code = answer.status_code, _code(answer)
        except httpx2.TransportError as exc:
            status, code = 0, type(exc).__name__
        seconds = time.time() - at
        late = seconds - body["deadline_ms"] / 1000 if kind == "search" else 0.0
        self.told.append(Told(kind, at, seconds, status, code, late))
        return answer


def _question(chance: random.Random) -> dict[str, Any]:
    return {
        "query": chance.choice(_QUESTIONS),
        "mode": chance.choice(_MODES),
        "deadline_ms": chance.choice(_DEADLINES_MS),
    }


def _code(answer: httpx2.Response) -> str:
    if not answer.content:
        return ""
    told = answer.json()
    if "error" in told and isinstance(told["error"], dict):
        return str(told["error"]["code"])
    return str(told.get("state", ""))
