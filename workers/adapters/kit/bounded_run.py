"""Runs of a source in a process of their own, in the memory that a worker's child has.

`python -m workers.adapters.kit.bounded_run SOURCE KIND...`, with DATABASE_URL set.
"""

from __future__ import annotations

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

_RUN_SECONDS = 60.0


def main(source: str, kinds: Sequence[str]) -> None:
    """Carry the runs to their ends; what is no error of the source ends the process."""
    settings = Settings.load(os.environ)
    # Named, not imported: the workers stand above the adapters. A child inherits all
    # that its worker has loaded, and has the rest of its memory for a run.
    importlib.import_module("workers.app")
    memory_limits.bound(settings.worker_memory_mb)
    pool = make_pool(os.environ["DATABASE_URL"], application="kit", size=2)
    means = Means(settings, pool, Stages(("metadata", "index"), ()), _no_nudge, _io)
    for kind in kinds:
        while _goes_on(means, source, kind):
            pass
    pool.close()


def _goes_on(means: Means, source: str, kind: str) -> bool:
    run = run_steps.take_due_run(means, source, kind)
    if run is None:
        sys.exit(f"the {kind} run of {source} is not to be had")
    error: LogchordError | None = None
    try:
        run.take_steps(time.monotonic() + _RUN_SECONDS)
    except LogchordError as exc:
        error = exc
    run.settle(error)
    return run.goes_on


def _io(wanted: RunBudget) -> RealIO:
    return make_io(
        wanted.source, wanted.settings, memory=wanted.memory, ends=wanted.ends
    )


def _no_nudge(stage: str, entry_ids: Sequence[UUID]) -> None:
    """Tell nobody: what is due stays due."""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
