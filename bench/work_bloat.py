"""What a backlog leaves behind, with and without an old snapshot held open."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import Connection, IsolationLevel

from bench import work_rows
from bench.rig import Ground
from shared.messaging.stage_names import INDEX_STAGE
from shared.work import due_work
from shared.work.batches import TASK_SECONDS

BATCH = 200
PARTS = 5


@dataclass
class Bloat:
    """One backlog claimed and ended, with its sizes before and after."""

    is_held: bool
    rows: int
    table_before: int = 0
    indexes_before: int = 0
    table_after: int = 0
    indexes_after: int = 0
    dead: int = 0
    # Claimed and ended a second, in each fifth of the backlog.
    per_second: list[float] = field(default_factory=list)
    sweep_ms: float = 0.0


def bloats(ground: Ground, count: int) -> list[Bloat]:
    """Claim and end a backlog twice: alone, and beside a snapshot held open."""
    return [_bloat(ground, count, is_held=held) for held in (False, True)]


def _bloat(ground: Ground, count: int, *, is_held: bool) -> Bloat:
    found = Bloat(is_held, count)
    with (
        psycopg.connect(ground.url, autocommit=True) as conn,
        _snapshot(ground.url, is_held=is_held),
    ):
        work_rows.fill(conn, count, stage=INDEX_STAGE)
        found.table_before, found.indexes_before, _ = work_rows.sizes(conn)
        done = 0
        for part in range(1, PARTS + 1):
            began, at = time.perf_counter(), done
            while done < count * part // PARTS:
                done += _task(conn, count * part // PARTS - done)
            found.per_second.append(round((done - at) / (time.perf_counter() - began)))
        began = time.perf_counter()
        due_work.list_overdue_stages(conn, grace_seconds=1)
        found.sweep_ms = round((time.perf_counter() - began) * 1000, 1)
        found.table_after, found.indexes_after, found.dead = work_rows.sizes(conn)
    return found


def _task(conn: Connection, most: int) -> int:
    """Do as much as one task does: its bound goes with it."""
    ends = time.monotonic() + TASK_SECONDS
    done, bound = 0, due_work.ClaimCursor()
    while done < most and time.monotonic() < ends:
        with conn.transaction():
            taken = due_work.claim(conn, INDEX_STAGE, limit=BATCH, bound=bound)
        with conn.transaction():
            done += due_work.finish(conn, *taken)
        bound = bound.after(taken)
    return done


@contextmanager
def _snapshot(url: str, *, is_held: bool) -> Iterator[None]:
    """Hold a snapshot as a backup does, while the block runs."""
    if not is_held:
        yield
        return
    with psycopg.connect(url) as old:
        old.isolation_level = IsolationLevel.REPEATABLE_READ
        old.execute("SELECT count(*) FROM stage_pause")
        yield
