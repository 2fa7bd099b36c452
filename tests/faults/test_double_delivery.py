"""F16: every message comes three times, in any order; and a backlog makes no storm."""

import random
import time
from typing import LiteralString

import psycopg
import pytest

from shared.messaging import nudges, stage_names
from tests.support.faults.background_thread import BackgroundThread
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.queues import WORK, Queues, entry_ids, task_id
from tests.support.faults.measures.size import EVERY_STAGE, FULL, QUICK_VECTORS, SEED, N
from tests.support.fixtures.system import System
from tests.support.waiting import until

COPIES = 3
BACKLOG = 100_000 if FULL else 20_000
STOPPED_SECONDS = 60 if FULL else 10
INDEX_PROCESSES = ("enhance", "enhance-2")

# Entries without an effect to wait for: what counts here is claims and messages.
_BACKLOG: LiteralString = """
    WITH made AS (
        INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
                           content_hash, access_hash, kind, origin, logbooks, authors,
                           tags, metadata, entry_time)
        SELECT gen_random_uuid(), 'default', 'api', 'backlog-' || n, 1, 1,
               '', '', 'entry', 'human', '{}', '{}', '{}', '{}', now()
          FROM generate_series(1, %(count)s) AS n
        RETURNING id)
    INSERT INTO work (entry_id, stage, tenant)
    SELECT id, %(stage)s, 'default' FROM made"""
_CLAIMS: LiteralString = "SELECT count(*) FROM claim_log"
_CLAIMED: LiteralString = "SELECT count(DISTINCT entry_id) FROM claim_log"
_AT_WORK: LiteralString = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND state <> 'idle'
       AND application_name LIKE 'logchord worker%'"""
# What every effect is written with: written again, a row has another `xmin`.
_EFFECTS: LiteralString = """
    SELECT (SELECT md5(string_agg(xmin::text, ',' ORDER BY entry_id)) FROM entry_text)
        || (SELECT md5(string_agg(xmin::text, ',' ORDER BY entry_id, chunk))
              FROM {vectors})"""


class _Doubling(BackgroundThread):
    """Delivers what comes into a queue twice more, while it is worked on."""

    def __init__(self, queues: Queues, name: str) -> None:
        self.seen: list[bytes | str] = []
        self._queues, self._name = queues, name
        super().__init__()

    def _run(self) -> None:
        known: set[str] = set()
        while not self._ended.wait(0.005):
            for message in self._queues.raw(self._name):
                told = task_id(message)
                if told not in known:
                    known.add(told)
                    self.seen.append(message)
                    self._queues.put(self._name, [message] * (COPIES - 1))


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F16", "P2")
@pytest.mark.timeout(300)
def test_a_message_that_comes_three_times_has_its_effect_once(make_system, opensearch):
    system = make_system(opensearch=opensearch.url, **QUICK_VECTORS, **EVERY_STAGE)
    system.bring_up("api", "upkeep")
    ledger, queues = Ledger(system, "F16"), Queues(system)
    shuffle = random.Random(SEED).shuffle
    with system.client() as client:
        for number in range(N):
            ledger.post_until_accepted(client, number)
    until(lambda: queues.length(*WORK) >= 2 * N, within_seconds=10)
    seen: dict[str, list[bytes | str]] = {}
    for name in WORK:
        seen[name] = messages = queues.raw(name)
        copies = messages * COPIES
        shuffle(copies)
        queues.redis.delete(name)
        queues.put(name, copies)

    with _Doubling(queues, "index") as doubling:
        system.start("enhance", "embed")
        line = ledger.close(within_seconds=120)
    until(lambda: queues.length(*WORK) == 0, within_seconds=240, what="empty queues")
    until(lambda: _read(system, _AT_WORK) == 0, within_seconds=20)
    claims, effects = _read(system, _CLAIMS), _read(system, _EFFECTS)
    # Everything once more, now that it is done.
    for name in WORK:
        queues.put(name, seen[name] or doubling.seen)
    until(lambda: queues.length(*WORK) == 0, within_seconds=240, what="empty queues")
    until(lambda: _read(system, _AT_WORK) == 0, within_seconds=20)
    first = sum(map(len, seen.values()))
    print(f"F16 messages={first * (COPIES + 1) + len(doubling.seen) * (COPIES + 1)}")

    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10
    assert doubling.seen, "no nudge for the index came twice"
    assert _read(system, _CLAIMS) == claims
    assert _read(system, _EFFECTS) == effects


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F16", "P2")
@pytest.mark.timeout(400)
def test_a_backlog_leaves_two_nudges_a_process_and_each_row_is_claimed_once(
    make_system,
):
    system = make_system(**QUICK_VECTORS)
    system.bring_up("upkeep")
    ledger, queues = Ledger(system, "F16-backlog"), Queues(system)
    with psycopg.connect(system.database) as conn:
        conn.execute(_BACKLOG, {"count": BACKLOG, "stage": stage_names.INDEX_STAGE})

    while_stopped: list[int] = []
    ends = time.monotonic() + STOPPED_SECONDS

    def waited() -> bool:
        while_stopped.append(queues.length(stage_names.INDEX_STAGE))
        return time.monotonic() > ends

    until(waited, within_seconds=STOPPED_SECONDS + 10)
    left = queues.raw(stage_names.INDEX_STAGE)
    for name in INDEX_PROCESSES:
        system.start(name, command="enhance")
    while_drained: list[int] = []

    def drained() -> bool:
        while_drained.append(queues.length(stage_names.INDEX_STAGE))
        return ledger.due() == 0

    began = time.monotonic()
    until(drained, within_seconds=240, what="a drained backlog")
    seconds = time.monotonic() - began
    line = ledger.count()
    most = max(while_stopped), max(while_drained)
    print(f"F16 backlog={BACKLOG} drained_s={seconds:.0f} most_messages={most}")

    assert most[0] == nudges.NUDGES_PER_PROCESS
    assert most[1] <= nudges.NUDGES_PER_PROCESS * len(INDEX_PROCESSES)
    assert [entry_ids(message) for message in left] == [[]] * len(left)
    assert _read(system, _CLAIMED) == BACKLOG
    assert line.extra_runs == 0


def _read(system: System, statement: LiteralString) -> object:
    with psycopg.connect(system.database) as conn:
        table = conn.execute("SELECT table_name FROM embedding_model").fetchone()
        name = str(table[0]) if table else ""
        row = conn.execute(statement.replace("{vectors}", name)).fetchone()
    assert row is not None
    return row[0]
