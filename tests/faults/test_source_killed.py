"""ELOGs of many messages that change while those who read them are killed."""

import functools
import json
import os
import random
import signal
import statistics
import threading
import time
from contextlib import closing
from typing import Any

import psutil
import pytest

from tests.support.faults.busy_elog import BusyElog, busy_folder, busy_server
from tests.support.faults.measures.size import SEED
from tests.support.faults.measures.source_log import SourceLog
from tests.support.fixtures.fault_ledger import Line, record
from tests.support.fixtures.system import System
from tests.support.waiting import until

# Each change of a folder has all of its files looked at by the stub.
MESSAGES, MESSAGES_IN_FILES = 20_000, 2_000
EDITS, DELETIONS, ADDITIONS, KILLS = 500, 200, 150, 50
# How much is read until the next death: by a server's requests, or by files' readings.
MOST_READS = {True: 30, False: 3}
# Of the deaths, those of a whole worker; and beside so many, one of a chore.
SHARE_OF_ALL, KILLS_OF_A_CHORE = 0.3, 10
NAME = "ring"
READERS = ("ingest", "chores")
# As many messages as are fetched one by one, and pruned ones looked at, in a step.
MOST_IN_A_STEP = 20
# Every death costs the rest of a lease: shorter ones leave more of them room.
SHORT: dict[str, str] = {
    "LOGCHORD_WORK__LEASE_SECONDS": "3",
    "LOGCHORD_WORK__LEASE_RENEW_SECONDS": "1",
}
# A lease, a turn of the scheduler, and the start of a worker on a busy machine.
TAKEN_UP_SECONDS = 20.0


def source(elog: BusyElog) -> dict[str, Any]:
    return {
        **elog.settings(),
        "poll_interval_seconds": 1,
        "reconcile_every_seconds": 5,
        "prune_every_seconds": 1,
        "rate_per_second": 500,
    }


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("P1", "P2")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("make_elog", "messages"),
    [
        pytest.param(busy_server, MESSAGES, id="server"),
        pytest.param(busy_folder, MESSAGES_IN_FILES, id="files"),
    ],
)
def test_what_is_stored_is_what_the_elog_holds_after_fifty_kills(
    make_system, make_elog, messages
):
    with closing(make_elog(SEED, messages)) as elog:
        system = make_system(**SHORT, LOGCHORD_SOURCES=json.dumps({NAME: source(elog)}))
        log = SourceLog(system.database, NAME)
        began = time.monotonic()
        # Deletions are found by a chore.
        system.bring_up("api", "ingest", "chores", "upkeep")

        killed = kill_again_and_again(system, elog, log)
        seconds = time.monotonic()
        until(
            functools.partial(is_same, system, elog, log),
            within_seconds=120,
            what=lambda: f"source and store are one\n{system.tail('ingest')}",
        )
        seconds = time.monotonic() - seconds
        last = log.now()
        until(lambda: not log.still_open(last), within_seconds=60, what="runs end")
        line = ledger_line(elog, log, seconds)
        counted, runs = log.counted()
        written = log.written()
        steps, twice = log.steps()
        with system.client(system.key(scopes=("admin",))) as admin:
            shown = admin.get(f"/v1/sources/{NAME}").json()
        print(
            f"ELOG kills={killed} edited={elog.edited} deleted={elog.deleted}"
            f" added={elog.added} requests={elog.asked} runs={runs} steps={steps}"
            f" taken_over={log.taken_over()} seconds={time.monotonic() - began:.0f}"
        )
        waits = log.recoveries_s() or [0.0]
        print(
            f"ELOG recoveries={len(waits)} p50_s={statistics.median(waits):.1f}"
            f" max_s={waits[-1]:.1f} lost={line.lost}"
            f" difference={len(log.difference(elog.holds()))}"
        )

        assert (elog.edited, elog.added) == (EDITS, ADDITIONS)
        assert elog.deleted >= DELETIONS
        assert log.difference(elog.holds()) == {}
        assert log.out_of_turn(elog.said) == {}
        # Nothing was done twice that was done.
        assert twice == 0
        assert (counted.added, counted.updated) == (written.added, written.updated)
        assert counted.deleted >= written.deleted
        # Nor was much begun twice.
        assert line.extra_runs <= KILLS * MOST_IN_A_STEP
        assert line.recovery_s < TAKEN_UP_SECONDS
        assert log.errors() == []
        assert line.quarantined == 0
        assert (shown["paused"], shown["degraded"]) == (False, None)


