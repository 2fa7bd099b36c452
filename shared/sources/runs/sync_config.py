"""What the configuration says of sources becomes rows: their state and their runs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import LiteralString
from zoneinfo import ZoneInfo

import tenacity
from cronsim import CronSim, CronSimError
from psycopg import Connection
from psycopg.errors import DeadlockDetected

from shared.entries.saving import attachment_rows
from shared.errors import ConfigurationError, LogchordError
from shared.messaging.stage_names import ATTACHMENTS_STAGE
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, run_records, source_state
from shared.sources.intake import quarantined_items
from shared.sources.runs import identity_changes
from shared.sources.runs.kinds import snapshot
from shared.sources.source_state import SourceState
from shared.work import chore_records, due_work, schedule

_DAY_SECONDS = 86_400.0
# The chore that reads texts anew comes by itself so often.
_RENEWAL_SECONDS = 3600.0
_READERS = "readers"
# A page that a worker stores meanwhile may lock the same rows in another order.
_AGAIN = tenacity.Retrying(
    retry=tenacity.retry_if_exception_cause_type(DeadlockDetected),
    stop=tenacity.stop_after_attempt(3),
    reraise=True,
)
# What `find_expectations` takes from a source.
_OF_TEXTS = ("language", "locale", "metadata", "timezone")

_KNOWN: LiteralString = """
    SELECT source, tenant FROM source_state ORDER BY source LIMIT 10000"""
_REMOVE: LiteralString = """
    DELETE FROM source_state WHERE source = %(source)s AND tenant = %(tenant)s"""


@dataclass(slots=True)
class Arranged:
    """The sources that changed, and those whose settings could not be used."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    invalid: dict[str, LogchordError] = field(default_factory=dict)


def check(settings: Settings) -> dict[str, LogchordError]:
    """Return the error of each misconfigured source, by name."""
    wrong: dict[str, LogchordError] = {}
    for name, source in load_adapter.list_pulled_sources(settings).items():
        try:
            load_adapter.describe(
                name, source, max_entry_bytes=settings.max_entry_bytes
            )
            snapshot.check(name, source)
            if source.schedule is not None:
                _cron(name, source, settings.facility_timezone)
        except LogchordError as exc:
            wrong[name] = exc
    return wrong


def arrange(
    conn: Connection, settings: Settings, *, confirm_identity: bool = False
) -> Arranged:
    """Bring the rows of sources to the configuration; those with errors keep theirs.

    So do those by which every record would come a second time, unless that is meant.
    Doing it again changes nothing. The entries of a source that is removed stay.
    """
    result = Arranged(invalid=check(settings))
    known = {str(row[0]): str(row[1]) for row in conn.execute(_KNOWN)}
    wanted = load_adapter.list_pulled_sources(settings)
    for name, source in wanted.items():
        if name in result.invalid:
            continue
        doubled = (
            None if confirm_identity else identity_changes.refusal(conn, name, source)
        )
        if doubled is not None:
            result.invalid[name] = doubled
            continue
        before = source_state.load_source_state(conn, source.tenant, name)
        if _arrange_one(conn, name, source, before):
            (result.changed if name in known else result.added).append(name)
        if source.attachments == "fetch":
            allowed = before.settings.allowed_origins if before else ()
            more = not set(source.allowed_origins).issubset(allowed)
            _ask_for_files(conn, name, source, settings, refused=more)
    for name, tenant in known.items():
        if name not in wanted:
            conn.execute(_REMOVE, {"source": name, "tenant": tenant})
            schedule.keep_only(conn, name, [])
            result.removed.append(name)
    return result


def reload(
    pool: Pool, settings: Settings, *, confirm_identity: bool = False
) -> Arranged:
    """Arrange the sources in one transaction, again where a deadlock has ended it."""

    def commit() -> Arranged:
        with connection(pool) as conn:
            return arrange(conn, settings, confirm_identity=confirm_identity)

    return _AGAIN(commit)


def _ask_for_files(
    conn: Connection,
    name: str,
    source: SourceSettings,
    settings: Settings,
    *,
    refused: bool,
) -> None:
    """Make due the files that were only linked, once their source is to fetch files.

    With `refused` also those at an origin that may be asked only now.
    """
    entries = attachment_rows.ask_for_linked(
        conn,
        source.tenant,
        name,
        most=settings.max_attachments_per_entry,
        most_bytes=min(settings.max_attachment_bytes, source.max_attachment_bytes),
        refused=refused,
    )
    stages = [ATTACHMENTS_STAGE]
    due_work.add(conn, source.tenant, entries, stages, work_class=due_work.BULK)


