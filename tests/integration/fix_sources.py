"""Sources over stubs, run by the real runtime in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest

from shared.adapter_contract.contract import SourceIO
from shared.errors import LogchordError
from shared.postgres.pool import Pool, connection, make_pool
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records
from shared.sources.adapter_io import make_io
from shared.sources.admin import admin_actions
from shared.sources.intake.store_page import Stages
from shared.sources.run_records import IngestionRun
from shared.sources.runs import run_steps, sync_config
from shared.sources.runs.run_steps import Means, Wanted
from workers.adapters.kit.stub import Stub

STAGES = Stages(("metadata", "embed:test"), ("embed:test", "index"))
TENANT = "default"
S = TypeVar("S", bound=Stub)


@dataclass
class Runtime:
    """What a worker of the queue `ingest` has, without a worker."""

    pool: Pool
    settings: Settings
    nudged: list[tuple[str, int]] = field(default_factory=list)
    endings: ExitStack = field(default_factory=ExitStack)

    def stub(self, make: Callable[[], S]) -> S:
        """Start a stub that is closed after the test."""
        return self.endings.enter_context(closing(make()))

    def configure(self, name: str, stub: Stub, **changes: Any) -> None:
        """Configure a source over a stub, as the file would."""
        source = SourceSettings.model_validate(
            {"poll_interval_seconds": 3600, "rate_per_second": 1000, "max_retries": 0}
            | dict(stub.settings())
            | changes
        )
        sources = {**self.settings.sources, name: source}
        self.settings = self.settings.model_copy(update={"sources": sources})
        with connection(self.pool) as conn:
            arranged = sync_config.arrange(conn, self.settings)
        assert not arranged.invalid, arranged.invalid

    def run(
        self, name: str, kind: str = run_records.TAIL, **asked: Any
    ) -> IngestionRun:
        """Run one kind to its end, in as many turns as it takes."""
        return self.finish(self.ask(name, kind, **asked))

    def finish(self, run_id: UUID) -> IngestionRun:
        """Go on with a run to its end, in as many turns as it takes."""
        while True:
            run = self.found(run_id)
            if run.ended_at is not None:
                return run
            self.turn(run.source, run.kind)

    def ask(self, name: str, kind: str = run_records.TAIL, **asked: Any) -> UUID:
        """Ask for a run as an admin does."""
        with connection(self.pool) as conn:
            return admin_actions.trigger(
                conn, TENANT, name, kind, run_records.Asked(**asked)
            )

    def found(self, run_id: UUID) -> IngestionRun:
        """Return a run as it stands."""
        with connection(self.pool) as conn:
            run = run_records.one(conn, TENANT, run_id)
        assert run is not None
        return run

    def let_go(self, name: str, kind: str) -> None:
        """Let the lease of whoever died run out now."""
        with connection(self.pool) as conn:
            conn.execute(
                "UPDATE source_schedule SET leased_until = clock_timestamp()"
                " WHERE source = %s AND kind = %s",
                [name, kind],
            )

    def turn(self, name: str, kind: str, seconds: float = 15.0) -> LogchordError | None:
        """Take the run if it is due, and do its steps for a while."""
        means = Means(self.settings, self.pool, STAGES, self._nudge, open_io)
        taken = run_steps.take(means, name, kind)
        assert taken is not None, f"{kind} of {name} is not due"
        error = None
        try:
            taken.take_steps(time.monotonic() + seconds)
        except LogchordError as exc:
            error = exc
        taken.settle(error)
        return error

    def texts(self, name: str) -> dict[str, str]:
        """Return title and text of what is stored and not deleted, by id."""
        with connection(self.pool) as conn:
            found = conn.execute(
                "SELECT e.external_id, r.title || '|' || r.text FROM entry e"
                " JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"
                " WHERE e.source = %s AND e.deleted_at IS NULL",
                [name],
            )
            return dict(found.fetchall())

    def _nudge(self, stage: str, ids: Any) -> None:
        self.nudged.append((stage, len(ids)))


def open_io(wanted: Wanted) -> AbstractContextManager[SourceIO]:
    """Open a source as a worker does, without its pace."""
    return make_io(
        wanted.source, wanted.settings, memory=wanted.memory, ends=wanted.ends
    )


@pytest.fixture
def runtime(database: str, tmp_path: Path) -> Iterator[Runtime]:
    """The runtime over a database of this test."""
    settings = Settings(home=tmp_path, sources={})
    with closing(make_pool(database, application="sources", size=4)) as pool:
        made = Runtime(pool, settings)
        with made.endings:
            yield made