def is_same(system: System, elog: BusyElog, log: SourceLog) -> bool:
    """Tell whether the store holds what the source does; keep up who sees to it."""
    for name in READERS:
        keep_up(system, name)
    return not log.difference(elog.holds())


def kill_again_and_again(
    system: System, elog: BusyElog, log: SourceLog
) -> dict[str, int]:
    """Change the logbook and kill a reader or all of them, at random moments."""
    chance = random.Random(SEED)
    killed = {"child": 0, "all": 0, "chores": 0}
    for turn in range(KILLS):
        for _ in range(EDITS // KILLS):
            elog.edit_one()
        for _ in range(DELETIONS // KILLS):
            elog.delete_one()
        for _ in range(ADDITIONS // KILLS):
            elog.add_one()
        # In the middle of whatever they do just then.
        seen, most = reads(elog, log), MOST_READS[elog.has_server]
        met = seen + chance.randint(1, most)
        until(
            functools.partial(is_read, system, elog, log, met),
            within_seconds=120,
            what=lambda: f"somebody reads\n{system.tail('ingest')}",
        )
        threading.Event().wait(chance.uniform(0, 0.5))
        if chance.random() < SHARE_OF_ALL:
            system.kill("ingest")
            log.note_kill_of_all()
            system.start("ingest")
            killed["all"] += 1
        else:
            kill_a_child(system, "ingest", chance)
            killed["child"] += 1
        if turn % KILLS_OF_A_CHORE == 0:
            kill_a_child(system, "chores", chance)
            killed["chores"] += 1
    return killed


def is_read(system: System, elog: BusyElog, log: SourceLog, met: int) -> bool:
    """Tell whether it was read so often; keep up who reads."""
    for name in READERS:
        keep_up(system, name)
    return reads(elog, log) >= met


def reads(elog: BusyElog, log: SourceLog) -> int:
    """Return how many requests there were; of files, how often one began to read."""
    return elog.asked if elog.has_server else log.begun()


def keep_up(system: System, name: str) -> None:
    """Start it again if it has ended, as whoever supervises it does.

    A worker ends by itself when one of its pool dies before all of it has begun.
    """
    if system.has_ended(name):
        system.start(name)


def kill_a_child(system: System, name: str, chance: random.Random) -> None:
    """Kill one process of a pool; a worker that only starts has none yet."""

    def children() -> list[psutil.Process]:
        keep_up(system, name)
        return psutil.Process(system.processes[name].pid).children()

    found = until(children, within_seconds=60, what="a pool")
    os.kill(chance.choice(found).pid, signal.SIGKILL)


def ledger_line(elog: BusyElog, log: SourceLog, slowest_s: float) -> Line:
    """Print and return the line: an extra run is a message fetched once more."""
    fetched = elog.handed_out
    line = Line(
        experiment="ELOG" if elog.has_server else "ELOG_FILES",
        seed=SEED,
        accepted=log.written().added,
        lost=len(log.difference(elog.holds())),
        duplicate_effects=len(log.out_of_turn(elog.said)) + log.steps()[1],
        extra_runs=fetched.total() - len(fetched),
        quarantined=log.put_aside(),
        recovery_s=round(max(log.recoveries_s(), default=0.0), 2),
        drift=None,
        slowest_s=round(slowest_s, 2),
        stage_runs=fetched.total(),
    )
    record(line)
    return line
