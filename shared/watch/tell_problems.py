"""Operators told of problems: those there are now, and the messages that are due."""

import time
from collections.abc import Iterator
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from psycopg import Connection

from shared.access.scope import Scope
from shared.embedding.vectors import live_models
from shared.errors import LogchordError, SourceUnreachableError
from shared.log import get_logger
from shared.postgres.count_cache import Sparing
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.sources.admin import source_overview
from shared.stages import entry_stages
from shared.times.rfc3339 import on_clock, timestamp
from shared.watch import channels, problem_rows
from shared.watch.channels import Message
from shared.watch.problem_rows import ProblemRow
from shared.work import diagnosis, disk_room, lag, work_overview
from shared.work.diagnosis import Problem
from shared.work.lag import Lag
from shared.work.upkeep_loops import MESSAGES_LOOP

log = get_logger()

# No longer in one turn: what is wrong by then is to be seen, too.
_SECONDS = 10.0


def tell_problems(
    conn: Connection, settings: Settings, counts: Sparing[Lag]
) -> LogchordError | None:
    """Note what is wrong and send what is due; return why nothing arrives."""
    # Whoever is told has to get it by what does not arrive.
    mute = f"loop {MESSAGES_LOOP}"
    found = find_problems(conn, settings, counts)
    problem_rows.note_problems(conn, [one for one in found if one.about != mute])
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends:
        row = problem_rows.claim(conn)
        if row is None:
            break
        error = _send(settings, row)
        if error is None:
            problem_rows.note_told(conn, row)
            log.info("problem_told", about=row.about, is_over=row.is_told)
        else:
            problem_rows.note_failed(conn, row, error)
            log.warning("problem_not_told", about=row.about, error=error)
    error = problem_rows.find_error(conn)
    return None if error is None else SourceUnreachableError(technical=error)


def find_problems(
    conn: Connection, settings: Settings, counts: Sparing[Lag]
) -> list[Problem]:
    """Return the problems of work, sources, disks and backups."""
    known = live_models.list_stages(conn, settings)
    seen = work_overview.load_overview(
        conn,
        known,
        counted=counts.get(lag.ANY_TENANT, lambda: lag.measure_lag(conn, known)),
        that_run=entry_stages.list_runnable_stages(settings),
        max_backlog=settings.max_backlog_entries,
        zone=settings.facility_timezone,
    )
    # Also of those that were added since this process began.
    added = source_state.current_settings(conn, settings.sources)
    tenants = sorted({one.tenant for one in added.values()})
    of_sources = (
        Problem(f"source {one.name}", one.problem)
        for tenant in tenants
        for one in source_overview.list_sources(conn, Scope(tenant, "upkeep"), {})
        if one.problem is not None
    )
    of_disks = (
        Problem(
            f"disk of {one.name}",
            f"Only {one.free / 1e9:.1f} GB are free in {one.folder}. {one.remedy}",
        )
        for one in disk_room.measure_disks(settings)
        if one.is_low
    )
    of_work = diagnosis.find_problems(seen)
    return [*of_work, *of_sources, *of_disks, *_backup(settings)]


def _backup(settings: Settings) -> Iterator[Problem]:
    """Yield that the newest backup is too old, or that there is none."""
    folder, hours = settings.operations.backup_folder, settings.operations.backup_hours
    if folder is None:
        return
    try:
        # One that begins with a dot is not whole: its backup runs, or was killed.
        copies = [one for one in folder.expanduser().iterdir() if one.name[0] != "."]
        newest = max((one.stat().st_mtime for one in copies), default=0.0)
    except OSError as exc:
        yield Problem("backup", f"The backups cannot be looked at: {exc.strerror}.")
        return
    if time.time() - newest > hours * 3600:
        yield Problem("backup", f"No backup in {folder} is newer than {hours:g} hours.")


def _send(settings: Settings, row: ProblemRow) -> str | None:
    given = settings.operations
    assert given.webhook_url is not None
    url = given.webhook_url.get_secret_value()
    error = channels.send(
        url,
        _message(settings, row),
        given.signing_secret.get_secret_value() if given.signing_secret else None,
        settings,
        lambda: False,
    )
    # That of a chat lets whoever has it write there.
    path = urlsplit(url).path
    return error.replace(path, "/***") if error and len(path) > 1 else error


def _message(settings: Settings, row: ProblemRow) -> Message:
    zone = ZoneInfo(settings.facility_timezone)
    state, subject, when = "began", row.about, f"Since {on_clock(row.since, zone)}."
    if row.is_told:
        assert row.ended_at is not None
        state, subject = "ended", f"over: {row.about}"
        when = f"It was so until {on_clock(row.ended_at, zone)}, and is over."
    told = {
        "problem_id": str(row.id),
        "state": state,
        "about": row.about,
        "message": row.message,
        "since": timestamp(row.since),
        "ended_at": timestamp(row.ended_at) if row.is_told else None,
    }
    where = channels.link(settings, "/status")
    text = f"{row.message}\n{when}\n{where}"
    return Message(f"{row.id}.{state}", f"Logchord: {subject}", text, told)
