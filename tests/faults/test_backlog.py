"""F32: more comes in than can be done, and a backfill waits beside what is live."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from typing import Any, LiteralString

import httpx2
import psutil
import psycopg
import pytest

from shared.messaging.nudges import NUDGES_PER_PROCESS
from tests.faults.test_poison import seconds
from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.measures.queues import Queues, entry_ids
from tests.support.faults.measures.size import EVERY_STAGE, FULL, QUICK_VECTORS, N
from tests.support.fixtures.system import System
from tests.support.waiting import until

# Two children do twenty entries a second; twenty times as many are posted.
CHILDREN, WAIT_SECONDS = 2, 0.1
SERVICE_RATE = CHILDREN / WAIT_SECONDS
TIMES, POST_SECONDS = 20, 5.0
MOST = 1000
BACKFILL = 1_000_000 if FULL else 100_000
# Two runs of the same differ by so much.
NOISE_SECONDS = 0.01
MEGABYTE = 1_048_576
RSS_MEGABYTES, FLAT_MEGABYTES = 512, 32

_LIVE: LiteralString = """
    SELECT count(*) FROM work WHERE stage = 'metadata' AND class = 0"""
_BACKFILL_AT: LiteralString = """
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT unnest(%(ids)s::uuid[]), 'metadata', 'default', 1"""
# How far an entry came before one that had been due earlier, in places.
_JUMPED: LiteralString = """
    SELECT max(due_place - claim_place) FROM (
        SELECT row_number() OVER (ORDER BY min(created_at)) AS due_place,
               row_number() OVER (ORDER BY min(at)) AS claim_place
          FROM claim_log
         WHERE stage = 'metadata' AND entry_id = ANY (%(ids)s::uuid[])
         GROUP BY entry_id) AS places"""
_CLAIMED_AT: LiteralString = """
    SELECT extract(epoch FROM min(at))::float, extract(epoch FROM max(at))::float
      FROM (SELECT min(at) AS at FROM claim_log
             WHERE stage = 'metadata' AND entry_id = ANY (%(ids)s::uuid[])
               AND at > to_timestamp(%(since)s)
             GROUP BY entry_id) AS firsts"""
# Nothing but what the work table asks for: they wait, and live work passes them.
_MANY_ENTRIES: LiteralString = """
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
                       content_hash, access_hash, kind, origin, logbooks, authors,
                       tags, metadata, entry_time)
    SELECT gen_random_uuid(), 'default', 'api', 'backfill-' || n, 1, 1, '', '',
           'entry', 'human', '{}', '{}', '{}', '{}', now()
      FROM generate_series(1, %(rows)s) AS n"""
_MANY_DUE: LiteralString = """
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT id, 'metadata', tenant, 1 FROM entry WHERE external_id LIKE 'backfill-%%'"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.requirement("F32", "P11")
def test_more_than_can_be_done_is_refused_in_time_and_the_rest_is_done_in_order(
    make_system, opensearch
):
    system = make_system(
        opensearch=opensearch.url,
        afresh=True,
        **QUICK_VECTORS,
        **EVERY_STAGE,
        LOGCHORD_MAX_BACKLOG_ENTRIES=str(MOST),
    )
    slowly = {"word": "", "where": "metadata", "does": "wait", "seconds": WAIT_SECONDS}
    system.start("api", "upkeep", "embed")
    system.start("enhance", faulty={"poison": [slowly]})
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F32")

    with (
        system.client(system.key(scopes=("admin", "ingest"))) as client,
        psycopg.connect(system.database, autocommit=True) as conn,
        closing(Queues(system)) as queues,
    ):
        backfill = ledger.post_many(client, range(50))
        until(lambda: ledger.due() == 0, within_seconds=60)
        asked = flood(ledger, client)
        # Due before the last of the live ones, and yet behind them all.
        since = time.time()
        conn.execute(_BACKFILL_AT, {"ids": backfill})
        due = live_due(conn)
        began, full_rss = time.monotonic(), rss(system)
        oldest, swept = [], []

        def drained() -> bool:
            lag = client.get("/v1/lag").json()
            oldest.append(max(one["oldest_seconds"] for one in lag["stages"]))
            raw = queues.raw("enhance.metadata")
            swept.append(sum(not entry_ids(message) for message in raw))
            return live_due(conn) == 0

        until(drained, within_seconds=20 * due / SERVICE_RATE)
        took, end_rss = time.monotonic() - began, rss(system)
        line = ledger.close(within_seconds=60)
        live = [one for one in ledger.accepted if one not in set(backfill)]
        jumped = conn.execute(_JUMPED, {"ids": live}).fetchone()
        first_bulk, _ = claimed_at(conn, backfill, since)
        _, last_live = claimed_at(conn, live, 0)

    print(
        f"F32 asked={asked} accepted={len(live)} refused={len(ledger.refused)}"
        f" due={due} drained_s={took:.1f} ideal_s={due / SERVICE_RATE:.1f}"
        f" oldest_s={max(oldest)} swept_nudges={max(swept)} jumped={jumped}"
        f" rss_mb={full_rss} then {end_rss}"
    )
    assert asked >= TIMES * SERVICE_RATE * POST_SECONDS * 0.9
    assert ledger.refused, "the limit was never met"
    assert set(ledger.refused) == {(429, "backlog_full", True)}
    assert max(oldest) > 1
    assert max(swept) <= NUDGES_PER_PROCESS
    assert took < 2 * due / SERVICE_RATE
    assert last_live < first_bulk + 1
    assert max(full_rss.values()) < RSS_MEGABYTES
    assert max(end_rss.values()) < RSS_MEGABYTES
    for name, before in full_rss.items():
        assert end_rss[name] - before < FLAT_MEGABYTES, name
    assert line.harm == {}


