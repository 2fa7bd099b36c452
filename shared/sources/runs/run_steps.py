"""One run of one source, from its lease to its end, in steps that survive any death."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from psycopg import Connection

from shared.adapter_contract.contract import Memory, SourceIO
from shared.errors import Category, ConfigurationError, IngestionError, LogchordError
from shared.http.pace import OUR_OWN
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import adapter_memory, load_adapter, run_records, source_state
from shared.sources.adapter_memory import StoredMemory
from shared.sources.intake import metadata_sidecar
from shared.sources.intake.metadata_sidecar import Beside
from shared.sources.intake.normalise import PullRules
from shared.sources.intake.read_page import PageReader
from shared.sources.intake.skip_unchanged import Sieve
from shared.sources.intake.store_page import (
    Intake,
    LeaseLostError,
    Note,
    Nudge,
    Stages,
    Steps,
)
from shared.sources.load_adapter import Opened
from shared.sources.run_records import IngestionRun
from shared.sources.runs import sync_config
from shared.sources.runs.kinds import backfill, reconcile, reparse, snapshot, tail
from shared.work import schedule
from shared.work.leases import MAX_STRIKES

log = get_logger()

_STEPS: dict[str, Callable[[Intake], Steps]] = {
    run_records.TAIL: tail.steps,
    run_records.RECONCILE: reconcile.steps,
    run_records.BACKFILL: backfill.steps,
    run_records.REPARSE: reparse.steps,
}
# These end once; the others come again.
_ONCE = frozenset({run_records.BACKFILL, run_records.REPARSE})
_OURS_SECONDS = 5.0
_PACED_SECONDS = 1.0
# What is begun in time is waited for no longer than this after it: a task begins steps
# for 15 s and is told to stop after 50, which would pass for a fault of ours.
_REQUESTS_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The source and kind of a run, and when its turn ends, by the monotonic clock."""

    source: str
    settings: SourceSettings
    memory: Memory
    kind: str
    ends: float


OpenIO = Callable[[RunBudget], AbstractContextManager[SourceIO]]


@dataclass(frozen=True, slots=True)
class Means:
    """The settings, connections and limits that a process has for every run."""

    settings: Settings
    pool: Pool
    stages: Stages
    nudge: Nudge
    open_io: OpenIO
    is_ending: Callable[[], bool] = field(default=lambda: False)
    # Told of every page that was committed.
    note: Note = field(default=lambda _, __: None)
    # How long the files of one page may take, before the rest of it waits.
    files_seconds: float = metadata_sidecar.PAGE_SECONDS


