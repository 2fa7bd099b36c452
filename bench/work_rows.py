"""Rows of due work for the benches, and what it costs to move them."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

import psutil
import psycopg
from psycopg import Connection

from bench.rig import Ground, cpu_seconds
from shared.work import due_work
from shared.work.due_work import Claim

TENANT = "default"
STAGES = ("embed:bench", "index", "metadata")
BATCH = 500

# Entries are only what work refers to: nothing of theirs is measured here.
_ENTRIES: LiteralString = """
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
        content_hash, access_hash, kind, origin, logbooks, authors, tags, metadata,
        entry_time)
    SELECT (lpad(to_hex(n), 12, '0') || '70008000' || md5(n::text)::char(12))::uuid,
           %(tenant)s, 'bench', n::text, 1, 1, '', '', 'entry', 'human', '{}', '{}',
           '{}', '{}', now()
      FROM generate_series((SELECT count(*) FROM entry) + 1, %(count)s) AS n"""
_FILL: LiteralString = """
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT id, %(stage)s, tenant, %(class)s FROM entry
     WHERE tenant = %(tenant)s ORDER BY id LIMIT %(count)s"""
_SIZES: LiteralString = """
    SELECT pg_table_size('work'), pg_indexes_size('work'), n_dead_tup
      FROM pg_stat_user_tables WHERE relname = 'work'"""
_YARDSTICK: LiteralString = """
    CREATE TABLE IF NOT EXISTS yardstick (
        entry_id uuid, stage text, tenant text, held boolean NOT NULL DEFAULT false,
        PRIMARY KEY (entry_id, stage))"""
_BARE = {
    "insert": """
        INSERT INTO yardstick (entry_id, stage, tenant)
        SELECT e, s, 'default'
          FROM unnest(%(ids)s::uuid[]) e, unnest(%(stages)s::text[]) s""",
    "update": "UPDATE yardstick SET held = true WHERE entry_id = ANY (%(ids)s)",
    "delete": "DELETE FROM yardstick WHERE entry_id = ANY (%(ids)s)",
}


@dataclass
class Cost:
    """What one kind of step took, for so many entries."""

    name: str
    entries: int
    seconds: float = 0.0
    # Of the server and of the one who asks.
    cpu_seconds: float = 0.0
    wal_bytes: int = 0
    is_bare: bool = False

    @property
    def per_second(self) -> float:
        """Entries a second."""
        return self.entries / max(self.seconds, 1e-9)


@contextmanager
def measured(
    conn: Connection, ground: Ground, name: str, entries: int
) -> Iterator[Cost]:
    """Measure time, processor time and write-ahead log of a block."""
    cost = Cost(name, entries)
    cpu, wal, began = _cpu(ground), _wal(conn), time.perf_counter()
    yield cost
    cost.seconds = time.perf_counter() - began
    cost.cpu_seconds = _cpu(ground) - cpu
    cost.wal_bytes = _wal(conn) - wal


def ensure_entries(url: str, count: int) -> list[UUID]:
    """Make so many entries, and return their ids in order."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET synchronous_commit = off")
        conn.execute("DROP INDEX IF EXISTS entry_newest, entry_received")
        conn.execute(_ENTRIES, {"tenant": TENANT, "count": count})
        # Written out later, it would be at the cost of what is measured.
        conn.execute("CHECKPOINT")
        found = conn.execute("SELECT id FROM entry ORDER BY id LIMIT %s", (count,))
        return [one[0] for one in found]


def fill(
    conn: Connection, count: int, *, stage: str, work_class: int = due_work.BULK
) -> None:
    """Make a stage due for so many entries; nothing else is due then."""
    conn.execute("TRUNCATE work, stage_outcome")
    values = {"tenant": TENANT, "count": count, "stage": stage, "class": work_class}
    conn.execute(_FILL, values)
    conn.execute("CHECKPOINT")


def rates(ground: Ground, ids: Sequence[UUID], batch: int = BATCH) -> list[Cost]:
    """Add, claim and finish three stages of each entry, beside bare statements."""
    parts = [ids[at : at + batch] for at in range(0, len(ids), batch)]
    with psycopg.connect(ground.url, autocommit=True) as conn:
        conn.execute("TRUNCATE work, stage_outcome")
        conn.execute(_YARDSTICK)
        costs = [_bare(conn, ground, name, parts) for name in _BARE]
        with measured(conn, ground, f"add, {batch} at once", len(ids)) as added:
            for part in parts:
                with conn.transaction():
                    due_work.add(conn, TENANT, part, STAGES)
        with measured(conn, ground, f"claim, {batch} at once", len(ids)) as claimed:
            batches = [
                one for stage in STAGES for one in _claim_all(conn, stage, batch)
            ]
        with measured(conn, ground, f"finish, {batch} at once", len(ids)) as finished:
            for taken in batches:
                with conn.transaction():
                    due_work.finish(conn, *taken)
    return [*costs, added, claimed, finished]


def sizes(conn: Connection) -> tuple[int, int, int]:
    """Return the bytes of the table, those of its indexes, and its dead rows."""
    row = conn.execute(_SIZES).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def _claim_all(conn: Connection, stage: str, limit: int) -> Iterator[list[Claim]]:
    bound = due_work.ClaimCursor()
    while True:
        with conn.transaction():
            taken = due_work.claim(
                conn, stage, limit=limit, lease_seconds=3600, bound=bound
            )
        if not taken:
            return
        bound = bound.after(taken)
        yield taken


def _bare(
    conn: Connection, ground: Ground, name: str, parts: Sequence[Sequence[UUID]]
) -> Cost:
    count = sum(map(len, parts))
    with measured(conn, ground, f"bare {name}, by key", count) as cost:
        cost.is_bare = True
        for part in parts:
            conn.execute(_BARE[name], {"ids": list(part), "stages": list(STAGES)})
    return cost


def _cpu(ground: Ground) -> float:
    own = psutil.Process().cpu_times()
    return cpu_seconds(ground.processes["postgres"]) + own.user + own.system


def _wal(conn: Connection) -> int:
    row = conn.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return int(row[0])
