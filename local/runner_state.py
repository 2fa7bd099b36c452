"""What the runner writes down: for `status`, and for whoever must clean up after it."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import psutil

from local.place import read_notes

WINDOW_SECONDS, FAILING_DEATHS = 60.0, 5
# Which of the numbers behind a process's name says when it began.
_BIRTH = 19


class ChildState(TypedDict):
    """One process of the Procfile: its present life, and its last deaths."""

    pid: int | None
    since: float | None
    # In ticks since the machine began: no clock that is set moves it.
    birth: int | None
    restarts: int
    deaths: list[float]


def write(path: Path, rows: dict[str, ChildState]) -> None:
    """Replace the state at once: a reader sees the old one or the new one."""
    fresh = path.with_suffix(".new")
    state = {"pid": os.getpid(), "children": rows}
    fresh.write_text(json.dumps(state, indent=1), encoding="utf-8")
    fresh.replace(path)


def read_children(path: Path) -> dict[str, ChildState]:
    """Return the children by name; none where no runner has written."""
    rows: dict[str, ChildState] = read_notes(path).get("children", {})
    return rows


def birth_of(pid: int) -> int | None:
    """Return when a process began, in ticks since its machine did; None: it is gone."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(told.rpartition(")")[2].split()[_BIRTH])


def is_failing(row: ChildState) -> bool:
    """Tell whether a child died five times within the last minute."""
    since = time.time() - WINDOW_SECONDS
    return sum(death > since for death in row["deaths"]) >= FAILING_DEATHS


def is_alive(row: ChildState) -> bool:
    """Tell whether the process is there, and is the one that was started."""
    pid, birth = row["pid"], row.get("birth")
    if pid is None or birth is None or birth_of(pid) != birth:
        return False
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def reclaim(path: Path, announce: Callable[[str], None]) -> None:
    """Kill the children that a killed runner left behind, each with its group."""
    for name, row in read_children(path).items():
        if is_alive(row) and row["pid"]:
            announce(f"Ended {name} (process {row['pid']}), left by a killed stack.")
            kill_group(row["pid"])
    path.unlink(missing_ok=True)


def kill_group(pid: int) -> None:
    """Kill a process with everything in its group; gone already is fine."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
