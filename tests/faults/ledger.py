"""Posts numbered entries, remembers each promise, and afterwards counts what held.

Effects are counted in the database and the index, never in the workers.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import LiteralString, Self

import httpx
import psycopg

from tests.fix_system import System
from tests.waiting import until

# Every claim is kept with its time: an entry claimed twice for one due time ran twice.
_WATCH_CLAIMS: LiteralString = """
    CREATE TABLE claim_log (
        entry_id uuid, stage text, want bigint, claim uuid,
        at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION log_claim() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO claim_log (entry_id, stage, want, claim)
        VALUES (NEW.entry_id, NEW.stage, NEW.claimed_want, NEW.claim);
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch_claims AFTER UPDATE ON work FOR EACH ROW
      WHEN (NEW.claim IS DISTINCT FROM OLD.claim AND NEW.claim IS NOT NULL)
      EXECUTE FUNCTION log_claim();"""
_EXTRA_RUNS: LiteralString = """
    SELECT count(*) - count(DISTINCT (entry_id, stage, want)) FROM claim_log"""
_STILL_DUE: LiteralString = "SELECT count(*) FROM work"
_LOST: LiteralString = """
    SELECT count(*)
      FROM unnest(%(ids)s::uuid[]) AS accepted (id)
      LEFT JOIN entry e ON e.id = accepted.id
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.revision = e.revision
     WHERE e.id IS NULL
        OR EXISTS (SELECT FROM work w WHERE w.entry_id = e.id)
        OR (NOT EXISTS (SELECT FROM quarantine q WHERE q.entry_id = e.id)
            AND (t.entry_id IS NULL OR NOT EXISTS (
                SELECT FROM {vectors} v
                 WHERE v.entry_id = e.id AND v.revision = e.revision)))"""
_DOUBLED: LiteralString = """
    SELECT (SELECT count(*) - count(DISTINCT (tenant, source, external_id)) FROM entry)
         + (SELECT count(*) - count(DISTINCT (entry_id, number)) FROM revision)
         + (SELECT count(*) FROM revision WHERE number > 1)
         + (SELECT count(*) - count(DISTINCT entry_id) FROM entry_text)
         + (SELECT count(*) - count(DISTINCT (entry_id, chunk)) FROM {vectors})"""
_QUARANTINED: LiteralString = "SELECT count(*) FROM quarantine"
_IN_HAND: LiteralString = """
    SELECT entry_id, stage, claim FROM work
     WHERE claim IS NOT NULL AND leased_until > clock_timestamp()"""
# How long until somebody else had each of them in hand, or it was done after all.
_RECOVERED: LiteralString = """
    SELECT max(extract(epoch FROM coalesce(again.at, %(at)s) - %(at)s))
      FROM unnest(%(entry_ids)s::uuid[], %(stages)s::text[], %(claims)s::uuid[])
           AS held (entry_id, stage, claim)
      LEFT JOIN LATERAL (
        SELECT min(l.at) AS at FROM claim_log l
         WHERE l.entry_id = held.entry_id AND l.stage = held.stage
           AND l.claim <> held.claim AND l.at > %(at)s) AS again ON true"""

_WORDS = [
    *("beam", "dump", "vacuum", "klystron", "cavity", "arc", "interlock", "water"),
    *("flow", "valve", "pump", "orbit", "feedback", "kicker", "septum", "undulator"),
    *("gap", "chiller", "trip", "restart", "shift", "operator", "magnet", "supply"),
]


@dataclass(frozen=True)
class Line:
    """What every experiment ends in."""

    experiment: str
    seed: int
    accepted: int
    lost: int
    duplicate_effects: int
    extra_runs: int
    quarantined: int
    recovery_s: float

    def __str__(self) -> str:
        """Return the one line that is printed."""
        return (
            f"{self.experiment} seed={self.seed} accepted={self.accepted}"
            f" lost={self.lost} duplicate_effects={self.duplicate_effects}"
            f" extra_runs={self.extra_runs} quarantined={self.quarantined}"
            f" recovery_s={self.recovery_s:.1f}"
        )


@dataclass
class Kill:
    """One fault: when it was, and what was in hand just then."""

    at: float
    rows: list[tuple[object, str, object]]


@dataclass
class Ledger:
    """One experiment's promises and faults."""

    system: System
    experiment: str
    seed: int
    tenant: str = "default"
    accepted: list[str] = field(default_factory=list)
    refused: list[tuple[int, str, bool]] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin to watch every claim."""
        self._random = random.Random(self.seed)
        with psycopg.connect(self.system.database) as conn:
            conn.execute(_WATCH_CLAIMS)

    def post(self, client: httpx.Client, number: int) -> bool:
        """Post one numbered entry; remember the promise, or how it was refused."""
        body = {
            "source": "api",
            "external_id": f"{self.experiment}-{number}",
            "title": f"Entry {number}",
            "text": " ".join(self._random.choices(_WORDS, k=150)),
        }
        try:
            answer = client.post("/v1/entries", json=body)
        except httpx.TransportError as exc:
            self.refused.append((0, type(exc).__name__, False))
            return False
        if answer.is_success:
            self.accepted.append(answer.json()["entry_id"])
            return True
        code = answer.json()["error"]["code"]
        self.refused.append((answer.status_code, code, "retry-after" in answer.headers))
        return False

    def post_until_accepted(self, client: httpx.Client, number: int) -> None:
        """Post one entry again and again until the API takes it."""
        until(lambda: self.post(client, number), within_seconds=30)

    def in_hand(self) -> list[tuple[object, str, object]]:
        """Return the rows that some worker holds a lease on."""
        with psycopg.connect(self.system.database) as conn:
            return conn.execute(_IN_HAND).fetchall()

    def note_kill(self, rows: list[tuple[object, str, object]]) -> None:
        """Remember a fault with what was in hand, to measure the recovery."""
        self.kills.append(Kill(time.time(), rows))

    def close(self, *, within_seconds: float) -> Line:
        """Wait until nothing is due any more, count, print and return the line."""
        with psycopg.connect(self.system.database, autocommit=True) as conn:

            def drained() -> bool:
                row = conn.execute(_STILL_DUE).fetchone()
                return row is not None and row[0] == 0

            until(drained, within_seconds=within_seconds, what="due work drained")
            line = self._count(conn)
        print(f"\n{line}")
        return line

    def _count(self, conn: psycopg.Connection[tuple[object, ...]]) -> Line:
        row = conn.execute("SELECT table_name FROM embedding_model").fetchone()
        assert row is not None
        vectors = str(row[0])

        def number(statement: str, **values: object) -> int:
            found = conn.execute(statement.replace("{vectors}", vectors), values)
            value = found.fetchone()
            return int(str(value[0])) if value and value[0] is not None else 0

        return Line(
            experiment=self.experiment,
            seed=self.seed,
            accepted=len(self.accepted),
            lost=number(_LOST, ids=self.accepted),
            duplicate_effects=number(_DOUBLED),
            extra_runs=number(_EXTRA_RUNS),
            quarantined=number(_QUARANTINED),
            recovery_s=max(
                (self._recovery(conn, kill) for kill in self.kills), default=0
            ),
        )

    def _recovery(
        self, conn: psycopg.Connection[tuple[object, ...]], kill: Kill
    ) -> float:
        row = conn.execute(
            _RECOVERED.replace("%(at)s", "to_timestamp(%(at)s)"),
            {
                "at": kill.at,
                "entry_ids": [one[0] for one in kill.rows],
                "stages": [one[1] for one in kill.rows],
                "claims": [one[2] for one in kill.rows],
            },
        ).fetchone()
        return float(str(row[0])) if row and row[0] is not None else 0.0


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

    def _run(self) -> None:
        with self._ledger.system.client(self._key) as client:
            for number in self._numbers:
                self._ledger.post_until_accepted(client, number)
