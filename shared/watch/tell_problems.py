"""Operators told of problems: those there are now, and the messages that are due."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg import Connection

from shared.access.scope import Scope
from shared.embedding.vectors import live_models
from shared.errors import LogchordError, SourceUnreachableError
from shared.ids import uuid7
from shared.log import get_logger
from shared.postgres.count_cache import Sparing
from shared.postgres.fetch_rows import fetch_one, fetch_value
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.sources.admin import source_overview
from shared.stages import entry_stages
from shared.times.rfc3339 import on_clock, timestamp
from shared.watch import channels
from shared.watch.alert_rows import BACKOFF_SECONDS, MOST_ATTEMPTS
from shared.watch.channels import Message
from shared.work import diagnosis, disk_room, lag, work_overview
from shared.work.diagnosis import Problem
from shared.work.lag import Lag
from shared.work.live_processes import STALE_SECONDS
from shared.work.upkeep_loops import MESSAGES_LOOP

log = get_logger()

# No longer in one turn: what is wrong by then is to be seen, too.
_SECONDS = 10.0
# What is over sooner wakes nobody, and what comes back sooner was never over.
LASTS_SECONDS = 120.0
OVER_SECONDS = 300.0
_KEPT_DAYS = 7

# Until it is told its sentence is that of now.
_SEEN: LiteralString = """
    INSERT INTO operations_problem AS p (id, about, message)
    SELECT n.id, n.about, n.message
      FROM jsonb_to_recordset(%(problems)s::jsonb)
           AS n (id uuid, about text, message text)
     ORDER BY n.about
        ON CONFLICT (about) WHERE ended_at IS NULL DO UPDATE
       SET gone_at = NULL,
           message = CASE WHEN p.is_told THEN p.message ELSE excluded.message END
     WHERE p.gone_at IS NOT NULL OR NOT p.is_told"""
# A silent worker is forgotten after an hour; back it is only when its kind is.
_GONE: LiteralString = """
    UPDATE operations_problem SET gone_at = clock_timestamp()
     WHERE ended_at IS NULL AND gone_at IS NULL AND about <> ALL (%(about)s)
       AND (about NOT LIKE 'worker %%' OR EXISTS (
            SELECT FROM worker_process w
             WHERE about = 'worker ' || w.kind
               AND w.seen_at >= now() - make_interval(secs => %(stale)s)))"""
_FORGET: LiteralString = """
    DELETE FROM operations_problem
     WHERE (NOT is_told AND due_at IS NULL
            AND gone_at <= clock_timestamp() - make_interval(secs => %(over)s))
        OR ended_at < clock_timestamp() - make_interval(days => %(kept)s)"""
_BEGUN: LiteralString = """
    UPDATE operations_problem SET due_at = clock_timestamp()
     WHERE NOT is_told AND due_at IS NULL AND gone_at IS NULL
       AND since <= clock_timestamp() - make_interval(secs => %(lasts)s)"""
# Whose beginning could not be told yet is told of it first.
_ENDED: LiteralString = """
    UPDATE operations_problem
       SET ended_at = gone_at, due_at = coalesce(due_at, clock_timestamp())
     WHERE ended_at IS NULL
       AND gone_at <= clock_timestamp() - make_interval(secs => %(over)s)"""
# Whoever dies while sending has made an attempt: it is sent again after the wait.
_CLAIM: LiteralString = """
    UPDATE operations_problem p
       SET attempts = p.attempts + 1,
           due_at = clock_timestamp() + make_interval(
               secs => %(first)s * 2 ^ least(p.attempts + 1, %(most)s))
     WHERE p.id = (SELECT d.id FROM operations_problem d
                    WHERE d.due_at <= clock_timestamp()
                    ORDER BY d.due_at, d.id
                    LIMIT 1
                      FOR UPDATE SKIP LOCKED)
    RETURNING p.id, p.about, p.message, p.since, p.ended_at, p.is_told, p.due_at"""
_BEGINNING_TOLD: LiteralString = """
    UPDATE operations_problem
       SET is_told = true, attempts = 0, last_error = NULL,
           due_at = CASE WHEN ended_at IS NOT NULL THEN clock_timestamp() END
     WHERE id = %(id)s"""
_END_TOLD: LiteralString = "DELETE FROM operations_problem WHERE id = %(id)s"
# Whatever else is due would fail likewise: it waits as long.
_FAILED: LiteralString = """
    UPDATE operations_problem
       SET due_at = %(until)s,
           last_error = CASE WHEN id = %(id)s THEN %(error)s ELSE last_error END
     WHERE id = %(id)s OR due_at <= clock_timestamp()"""
_ERROR: LiteralString = """
    SELECT last_error FROM operations_problem
     WHERE last_error IS NOT NULL ORDER BY id DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem of which somebody is to be told: that it began, or that it is over."""

    id: UUID
    about: str
    message: str
    since: datetime
    ended_at: datetime | None
    # Its beginning is: this time its end is to be told.
    is_told: bool
    due_at: datetime


def tell_problems(
    conn: Connection, settings: Settings, counts: Sparing[Lag]
) -> LogchordError | None:
    """Note what is wrong and send what is due; return why nothing arrives."""
    # Whoever is told has to get it by what does not arrive.
    mute = f"loop {MESSAGES_LOOP}"
    found = find_problems(conn, settings, counts)
    note_problems(conn, [one for one in found if one.about != mute])
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends:
        row = claim(conn)
        if row is None:
            break
        error = _send(settings, row)
        if error is None:
            note_told(conn, row)
            log.info("problem_told", about=row.about, is_over=row.is_told)
        else:
            note_failed(conn, row, error)
            log.warning("problem_not_told", about=row.about, error=error)
    error = find_error(conn)
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


def note_problems(conn: Connection, problems: Sequence[Problem]) -> None:
    """Store which problems there are now, and which messages that makes due."""
    named = {one.about: one.message for one in reversed(problems)}
    rows = [
        {"id": str(uuid7()), "about": about, "message": message}
        for about, message in named.items()
    ]
    given: dict[str, Any] = {
        "problems": json.dumps(rows),
        "about": list(named),
        "lasts": LASTS_SECONDS,
        "over": OVER_SECONDS,
        "stale": STALE_SECONDS,
        "kept": _KEPT_DAYS,
    }
    with conn.transaction():
        for statement in (_SEEN, _GONE, _FORGET, _BEGUN, _ENDED):
            conn.execute(statement, given)


def claim(conn: Connection) -> ProblemRow | None:
    """Take one that a message is due of; unless it is noted, it is due again later."""
    given = {"first": BACKOFF_SECONDS, "most": MOST_ATTEMPTS}
    return fetch_one(conn, ProblemRow, _CLAIM, given)


def note_told(conn: Connection, row: ProblemRow) -> None:
    """Store that its message was delivered."""
    conn.execute(_END_TOLD if row.is_told else _BEGINNING_TOLD, {"id": row.id})


def note_failed(conn: Connection, row: ProblemRow, error: str) -> None:
    """Store why its message was not delivered; others wait as long as it does."""
    values = {"id": row.id, "until": row.due_at, "error": error[:500]}
    conn.execute(_FAILED, values)


def find_error(conn: Connection) -> str | None:
    """Return why the latest message could not be delivered so far."""
    return fetch_value(conn, _ERROR)
