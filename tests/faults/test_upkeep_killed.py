"""Upkeep is killed: with Redis emptied in the same second (F37), and while it tells."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
import psycopg
import pytest

from tests.support.faults.injected import emptying
from tests.support.faults.measures.size import QUICK_VECTORS
from tests.support.faults.searching import FAULT_INJECTION
from tests.support.faults.standing_by import TwoOfUpkeep
from tests.support.faults.upstreams import Upstreams
from tests.support.fixtures.system import ROOT, System
from tests.support.stub_servers.hook import Hook
from tests.support.waiting import until

TURNS = 3
# How soon what is due is nudged again: after the start, or the standby's taking over.
NUDGED_SECONDS = 5.0
RECOVERY_SECONDS = 15.0
WORKERS = ("api", "search", "enhance", "embed")
_RING = "about = 'source ring'"
_RUNNER = """
import os, sys
from pathlib import Path
from local import procfile, runner
place = Path(sys.argv[1])
upkeep = [one for one in procfile.parse_procfile() if one.name == "upkeep"]
runner.Runner(
    upkeep,
    logs=place / "runner-logs",
    state=place / "runner.json",
    echo=lambda name, line: print(name, line, flush=True),
).run(os.environ)
"""


@pytest.mark.smoke
@pytest.mark.requirement("F37", "P1", "P2", "P3", "P8")
@pytest.mark.timeout(300)
def test_upkeep_killed_and_redis_emptied_at_once_cost_only_time(make_system, reap):
    system = make_system(**QUICK_VECTORS, **FAULT_INJECTION)
    system.start(*WORKERS)
    runner = _start_runner(system, reap)

    def kill() -> Callable[[], float]:
        """Kill upkeep; the runner of the Procfile starts it again."""
        dead = _upkeep_of(runner)
        os.killpg(dead.pid, signal.SIGKILL)

        def since_its_start() -> float:
            return time.time() - _upkeep_of(runner, but=dead.pid).create_time()

        return since_its_start

    _experiment(system, "F37", kill)


@pytest.mark.slow
@pytest.mark.requirement("F37", "P1", "P2", "P3", "P8")
@pytest.mark.timeout(300)
def test_a_standby_takes_over_from_a_killed_upkeep_without_a_start(make_system):
    system = make_system(**QUICK_VECTORS, **FAULT_INJECTION)
    system.start(*WORKERS)
    upkeeps = TwoOfUpkeep(system)

    def kill() -> Callable[[], float]:
        """Kill the one at work; the other was there before."""
        killed = upkeeps.kill()

        def since_the_kill() -> float:
            return time.time() - killed

        return since_the_kill

    _experiment(system, "F37-standby", kill, upkeeps.refill)


def _experiment(
    system: System,
    name: str,
    kill: Callable[[], Callable[[], float]],
    after: Callable[[], None] = lambda: None,
) -> None:
    cost = emptying.empty(system, name, TURNS, lambda _: kill(), after)

    emptying.assert_only_time_is_lost(cost, recovery_s=RECOVERY_SECONDS)
    assert cost.nudged_again_s < NUDGED_SECONDS
    assert not [one for one in WORKERS if system.has_ended(one)]
    # None is missed: the next is due a second after the last.
    assert cost.runs.begun == cost.runs.ended
    assert cost.runs.longest_gap_s < RECOVERY_SECONDS


def _start_runner(system: System, reap) -> psutil.Process:
    """Start the runner of the Procfile, over upkeep alone."""
    log = (system.logs / "upkeep.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-c", _RUNNER, str(system.logs)],
        env={**system.environment, "PYTHONPATH": str(ROOT)},
        cwd=system.logs,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    log.close()
    # Stopped with the system; its child ends with it.
    system.processes["upkeep"] = process
    reap(process.pid)
    return psutil.Process(process.pid)


def _upkeep_of(runner: psutil.Process, *, but: int = 0) -> psutil.Process:
    def running() -> psutil.Process | None:
        with suppress(psutil.Error):
            for child in runner.children():
                if child.pid != but and child.status() != psutil.STATUS_ZOMBIE:
                    return child
        return None

    return until(running, within_seconds=10, what="an upkeep of the runner")


@pytest.mark.patient
@pytest.mark.requirement("U34")
@pytest.mark.timeout(120)
def test_a_stalled_source_makes_two_messages_in_all_whoever_of_upkeep_is_killed(
    make_system, tmp_path
):
    often = {"poll_interval_seconds": 1, "max_interval_seconds": 1}
    with Upstreams(tmp_path, often) as upstreams, Hook().serving() as hook:
        logbook = upstreams.open("ring")
        upstreams.configure()
        told = {
            "LOGCHORD_OPERATIONS__WEBHOOK_URL": hook.url,
            "LOGCHORD_WEBHOOK_ALLOWED_HOSTS": f"127.0.0.1:{hook.port}",
        }
        system = make_system(**upstreams.environment, **told)
        logbook.spoil("garbage", tmp_path)
        system.start("ingest", "upkeep")
        with psycopg.connect(system.database, autocommit=True) as conn:

            def wait_for(query: str) -> None:
                until(
                    lambda: conn.execute(query).fetchone(),
                    within_seconds=40,
                    what=lambda: system.tail("upkeep"),
                )

            def turn_anew(change: str) -> None:
                """Kill upkeep, let time pass, and start one that takes its turn."""
                system.kill("upkeep")
                conn.execute(f"UPDATE operations_problem SET {change} WHERE {_RING}")
                conn.execute("DELETE FROM upkeep_loop WHERE name = 'messages'")
                system.start("upkeep")
                wait_for("SELECT 1 FROM upkeep_loop WHERE name = 'messages'")

            wait_for(f"SELECT 1 FROM operations_problem WHERE {_RING}")
            turn_anew("since = since - '3 min'::interval")
            assert [one["state"] for one in hook.came] == ["began"]
            logbook.mend()
            gone = f"SELECT 1 FROM operations_problem WHERE {_RING} AND gone_at < now()"
            wait_for(gone)
            turn_anew("gone_at = gone_at - '6 min'::interval")

    assert [one["state"] for one in hook.came] == ["began", "ended"]
    assert {one["about"] for one in hook.came} == {"source ring"}
    assert len({one["problem_id"] for one in hook.came}) == 1