class SourceRun:
    """A run whose lease is ours."""

    def __init__(self, means: Means, lease: schedule.Run, tenant: str) -> None:
        self._means = means
        self.lease = lease
        self._tenant = tenant
        self._intake: Intake | None = None
        self._source: SourceSettings | None = None
        self.goes_on = False

    def take_steps(self, ends: float) -> None:
        """Do steps until the run ends, or until this moment (monotonic)."""
        with ExitStack() as ending:
            intake = self._intake = self._begin(ending, ends)
            if intake is None:
                return
            try:
                self._follow(intake, _STEPS[self.lease.kind](intake), ends)
            except IngestionError as exc:
                if not self._stays_away(intake, exc):
                    raise
                self._read_snapshot(intake, ends)
                if not self.goes_on:
                    raise

    def _follow(self, intake: Intake, steps: Steps, ends: float) -> None:
        with closing(steps):
            for _ in steps:
                if intake.is_cut:
                    break
                if time.monotonic() >= ends or self._means.is_ending():
                    self.goes_on = True
                    break

    def _stays_away(self, intake: Intake, error: IngestionError) -> bool:
        """Tell whether the source has failed often enough for its files to be read."""
        return (
            intake.opened.settings.snapshot_path is not None
            and self.lease.failures + 1 >= snapshot.FAILURES
            and self.lease.kind in {run_records.TAIL, run_records.BACKFILL}
            and not (intake.run.is_dry or intake.run.limit)
            and not (isinstance(error, LeaseLostError) or _waits(error))
        )

    def _read_snapshot(self, intake: Intake, ends: float) -> None:
        """Read the files; the failure of the source stands all the same."""
        means, name = self._means, self.lease.source
        settings = snapshot.settings_of(intake.opened.settings)
        # What the failed page had put is not to be kept with theirs.
        intake.memory.discard_changes()
        wanted = RunBudget(
            name,
            settings,
            snapshot.Within(intake.memory),
            self.lease.kind,
            time.monotonic() + _REQUESTS_SECONDS,
        )
        most = means.settings.max_entry_bytes
        try:
            with means.open_io(wanted) as io:
                files = load_adapter.open_source(
                    name, settings, io, max_entry_bytes=most
                )
                self._follow(intake, snapshot.steps(intake, files), ends)
        except LeaseLostError:
            raise
        except (IngestionError, ConfigurationError) as exc:
            log.warning("snapshot_not_read", source=name, code=exc.error_code)

    def settle(self, error: LogchordError | None) -> None:
        """End the run or its part with its outcome, and schedule the next."""
        if error is not None and error.technical == "MemoryError":
            error = IngestionError(
                "What the source sends takes more memory than a worker has: ask for"
                " less at once (`page_size`, `args.chunk_days`), or raise"
                " `worker_memory_mb`.",
                reason="too_large",
                technical=error.technical,
            )
        if isinstance(error, LeaseLostError):
            log.info("run_lost", source=self.lease.source, kind=self.lease.kind)
            return
        with connection(self._means.pool) as conn:
            if not self._is_still_ours(conn):
                log.info("run_lost", source=self.lease.source, kind=self.lease.kind)
                return
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

    def _is_still_ours(self, conn: Connection) -> bool:
        """Tell whether nobody has cancelled the run or taken its lease over."""
        lease = self.lease
        # As a cancel does, the run's row before the schedule's.
        run_records.find_open(conn, self._tenant, lease.source, lease.kind)
        return schedule.renew(conn, lease)

    def _begin(self, ending: ExitStack, ends: float) -> Intake | None:
        lease, means = self.lease, self._means
        with connection(means.pool) as conn:
            standing = source_state.load_source_state(conn, self._tenant, lease.source)
            if standing is None or standing.paused:
                return None
            run = run_records.begin(
                conn, self._tenant, lease.source, lease.kind, lease.cursor
            )
            is_ours = schedule.renew(conn, lease)
            if run is None or not is_ours:
                # Cancelled meanwhile: what begins now would be another run.
                raise LeaseLostError
            source = self._source = standing.settings
        if lease.deaths >= MAX_STRIKES:
            raise IngestionError(
                f"Its worker ended {lease.deaths} times in a row while it read what the"
                " source sends, and kept nothing: an answer or a record may be too"
                " large, or nested too deeply. The worker's log says more.",
                reason="worker_lost",
            )
        cursor = lease.cursor
        if run.is_dry:
            # A history that is asked for begins anew; what is new, where all stands.
            begins = None if lease.kind in _ONCE else cursor
            cursor = run.cursor_after or begins
        if lease.failures or standing.failures:
            # What failed a while ago is not waited for again and again: others are due.
            source = source.model_copy(update={"max_retries": 0})
        remembered = StoredMemory(self._look)
        most = max(ends, time.monotonic()) + _REQUESTS_SECONDS
        wanted = RunBudget(lease.source, source, remembered, lease.kind, most)
        io = ending.enter_context(means.open_io(wanted))
        opened = load_adapter.open_source(
            lease.source,
            source,
            io,
            max_entry_bytes=means.settings.max_entry_bytes,
            is_dry=run.is_dry,
        )
        rules = PullRules(
            means.settings, lease.source, source, opened.descriptor.version
        )
        return Intake(
            opened=opened,
            reader=PageReader(
                opened,
                rules,
                means.pool,
                remembered,
                Sieve(opened, mends=lease.kind == run_records.BACKFILL),
                self._beside(wanted),
                is_dry=run.is_dry,
            ),
            pool=means.pool,
            stages=means.stages,
            nudge=means.nudge,
            note=means.note,
            lease=lease,
            run=run,
            cursor=cursor,
            seen=run.seen,
        )

    def _look(self, key: str) -> Mapping[str, Any]:
        with connection(self._means.pool) as conn:
            return adapter_memory.load(conn, self.lease.source, key)

    def _beside(self, wanted: RunBudget) -> Beside | None:
        """Return the reader of metadata sidecars; None where files are not fetched."""
        if wanted.settings.attachments != "fetch":
            return None
        hurried = wanted.settings.model_copy(update={"max_retries": 0})

        @contextmanager
        def reach(ends: float) -> Iterator[Opened]:
            most = self._means.settings.max_entry_bytes
            once = replace(
                wanted,
                settings=hurried,
                memory=StoredMemory(),
                ends=min(ends, wanted.ends),
            )
            with self._means.open_io(once) as io:
                yield load_adapter.open_source(
                    wanted.source, hurried, io, max_entry_bytes=most
                )

        asks = self.lease.kind != run_records.REPARSE
        return Beside(
            self._means.pool,
            self._tenant,
            wanted.source,
            reach if asks else None,
            self._means.files_seconds,
        )

    def _end(self, conn: Connection) -> None:
        intake, lease = self._intake, self.lease
        if intake is None:
            # Paused meanwhile: it stays due, and nobody looks until it is resumed.
            schedule.give_back(conn, lease)
            return
        run_records.end(conn, intake.run, intake.cursor)
        if lease.kind != run_records.REPARSE:
            # That one has asked nobody.
            source_state.succeeded(conn, self._tenant, lease.source)
        if intake.run.is_dry:
            self._leave_as_it_was(conn, intake.run)
            return
        if lease.kind in _ONCE and not intake.is_cut:
            schedule.rest(conn, lease)
            return
        wait = lease.every_seconds
        if lease.kind == run_records.TAIL and self._source is not None:
            wait = sync_config.wait_seconds(
                lease.source,
                self._source,
                self._means.settings.facility_timezone,
                datetime.now(UTC),
            )
        schedule.finish(conn, lease, wait_seconds=wait)

    def _fail(self, conn: Connection, error: LogchordError) -> None:
        lease, source = self.lease, self._source or SourceSettings()
        if self._intake is not None:
            run, cursor = self._intake.run, self._intake.cursor
        else:
            cursor = lease.cursor
            begun = run_records.begin(
                conn, self._tenant, lease.source, lease.kind, cursor
            )
            assert begun is not None, "the lease is ours, and nobody else can end it"
            run = begun
        run_records.end(conn, run, cursor, error)
        failures, _ = source_state.failed(
            conn,
            self._tenant,
            lease.source,
            error,
            most=source.max_consecutive_failures,
        )
        wait = sync_config.wait_after_failure(
            source, failures, source.poll_interval_seconds
        )
        wait = max(wait, float(error.retry_after_seconds or 0))
        if run.is_dry:
            self._leave_as_it_was(conn, run)
            return
        schedule.finish(conn, lease, error, wait_seconds=wait)

    def _leave_as_it_was(self, conn: Connection, run: IngestionRun) -> None:
        """After a dry run, make the kind due when it was due before."""
        if run.then is None:
            schedule.rest(conn, self.lease, keeps_error=True)
            return
        wait = (run.then - datetime.now(UTC)).total_seconds()
        schedule.finish(conn, self.lease, wait_seconds=max(0.0, wait))


def take_due_run(means: Means, source: str, kind: str) -> SourceRun | None:
    """Lease the run if it is due and free; committed before any work."""
    lease_seconds = means.settings.work.lease_seconds
    with connection(means.pool) as conn:
        tenant = source_state.tenant_of(conn, source)
        if tenant is None:
            return None
        lease = schedule.take_due_run(conn, source, kind, lease_seconds=lease_seconds)
    return None if lease is None else SourceRun(means, lease, tenant)


def _waits(error: LogchordError | None) -> bool:
    """Tell whether nothing failed: it was not the run's turn, or it is to stop."""
    return isinstance(error, IngestionError) and error.reason in OUR_OWN


def _is_ours(error: LogchordError) -> bool:
    """Tell whether the failure is on our side; no source is paused for it."""
    return error.category in {Category.DATABASE, Category.TIMEOUT, Category.CAPACITY}
