"""Files of tests run side by side in three lanes; some need the machine for themselves.

A lane is a process of pytest-xdist with servers of its own. Each test holds a lock
while it runs: with all others, or by itself, as what is marked `alone` does, and every
fault experiment that is not marked `patient`.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
FAULTS = TESTS / "faults"
# Few long files before many short ones: no lane works on one when the others are done.
# But those of browsers leave a loop running, beside which `asyncio.run` makes none.
LAYERS = ("unit", "contract", "acceptance", "integration", "web", "faults")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the layers one after the other, each in its random order.

    Unit tests block sockets, which would cut what a server's fixture has opened.
    Patient experiments are spread over what comes behind them: seldom more than one
    works at a time. Files with a test that goes alone are behind the unit tests, or
    last: nobody else may begin while it waits for the longest of the others.
    """

    def layer(item: pytest.Item) -> str:
        return item.path.relative_to(TESTS).parts[0]

    items.sort(key=lambda item: LAYERS.index(layer(item)))
    places: dict[Path, float] = {}
    behind = [item for item in items if layer(item) != "unit"]
    lonely = {item.path for item in behind if goes_alone(item)}
    ordered = dict.fromkeys(item.path for item in behind if item.path not in lonely)
    experiments = [path for path in ordered if FAULTS in path.parents]
    others = [path for path in ordered if FAULTS not in path.parents]
    apart = len(others) / (len(experiments) + 1)
    places |= {path: place for place, path in enumerate(others)}
    places |= {path: place * apart for place, path in enumerate(experiments)}
    places |= {path: len(others) for path in lonely if FAULTS in path.parents}
    items.sort(key=lambda item: places.get(item.path, -1))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Wait for this test's turn; the waiting is no part of its time."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return (yield)
    with _turn(run, fcntl.LOCK_EX if goes_alone(item) else fcntl.LOCK_SH):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Remove the locks with the lane that used them."""
    for name in ("gate", "room"):
        _path(node.workerinput["testrunuid"], name).unlink(missing_ok=True)


def goes_alone(item: pytest.Item) -> bool:
    """Tell whether no other test may run beside this one."""
    if item.get_closest_marker("alone") is not None:
        return True
    return FAULTS in item.path.parents and item.get_closest_marker("patient") is None


@contextmanager
def _turn(run: str, mode: int) -> Iterator[None]:
    with _path(run, "gate").open("w") as gate, _path(run, "room").open("w") as room:
        # Who waits for the room holds the gate: nobody overtakes.
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(room, mode)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


def _path(run: str, name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"logchord-lanes-{run}-{name}"
