"""One run of one source, from its lease to its end, in steps that survive any death."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import schedule
from shared.entries.adapter import SourceIO
from shared.errors import Category, IngestionError, LogchordError
from shared.log import get_logger
from shared.postgres import Pool, connection
from shared.settings import Settings
from shared.settings_sources import SourceSettings
from shared.sources import (
    arrangement,
    backfill,
    loading,
    memory,
    reconcile,
    reparse,
    runs,
    state,
    tail,
)
from shared.sources.admit import Rules
from shared.sources.intake import (
    Intake,
    LeaseLostError,
    Note,
    Nudge,
    Stages,
    Steps,
)
from shared.sources.memory import StoredMemory
from shared.sources.pace import OUR_OWN
from shared.sources.unchanged import Sieve

log = get_logger()

_STEPS: dict[str, Callable[[Intake], Steps]] = {
    runs.TAIL: tail.steps,
    runs.RECONCILE: reconcile.steps,
    runs.BACKFILL: backfill.steps,
    runs.REPARSE: reparse.steps,
}
# These end once; the others come again.
_ONCE = frozenset({runs.BACKFILL, runs.REPARSE})
_OURS_SECONDS = 5.0
_PACED_SECONDS = 1.0
# No request is waited for longer: a task is told to stop after 50 s.
_REQUESTS_SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which run asks, and until when, by the monotonic clock."""

    source: str
    settings: SourceSettings
    memory: StoredMemory
    kind: str
    ends: float


OpenIO = Callable[[Wanted], AbstractContextManager[SourceIO]]


@dataclass(frozen=True, slots=True)
class Means:
    """What a process brings to every run."""

    settings: Settings
    pool: Pool
    stages: Stages
    nudge: Nudge
    open_io: OpenIO
    is_ending: Callable[[], bool] = field(default=lambda: False)
    # Told of every page that was committed.
    note: Note = field(default=lambda _, __: None)


class Walk:
    """A run whose lease is ours."""

    def __init__(self, means: Means, lease: schedule.Run, tenant: str) -> None:
        self._means = means
        self.lease = lease
        self._tenant = tenant
        self._intake: Intake | None = None
        self._source: SourceSettings | None = None
        self.goes_on = False

    @property
    def claim(self) -> UUID:
        """What names the lease."""
        return self.lease.claim

    def take_steps(self, ends: float) -> None:
        """Do steps until the run ends, or until this moment (monotonic)."""
        with ExitStack() as ending:
            intake = self._intake = self._begin(ending)
            if intake is None:
                return
            for _ in ending.enter_context(closing(_STEPS[self.lease.kind](intake))):
                if intake.is_cut:
                    break
                if time.monotonic() >= ends or self._means.is_ending():
                    self.goes_on = True
                    break

    def settle(self, error: LogchordError | None) -> None:
        """End the run, or its part, as it went; the row says when the next is due."""
        if isinstance(error, LeaseLostError):
            log.info("run_lost", source=self.lease.source, kind=self.lease.kind)
            return
        with connection(self._means.pool) as conn:
            if error is None and self.goes_on:
                schedule.give_back(conn, self.lease)
            elif _waits(error):
                schedule.finish(conn, self.lease, wait_seconds=_PACED_SECONDS)
                return
            elif error is None:
                self._end(conn)
            elif _is_ours(error):
                schedule.finish(conn, self.lease, wait_seconds=_OURS_SECONDS)
            else:
                self._fail(conn, error)
        if error is not None:
            log.warning(
                "run_failed",
                source=self.lease.source,
                kind=self.lease.kind,
                code=error.error_code,
                technical=error.technical,
            )

    def _begin(self, ending: ExitStack) -> Intake | None:
        lease, means = self.lease, self._means
        with connection(means.pool) as conn:
            standing = state.read(conn, self._tenant, lease.source)
            if standing is None or standing.paused:
                return None
            run = runs.begin(conn, self._tenant, lease.source, lease.kind, lease.cursor)
            kept = memory.load(conn, lease.source)
            source = self._source = standing.settings
        if lease.failures:
            # What failed a while ago is not waited for again and again: others are due.
            source = source.model_copy(update={"max_retries": 0})
        remembered = StoredMemory(kept)
        most = time.monotonic() + _REQUESTS_SECONDS
        wanted = Wanted(lease.source, source, remembered, lease.kind, most)
        io = ending.enter_context(means.open_io(wanted))
        opened = loading.open_source(
            lease.source, source, io, max_entry_bytes=means.settings.max_entry_bytes
        )
        rules = Rules(means.settings, lease.source, source, opened.descriptor.version)
        return Intake(
            opened=opened,
            rules=rules,
            pool=means.pool,
            stages=means.stages,
            nudge=means.nudge,
            note=means.note,
            lease=lease,
            run=run,
            memory=remembered,
            sieve=Sieve(opened),
            cursor=lease.cursor,
            seen=run.seen,
        )

    def _end(self, conn: Connection[TupleRow]) -> None:
        intake, lease = self._intake, self.lease
        if intake is None:
            # Paused meanwhile: it stays due, and nobody looks until it is resumed.
            schedule.give_back(conn, lease)
            return
        runs.end(conn, intake.run, intake.cursor)
        state.succeeded(conn, self._tenant, lease.source)
        if lease.kind in _ONCE and not intake.is_cut:
            schedule.rest(conn, lease)
            return
        wait = lease.every_seconds
        if lease.kind == runs.TAIL and self._source is not None:
            wait = arrangement.wait_seconds(
                lease.source,
                self._source,
                self._means.settings.facility_timezone,
                datetime.now(UTC),
            )
        schedule.finish(conn, lease, wait_seconds=wait)

    def _fail(self, conn: Connection[TupleRow], error: LogchordError) -> None:
        lease, source = self.lease, self._source or SourceSettings()
        if self._intake is not None:
            runs.end(conn, self._intake.run, self._intake.cursor, error)
        else:
            run = runs.begin(conn, self._tenant, lease.source, lease.kind, lease.cursor)
            runs.end(conn, run, lease.cursor, error)
        failures, _ = state.failed(
            conn,
            self._tenant,
            lease.source,
            error,
            most=source.max_consecutive_failures,
        )
        wait = arrangement.wait_after_failure(
            source, failures, source.poll_interval_seconds
        )
        wait = max(wait, float(error.retry_after_seconds or 0))
        schedule.finish(conn, lease, error, wait_seconds=wait)


def take(means: Means, source: str, kind: str) -> Walk | None:
    """Take the run that is due, if it is and nobody has it; commit before any work."""
    lease_seconds = means.settings.work.lease_seconds
    with connection(means.pool) as conn:
        tenant = state.tenant_of(conn, source)
        if tenant is None:
            return None
        lease = schedule.take(conn, source, kind, lease_seconds=lease_seconds)
    return None if lease is None else Walk(means, lease, tenant)


def _waits(error: LogchordError | None) -> bool:
    """Tell whether nothing failed: it was not the run's turn, or it is to stop."""
    return isinstance(error, IngestionError) and error.reason in OUR_OWN


def _is_ours(error: LogchordError) -> bool:
    """Tell whether it is our own trouble, for which no source is paused."""
    return error.category in {Category.DATABASE, Category.TIMEOUT, Category.CAPACITY}
