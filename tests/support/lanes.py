"""Files of tests run side by side in three lanes; some need the machine for themselves.

A lane is a process of pytest-xdist with servers of its own. Each test holds a lock
while it runs: with all others, or by itself, as what is marked `alone` does, and every
fault experiment that is not marked `patient`.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FAULTS = Path(__file__).parents[1] / "faults"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Wait for this test's turn; the waiting is no part of its time."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return (yield)
    with _turn(run, fcntl.LOCK_EX if _alone(item) else fcntl.LOCK_SH):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Remove the locks with the lane that used them."""
    for name in ("gate", "room"):
        _path(node.workerinput["testrunuid"], name).unlink(missing_ok=True)


def _alone(item: pytest.Item) -> bool:
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
