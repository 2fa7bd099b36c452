"""An adapter over a stub, with a real store and the runtime between them."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from unittest import mock
from uuid import UUID

from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records, source_state
from shared.sources.admin import admin_actions
from shared.sources.intake.store_page import Stages
from shared.sources.run_records import IngestionRun, RunRequest
from shared.sources.runs import run_steps, sync_config
from shared.sources.runs.run_steps import Means, SourceRun
from shared.sources.source_state import SourceState
from workers.adapters.kit import bounded_run
from workers.adapters.kit.reading import KitReading
from workers.adapters.kit.stored import Stock
from workers.adapters.kit.stub import AddsMany, StubEntry
from workers.adapters.kit.subject import Subject

TENANT = "default"
SECRET_VARIABLE = "KIT_SECRET"  # noqa: S105 - a name
STAGES = Stages(("metadata", "index"), ("index",))
# The most parts of one run; none of the kit's runs has as many.
MAX_PARTS = 10
_BOUNDED_SECONDS = 120
# A worker names one at its start, and a run asks none.
_NO_BROKER = {"BROKER_URL": "redis://127.0.0.1:1"}


class Killed(BaseException):
    """The process dies here; nothing of what follows in it happens."""


class Keeping(KitReading):
    """One source that is configured, asked, and stored, all for real."""

    def __init__(self, subject: Subject, pool: Pool) -> None:
        super().__init__(subject)
        self.pool = pool
        self.name = _new_name(subject)
        # What this test changes in the source's settings.
        self.changes: dict[str, Any] = {}
        # Sources that are configured, too.
        self.beside: dict[str, SourceSettings] = {}
        # Called behind every commit of a run: what happens between its pages.
        self.on_step: Callable[[], None] | None = None
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        # Inside every window that looks back, outside of every overlap.
        self.recent = now - timedelta(days=2)

    @contextmanager
    def anew(self) -> Iterator[Keeping]:
        """Return another source of this kind, over a stub that knows nothing yet."""
        with keeping(self.subject, self.pool) as one:
            yield one

    @contextmanager
    def under_another_name(self) -> Iterator[Keeping]:
        """Return another source over the same stub, of which nothing is stored yet."""
        name, self.name = self.name, _new_name(self.subject)
        try:
            yield self
        finally:
            self.name = name

    def configured(self) -> SourceSettings:
        """Return the source's settings as this test has them now."""
        quick = {
            "reconcile_days": 60,
            "chunk_days": 3650,
            "history_start": "2015-01-01T00:00:00Z",
            "max_retries": 0,
        }
        return self.settings(**{**quick, **self.changes})

    def arrange(self) -> None:
        """Write the settings of the sources into their rows."""
        settings = Settings(sources={**self.beside, self.name: self.configured()})
        with connection(self.pool) as conn:
            arranged = sync_config.arrange(conn, settings)
        assert arranged.invalid == {}, arranged.invalid

    def run(
        self, kind: str = run_records.TAIL, asked: RunRequest | None = None
    ) -> IngestionRun:
        """Trigger a run, see it to its end, and return its row."""
        run_id = self.trigger(kind, asked)
        self.finish(kind)
        return self.row(run_id)

    def run_well(self, kind: str = run_records.TAIL) -> None:
        """See a run to its end, and hold that it ended without an error."""
        run = self.run(kind)
        assert run.error is None, run.error

    def finish(self, kind: str) -> None:
        """Carry a run on to its end."""
        for _ in range(MAX_PARTS):
            if not self.go_on(kind, seconds=bounded_run.RUN_SECONDS):
                return
        raise AssertionError(f"the {kind} run of {self.name} has no end")

    def run_bounded(
        self, *kinds: str, seconds: int = _BOUNDED_SECONDS
    ) -> list[IngestionRun]:
        """Carry runs to their ends in the memory of a worker's child as shipped."""
        ids = [self.trigger(kind) for kind in kinds]
        database = {"DATABASE_URL": str(self.pool.conninfo)}
        with tempfile.NamedTemporaryFile() as said:
            order = {
                "source": self.name,
                "kinds": kinds,
                "environment": {**os.environ, **_NO_BROKER, **database},
                "said": said.name,
                "most": seconds,
            }
            ended = _worker_answers(json.dumps(order))
            told = said.read().decode(errors="replace")
        assert ended == "0", f"in a worker's memory: {ended} {told[-2000:]}"
        return [self.row(run_id) for run_id in ids]

    def trigger(self, kind: str, asked: RunRequest | None = None) -> UUID:
        """Ask for a run, and return its id; nothing is carried out yet."""
        self.arrange()
        with connection(self.pool) as conn:
            return admin_actions.trigger(
                conn, TENANT, self.name, kind, asked or RunRequest()
            )

    def take(self, kind: str) -> SourceRun | None:
        """Take the lease of a run that is due."""
        return run_steps.take_due_run(self._means(), self.name, kind)

    def go_on(self, kind: str, *, seconds: float = 0.0) -> bool:
        """Carry a run on for a while, at least by a step; tell whether it is open."""
        ends = time.monotonic() + seconds if seconds else 0.0
        return bounded_run.go_on(self._means(), self.name, kind, ends)

    def load(self) -> None:
        """Load everything: the history, then the tail."""
        self.run_well(run_records.BACKFILL)
        self.run_well()

    def catch_up(self) -> None:
        """Bring in whatever the source's capabilities promise: new, edited, deleted."""
        for kind in (run_records.TAIL, run_records.RECONCILE):
            self.run_well(kind)

    def add(self, *entries: StubEntry) -> list[str]:
        """Add entries to the source, and return their ids."""
        if isinstance(self.stub, AddsMany):
            return list(self.stub.add_many(entries))
        return [self.stub.add(entry) for entry in entries]

    def some(self, count: int, **given: Any) -> list[StubEntry]:
        """Return entries of consecutive minutes, two days old."""
        made = []
        for place in range(count):
            number = self.number()
            given.setdefault("tags", ())
            when = self.recent + timedelta(minutes=place)
            made.append(
                StubEntry(
                    number,
                    **{
                        "time": when,
                        "title": f"Title {number}",
                        "text": f"Text of entry {number}",
                        **given,
                    },
                )
            )
        return made

    def fresh(self, **given: Any) -> StubEntry:
        """Return an entry of just now."""
        now = datetime.now(UTC).replace(microsecond=0)
        return self.some(1, **{"time": now, **given})[0]

    @contextmanager
    def stock(self) -> Iterator[Stock]:
        """Open a view of the stored entries."""
        with connection(self.pool) as conn:
            yield Stock(conn, TENANT, self.name)

    def live(self) -> set[str]:
        """Return the ids of entries that are stored and not deleted."""
        with self.stock() as stock:
            return stock.live()

    def row(self, run_id: UUID) -> IngestionRun:
        """Return the row of a run."""
        with connection(self.pool) as conn:
            run = run_records.find_run(conn, TENANT, run_id)
        assert run is not None
        return run

    def standing(self) -> SourceState:
        """Return how the source stands."""
        with connection(self.pool) as conn:
            found = source_state.load_source_state(conn, TENANT, self.name)
        assert found is not None
        return found

    def _means(self) -> Means:
        io, nudge = bounded_run.open_io, bounded_run.no_nudge
        return Means(Settings(), self.pool, STAGES, nudge, io, self._is_ending)

    def _is_ending(self) -> bool:
        if self.on_step is not None:
            self.on_step()
        return False


@contextmanager
def keeping(subject: Subject, pool: Pool) -> Iterator[Keeping]:
    """Return a source whose stub is closed behind it."""
    with mock.patch.dict(os.environ, {SECRET_VARIABLE: "kit-secret-never-shown"}):
        one = Keeping(subject, pool)
        try:
            yield one
        finally:
            one.close()


def _worker_answers(order: str) -> str:
    """Return how a child of the one process that has loaded a worker's code ended."""
    worker = _worker()
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{order}\n")
    worker.stdin.flush()
    return worker.stdout.readline().strip()


@cache
def _worker() -> subprocess.Popen[str]:
    # Its start is a second of processor, which each run would cost.
    worker = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", bounded_run.__name__],
        env={**os.environ, **_NO_BROKER},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    # Without orders it ends.
    atexit.register(worker.communicate)
    return worker


def _new_name(subject: Subject) -> str:
    return f"kit_{subject.adapter}_{secrets.token_hex(4)}"
