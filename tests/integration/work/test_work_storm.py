"""Workers that claim, end, fail and die at once, while everything is edited."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from shared.errors import OpenSearchError
from shared.postgres.pool import Pool, connection, make_pool
from shared.work import due_work
from shared.work.batches import claim_batches
from shared.work.due_work import Claim
from shared.work.leases import Timing
from tests.support.saving import save_many
from tests.support.waiting import until

TENANT, STAGE = "default", "metadata"
ENTRIES, WORKERS, EDITS = 300, 4, 150
TIMING = Timing(lease_seconds=0.5, renew_seconds=0.1)

# `worked` has one row for each end of a row of work: twice is refused.
_EFFECTS = """
    CREATE TABLE edited (entry_id uuid PRIMARY KEY, version int NOT NULL);
    CREATE TABLE worked (entry_id uuid, version int, PRIMARY KEY (entry_id, version))"""
_EDIT = """
    UPDATE edited SET version = version + 1
     WHERE entry_id IN (SELECT entry_id FROM edited WHERE entry_id = ANY (%s)
                         ORDER BY entry_id FOR UPDATE)"""
_SEEN = "SELECT entry_id, version FROM edited WHERE entry_id = ANY (%s)"
_BEHIND = """
    SELECT count(*) FROM edited e
     WHERE NOT EXISTS (SELECT FROM worked w
                        WHERE w.entry_id = e.entry_id AND w.version = e.version)"""


def work(pool: Pool, chance: random.Random, over: threading.Event) -> None:
    """Claim batch after batch; now and then fail, give back, or die with it."""
    while not over.wait(0.01):
        for claims in claim_batches(pool, STAGE, [], limit=16, timing=TIMING):
            assert len(claims) == 1 or all(one.attempts == 1 for one in claims)
            if chance.random() < 0.05:
                # Nobody renews from here on: the rows come back with the lease.
                break
            work_batch(pool, chance, claims)


def work_batch(pool: Pool, chance: random.Random, claims: list[Claim]) -> None:
    with connection(pool) as conn:
        found = conn.execute(_SEEN, ([one.entry_id for one in claims],)).fetchall()
    seen = dict(found)
    for one in claims:
        fate = chance.random()
        if fate < 0.03:
            with connection(pool) as conn:
                due_work.release(conn, one.claim)
            return
        with connection(pool) as conn:
            if fate < 0.1:
                due_work.retry_later(conn, one, OpenSearchError(), backend=True)
            elif due_work.finish(conn, one):
                conn.execute(
                    "INSERT INTO worked VALUES (%s, %s)",
                    (one.entry_id, seen[one.entry_id]),
                )


def edit(database: str, ids: list[UUID], chance: random.Random) -> None:
    with psycopg.connect(database) as conn:
        for _ in range(EDITS):
            some = chance.sample(ids, 20)
            conn.execute(_EDIT, (some,))
            due_work.add(conn, TENANT, some, [STAGE])
            conn.commit()


def left(conn: Connection) -> int:
    # What failed waits for seconds; here it may come at once.
    conn.execute("UPDATE work SET due_at = now() WHERE due_at > now()")
    row = conn.execute("SELECT count(*) FROM work").fetchone()
    conn.commit()
    assert row is not None
    return int(row[0])


@pytest.mark.requirement("P1", "P2")
def test_a_storm_of_edits_beside_four_workers_loses_and_doubles_nothing(conn, database):
    ids = sorted(save_many(conn, ENTRIES, stages=[STAGE]))
    conn.execute(_EFFECTS)
    conn.execute("INSERT INTO edited SELECT id, 1 FROM entry")
    conn.commit()
    over = threading.Event()
    with (
        make_pool(database, application="test", size=2 * WORKERS) as pool,
        ThreadPoolExecutor(WORKERS + 1) as threads,
    ):
        working = [
            threads.submit(work, pool, random.Random(number), over)
            for number in range(WORKERS)
        ]
        try:
            threads.submit(edit, database, ids, random.Random(99)).result(timeout=60)
            until(lambda: left(conn) == 0, within_seconds=30)
        finally:
            over.set()
        for one in working:
            one.result(timeout=30)

    assert conn.execute(_BEHIND).fetchone() == (0,)
