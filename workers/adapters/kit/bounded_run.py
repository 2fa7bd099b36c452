"""Runs of a source in a process of their own, in the memory that a worker's child has.

`python -m workers.adapters.kit.bounded_run SOURCE KIND...`, with DATABASE_URL set.
"""

import importlib
import os
import sys
import time
from collections.abc import Sequence
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


def main(source: str, kinds: Sequence[str]) -> None:
    """Carry the runs to their ends; what is no error of the source ends the process."""
    settings = Settings.load(os.environ)
    # Named, not imported: the workers stand above the adapters. A child inherits all
    # that its worker has loaded, and has the rest of its memory for a run.
    importlib.import_module("workers.app")
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
    main(sys.argv[1], sys.argv[2:])