def wait_seconds(
    name: str, source: SourceSettings, facility_timezone: str, now: datetime
) -> float:
    """Return the seconds until the next poll."""
    if source.schedule is None:
        return source.poll_interval_seconds
    coming = next(_cron(name, source, facility_timezone, now))
    return max(0.0, (coming - now).total_seconds())


def wait_after_failure(
    source: SourceSettings, failures: int, every_seconds: float
) -> float:
    """Return how long a source is left alone after so many failures in a row."""
    cap = source.max_interval_seconds or 8 * every_seconds
    factor = source.backoff_multiplier ** min(max(0, failures - 1), 32)
    return float(min(max(cap, every_seconds), every_seconds * factor))


def _arrange_one(
    conn: Connection, name: str, source: SourceSettings, before: SourceState | None
) -> bool:
    descriptor = load_adapter.find_adapter_class(source.adapter).descriptor
    changed = source_state.arrange(
        conn,
        source.tenant,
        name,
        adapter=source.adapter,
        config_hash=load_adapter.config_hash(source),
        config=source.model_dump(mode="json", exclude_defaults=True),
        version=descriptor.version,
    )
    if before is not None and _is_told_otherwise(before.settings, source):
        schedule.bring_forward(
            conn,
            schedule.INSTALLATION,
            chore_records.RENEW_TEXTS,
            every_seconds=_RENEWAL_SECONDS,
        )
    capabilities = descriptor.capabilities
    poll = source.poll_interval_seconds
    waits = source.require_initial_ingest and not capabilities.windows
    if waits:
        # One walk brings everything; the tail goes on from where it ends.
        schedule.arrange_resting(conn, name, run_records.TAIL, poll)
    else:
        schedule.arrange(conn, name, run_records.TAIL, poll, at_once=True)
    if source.require_initial_ingest:
        # The period is constant, so that arranging again restarts no ended walk.
        schedule.arrange(conn, name, run_records.BACKFILL, _DAY_SECONDS, at_once=True)
    else:
        schedule.arrange_resting(conn, name, run_records.BACKFILL, _DAY_SECONDS)
    if {capabilities.edits, capabilities.deletes} & {"index", "rescan"}:
        every = source.reconcile_every_seconds
        schedule.arrange(conn, name, run_records.RECONCILE, every)
    else:
        schedule.arrange_resting(conn, name, run_records.RECONCILE, _DAY_SECONDS)
    schedule.arrange_resting(conn, name, run_records.REPARSE, _DAY_SECONDS)
    parsed_by = before.parsed_by if before is not None else None
    is_newer = parsed_by is not None and parsed_by < descriptor.version
    if changed or is_newer:
        quarantined_items.ask_again(conn, source.tenant, name)
    if changed and before is not None and before.failures:
        # Somebody has mended it and looks: the wait was for the settings of before.
        schedule.try_now(conn, name, run_records.TAIL)
    if before is not None and (
        is_newer
        # Whoever lost a right would go on reading what they may not.
        or before.settings.args.get(_READERS) != source.args.get(_READERS)
    ):
        schedule.bring_forward(
            conn, name, run_records.REPARSE, every_seconds=_DAY_SECONDS
        )
    return changed


def _is_told_otherwise(before: SourceSettings, now: SourceSettings) -> bool:
    """Tell whether stored texts are read anew by what their source says of them."""
    return any(getattr(before, name) != getattr(now, name) for name in _OF_TEXTS)


def _cron(
    name: str,
    source: SourceSettings,
    facility_timezone: str,
    now: datetime | None = None,
) -> CronSim:
    zone = ZoneInfo(source.timezone or facility_timezone)
    try:
        return CronSim(
            source.schedule or "", (now or datetime.now(UTC)).astimezone(zone)
        )
    except CronSimError as exc:
        dotted = f"sources.{name}.schedule"
        message = f"{dotted}: {source.schedule!r} is no cron line: {exc}."
        raise ConfigurationError(message, config_key=dotted) from exc
