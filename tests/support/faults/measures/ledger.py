"""Posts numbered entries, remembers each promise, and afterwards says what held."""

import random
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
import psycopg

from tests.support.faults.measures import counting
from tests.support.faults.measures.counting import Fault
from tests.support.faults.measures.size import SEED
from tests.support.fixtures.fault_ledger import Line, record
from tests.support.fixtures.system import System
from tests.support.waiting import until

# In one request as many as fit well into a claim or two, so that work begins at once.
POSTED_AT_ONCE = 50
# P6: how long after the last fault the index may differ.
CONVERGE_SECONDS = 60.0
_WORDS = [
    *("beam", "dump", "vacuum", "klystron", "cavity", "arc", "interlock", "water"),
    *("flow", "valve", "pump", "orbit", "feedback", "kicker", "septum", "undulator"),
    *("gap", "chiller", "trip", "restart", "shift", "operator", "magnet", "supply"),
]

Rows = list[tuple[object, str, object]]


@dataclass
class Ledger:
    """One experiment's promises and faults.

    Without `vectors`, for a system that runs no worker for them, their work is no debt.
    """

    system: System
    experiment: str
    seed: int = SEED
    vectors: bool = True
    words: tuple[int, int] = (20, 40)
    # When each entry was accepted first, by its id.
    times: dict[str, float] = field(default_factory=dict)
    edits: int = 0
    refused: list[tuple[int, str, bool]] = field(default_factory=list)
    post_seconds: list[float] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin to watch every claim."""
        self.random = random.Random(self.seed)
        with psycopg.connect(self.system.database) as conn:
            conn.execute(counting.WATCH)

    @property
    def accepted(self) -> list[str]:
        """The ids of what the API took."""
        return list(self.times)

    def entry(self, number: int, text: str | None = None) -> dict[str, Any]:
        """Return the numbered entry, with a text of its own or the one given."""
        return {
            "source": "api",
            "external_id": f"{self.experiment}-{number}",
            "title": f"Entry {number}",
            "text": text or words(self.random, *self.words),
        }

    def post(
        self, client: httpx2.Client, number: int, text: str | None = None
    ) -> str | None:
        """Post one numbered entry; remember the promise, or how it was refused."""
        found = self._post(client, self.entry(number, text))
        if found is None:
            return None
        return self.keep(found.json())

    def post_many(
        self, client: httpx2.Client, numbers: Iterable[int], text: str | None = None
    ) -> list[str]:
        """Post entries, many in a request; return the ids of those accepted."""
        asked = list(numbers)
        ids: list[str] = []
        for start in range(0, len(asked), POSTED_AT_ONCE):
            chunk = [
                self.entry(number, text)
                for number in asked[start : start + POSTED_AT_ONCE]
            ]
            found = self._post(client, {"entries": chunk})
            if found is None:
                continue
            for item in found.json()["items"]:
                assert item.get("error") is None, item
                ids.append(self.keep(item))
        return ids

    def post_until_accepted(self, client: httpx2.Client, number: int) -> str:
        """Post one entry again and again until the API takes it."""
        found = until(lambda: self.post(client, number), within_seconds=30)
        assert found is not None
        return found

    def keep(self, item: dict[str, Any]) -> str:
        """Remember what the API has answered of an entry, and return its id."""
        self.times[item["entry_id"]] = time.time()
        self.edits += item["status"] == "updated"
        return str(item["entry_id"])

    def note_deleted(self, entry_id: str) -> None:
        """Remember that an entry's end is its tombstone; it stays accepted."""
        self.times[entry_id] = time.time()

    def in_hand(self, stages: tuple[str, ...] = ("",)) -> Rows:
        """Return the rows of these stages that some worker holds a lease on."""
        with psycopg.connect(self.system.database) as conn:
            rows = conn.execute(counting.IN_HAND).fetchall()
        return [row for row in rows if str(row[1]).startswith(stages)]

    def note_kill(self, rows: Sequence[tuple[object, str, object]]) -> None:
        """Remember a death with what was in hand, to measure its recovery."""
        self.faults.append(Fault(time.time(), list(rows)))

    def note_end(self, *stages: str) -> None:
        """Remember that a fault is over just now, with a backlog (of each) still due.

        It is recovered from with the next claim, or the last of those of the stages.
        """
        at = time.time()
        self.faults += [Fault(at, None, stage) for stage in stages or ("",)]

    def due(self) -> int:
        """Return how many rows are still due."""
        with psycopg.connect(self.system.database) as conn:
            return int(counting.number(conn, counting.STILL_DUE, vectors=self.vectors))

    def idle(self) -> set[str]:
        """Return the entries that are due and that nobody has in hand."""
        with psycopg.connect(self.system.database) as conn:
            found = conn.execute(counting.IDLE, {"vectors": self.vectors}).fetchall()
        return {str(entry_id) for (entry_id,) in found}

    def close(self, *, within_seconds: float) -> Line:
        """Wait until nothing is due any more, count, print and return the line."""
        until(
            lambda: self.due() == 0,
            within_seconds=within_seconds,
            what=self._tell_open_work,
        )
        return self.count()

    def converge(self, *, within_seconds: float = CONVERGE_SECONDS) -> Line:
        """Wait until nothing is due and the index is as Postgres is; count."""
        ends = time.monotonic() + within_seconds
        until(
            self.is_equal,
            within_seconds=within_seconds,
            what=lambda: f"an equal index; {self._tell_open_work()}",
        )
        print(f"{self.experiment} equal with {ends - time.monotonic():.0f} s to spare")
        return self.count()

    def count(self) -> Line:
        """Count as it stands, print and return the line."""
        with psycopg.connect(self.system.database, autocommit=True) as conn:
            found = counting.counts(
                conn, self.times, edits=self.edits, vectors=self.vectors
            )
            recoveries = [counting.recovery_s(conn, fault) for fault in self.faults]
            for reason in conn.execute(counting.REASONS).fetchall():
                print("quarantined:", *reason)
            for again in conn.execute(counting.EXTRA_BY_STAGE).fetchall():
                print("stage, runs, how many, seconds apart:", *again)
            line = Line(
                experiment=self.experiment,
                seed=self.seed,
                accepted=len(self.times),
                recovery_s=round(max(recoveries, default=0.0), 2),
                drift=self._drift(),
                **found,
            )
        record(line)
        return line

    def is_equal(self) -> bool:
        """Tell whether nothing is due and the index is as Postgres is."""
        return self.due() == 0 and self._drift() == 0

    def _tell_open_work(self) -> str:
        with psycopg.connect(self.system.database) as conn:
            rows = conn.execute(counting.OPEN_WORK).fetchall()
        words = "due work done: stage, attempts, strikes, in hand, error, rows, due in"
        return "\n".join([words, *map(str, rows)])

    def _drift(self) -> int | None:
        url = self.system.environment["OPENSEARCH_URL"]
        base = self.system.environment["OPENSEARCH_INDEX"]
        if url == "off":
            return None
        with psycopg.connect(self.system.database, autocommit=True) as conn:
            return counting.drift(conn, url, base)

    def _post(
        self, client: httpx2.Client, body: dict[str, Any]
    ) -> httpx2.Response | None:
        began = time.monotonic()
        try:
            answer = client.post("/v1/entries", json=body)
        except httpx2.TransportError as exc:
            self.refused.append((0, type(exc).__name__, False))
            return None
        finally:
            self.post_seconds.append(time.monotonic() - began)
        if answer.is_success:
            return answer
        code = answer.json()["error"]["code"]
        self.refused.append((answer.status_code, code, "retry-after" in answer.headers))
        return None


def words(rng: random.Random, least: int = 20, most: int = 40) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(least, most)))


def p95(values: Sequence[float]) -> float:
    """Return what 95 of 100 values stay below."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, len(ranked) * 95 // 100)] if ranked else 0.0


class Posting:
    """Posts entries from a thread of its own while faults happen."""

    def __init__(self, ledger: Ledger, key: str, numbers: range) -> None:
        self._ledger = ledger
        self._key = key
        self._numbers = numbers
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to post."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until every entry has been accepted."""
        self._thread.join(timeout=120)
        assert not self._thread.is_alive(), "posting did not end"

    def is_at_work(self) -> bool:
        """Tell whether there is still something to post."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with self._ledger.system.client(self._key) as client:
            for number in self._numbers:
                self._ledger.post_until_accepted(client, number)
