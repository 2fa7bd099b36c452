"""Runs of a source in a process of their own, in the memory that a worker's child has.

`python -m workers.adapters.kit.bounded_run` forks a child for each line of JSON that
orders runs, and answers it with the exit status of that child.
"""

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from shared.errors import LogchordError
from shared.postgres.pool import make_pool
from shared.settings.settings import Settings
from shared.sources.adapter_io import RealIO, make_io
from shared.sources.intake.store_page import Stages
from shared.sources.runs import run_steps
from shared.sources.runs.run_steps import Means, RunBudget
from workers.runtime import memory_limits

RUN_SECONDS = 60.0


def main() -> None:
    """Have a child carry out each order, as a worker that has loaded everything."""
    # Named, not imported: the workers stand above the adapters. A child inherits all
    # that its worker has loaded, and has the rest of its memory for a run.
    importlib.import_module("workers.app")
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _carry_out(**json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _carry_out(
    source: str, kinds: Sequence[str], environment: dict[str, Any], said: str, most: int
) -> None:
    """Carry the runs to their ends; what is no error of the source ends the process."""
    signal.alarm(most)
    with Path(said).open("wb") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(environment)
    settings = Settings.load(os.environ)
    memory_limits.bound(settings.worker_memory_mb)
    pool = make_pool(os.environ["DATABASE_URL"], application="kit", size=2)
    means = Means(settings, pool, Stages(("metadata", "index"), ()), no_nudge, open_io)
    for kind in kinds:
        while go_on(means, source, kind, time.monotonic() + RUN_SECONDS):
            pass
    pool.close()


def go_on(means: Means, source: str, kind: str, ends: float) -> bool:
    """Carry a run on for a while, at least by a step; tell whether it is open."""
    run = run_steps.take_due_run(means, source, kind)
    assert run is not None, f"the {kind} run of {source} is not to be had"
    error: LogchordError | None = None
    try:
        run.take_steps(ends)
    except LogchordError as exc:
        error = exc
    run.settle(error)
    return run.goes_on


def open_io(wanted: RunBudget) -> RealIO:
    """Open what a run may reach of its source."""
    return make_io(
        wanted.source, wanted.settings, memory=wanted.memory, ends=wanted.ends
    )


def no_nudge(stage: str, entry_ids: Sequence[UUID]) -> None:
    """Tell nobody: that a message may be lost is part of the promise."""


if __name__ == "__main__":
    main()