@pytest.mark.requirement("F32")
def test_a_waiting_backfill_refuses_no_post_and_stands_in_no_live_entrys_way(
    make_system,
):
    system = make_system(LOGCHORD_MAX_BACKLOG_ENTRIES=str(BACKFILL // 10))
    system.bring_up("api", "upkeep", "enhance")
    ledger = Ledger(system, "F32 backfill", vectors=False)

    with system.client() as client:
        calm = [ledger.post_until_accepted(client, n) for n in range(N)]
        until(lambda: ledger.due() == 0, within_seconds=60)
        with psycopg.connect(system.database, autocommit=True) as conn:
            conn.execute(_MANY_ENTRIES, {"rows": BACKFILL})
            conn.execute("ANALYZE entry")
            conn.execute(_MANY_DUE)
            conn.execute("ANALYZE work")
            # It is what waits that may not be felt, not that it came in a moment ago.
            conn.execute("VACUUM entry, work")
            conn.execute("CHECKPOINT")
            beside = [ledger.post(client, n) for n in range(N, 2 * N)]
            until(lambda: live_due(conn) == 0, within_seconds=60)
            left = conn.execute("SELECT count(*) FROM work WHERE class = 1").fetchone()

    assert left is not None
    without = p95(seconds(ledger, calm))
    with_it = p95(seconds(ledger, [one for one in beside if one]))
    print(
        f"F32 backfill={BACKFILL} left={left[0]}"
        f" p95_without={without:.3f} p95_beside={with_it:.3f}"
    )
    assert ledger.refused == []
    assert left[0] > 0, "the backfill was over before the live entries were"
    assert with_it < 1.1 * without + NOISE_SECONDS


def flood(ledger: Ledger, client: httpx2.Client) -> int:
    """Post for five seconds at the rate that is asked for; return how many were sent.

    Faster would be over before the API has counted again what is due.
    """
    turns = count()
    began = time.monotonic()
    ends = began + POST_SECONDS
    most = int(TIMES * SERVICE_RATE * POST_SECONDS)
    size = 50

    def post() -> int:
        sent = 0
        while time.monotonic() < ends:
            turn = next(turns)
            if turn * size >= most:
                break
            due_at = began + turn * size / (TIMES * SERVICE_RATE)
            until(
                lambda due_at=due_at: time.monotonic() >= due_at,
                within_seconds=POST_SECONDS,
            )
            first = 1000 + turn * size
            ledger.post_many(client, range(first, first + size))
            sent += size
        return sent

    with ThreadPoolExecutor(2) as callers:
        return sum(callers.map(lambda _: post(), range(2)))


def live_due(conn: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Return how many live rows wait for their metadata."""
    row = conn.execute(_LIVE).fetchone()
    assert row is not None
    return int(row[0])


def claimed_at(
    conn: psycopg.Connection[tuple[Any, ...]], ids: list[str], since: float
) -> tuple[float, float]:
    """Return when the first and the last of these were claimed first."""
    row = conn.execute(_CLAIMED_AT, {"ids": ids, "since": since}).fetchone()
    assert row is not None
    return row[0], row[1]


def rss(system: System) -> dict[str, int]:
    """Return the megabytes of each process, the largest of its children's included."""
    found = {}
    for name, process in system.processes.items():
        main = psutil.Process(process.pid)
        family = [main, *main.children(recursive=True)]
        found[name] = max(one.memory_info().rss for one in family) // MEGABYTE
    return found
