"""F34: Flower is for looking; killed, flooded or started again, it changes nothing."""

import dataclasses

import httpx2
import pytest

from local import secrets
from shared.settings.settings import Settings
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS, N
from tests.support.fixtures.fault_ledger import Line
from tests.support.fixtures.system import TRUSTED, System
from tests.support.waiting import until

MAX_TASKS = 10
# What is only a matter of how busy the machine was.
TIMES = ("recovery_s", "slowest_s")


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("F34", "P1", "P4")
@pytest.mark.timeout(400)
def test_the_ledger_is_the_same_with_flower_killed_flooded_and_without(make_system):
    without = flow(start(make_system), "F34-without", watched=False)
    beside = flow(start(make_system), "F34", watched=True)

    assert told(beside) == told(without)
    assert beside.lost == 0


def start(make_system) -> System:
    system = make_system(**QUICK_VECTORS)
    system.bring_up("api", "upkeep", "enhance", "embed")
    return system


def flow(system: System, experiment: str, *, watched: bool) -> Line:
    """Let entries flow while Flower comes, dies, and comes back with little room."""
    ledger = Ledger(system, experiment)
    with system.client() as client:
        post(ledger, client, range(N // 3))
        if watched:
            system.start("flower")
            until(lambda: tasks(system) is not None, within_seconds=60)
        post(ledger, client, range(N // 3, 2 * N // 3))
        if watched:
            until(lambda: tasks(system), within_seconds=30)
            system.kill("flower")
            system.start("flower", FLOWER_MAX_TASKS=str(MAX_TASKS))
            until(lambda: tasks(system) is not None, within_seconds=60)
        # It hears of more than it may keep.
        post(ledger, client, range(2 * N // 3, N))
        if watched:
            until(lambda: tasks(system), within_seconds=30)
    line = ledger.close(within_seconds=90)
    if watched:
        assert len(tasks(system) or {}) <= MAX_TASKS
        assert not any(map(system.has_ended, system.processes))
    assert ledger.refused == []
    system.kill_all()
    return line


def post(ledger: Ledger, client: httpx2.Client, numbers: range) -> None:
    for number in numbers:
        ledger.post(client, number)


def told(line: Line) -> dict[str, object]:
    """What both lines must have in common."""
    values = dataclasses.asdict(line)
    return {
        name: value
        for name, value in values.items()
        if name not in {*TIMES, "experiment"}
    }


def tasks(system: System) -> dict[str, dict] | None:
    """What Flower tells of tasks, or None while it does not answer."""
    home = Settings.load(system.environment).home
    user, _, password = secrets.of_home(home).flower_login.partition(":")
    url = f"http://127.0.0.1:{system.environment['FLOWER_PORT']}/api/tasks"
    try:
        answer = httpx2.get(url, auth=(user, password), timeout=10, verify=TRUSTED)
    except httpx2.TransportError:
        return None
    return answer.json() if answer.status_code == 200 else None
