"""What an admin does to a source: trigger a run, pause, resume, load the file again."""

import hashlib
import hmac
import re
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from psycopg import Connection

from shared.errors import AccessError, ConflictError, IngestionError, NotFoundError
from shared.log import get_logger
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, run_records, source_state
from shared.sources.run_records import IngestionRun, RunRequest
from shared.sources.runs import sync_config
from shared.sources.source_state import SourceState
from shared.work import schedule

log = get_logger()

_DAY_SECONDS = 86_400.0
NUDGE_WINDOW_SECONDS = 300
_SIGNATURE = re.compile(r"t=(?P<time>\d{1,12}),v1=(?P<mac>[0-9a-f]{64})")


def pulled_source(
    conn: Connection, tenant: str, name: str
) -> tuple[SourceState, SourceSettings]:
    """Return a source that is asked, or say that there is none of this name."""
    standing = source_state.load_source_state(conn, tenant, name)
    if standing is None:
        raise unread_source(name)
    return standing, standing.settings


def unread_source(name: str) -> NotFoundError:
    """Make the error of a source that is in no list, and say where to look."""
    return NotFoundError(
        f"No source {name!r} is read here. `logchord source list` names those that are;"
        " one whose settings are wrong is named by `logchord config check`."
    )


def ask(conn: Connection, tenant: str, name: str, kind: str, asked: RunRequest) -> UUID:
    """Queue a run; before the first walk, a request for news queues that walk.

    A source that cannot be asked by time is else read twice at once, by both kinds.
    """
    if kind == run_records.TAIL and asked == RunRequest():
        known = schedule.load_standings(conn, name)
        tail, first = known.get(run_records.TAIL), known.get(run_records.BACKFILL)
        waits = tail is not None and tail.next_run_at is None
        if waits and first is not None and first.next_run_at is not None:
            under_way = run_records.find_open(conn, tenant, name, run_records.BACKFILL)
            if under_way is not None:
                return under_way.id
            kind = run_records.BACKFILL
    return trigger(conn, tenant, name, kind, asked)


def trigger(
    conn: Connection, tenant: str, name: str, kind: str, asked: RunRequest
) -> UUID:
    """Queue a run and make it due now; the caller commits, then nudges."""
    standing, source = pulled_source(conn, tenant, name)
    if standing.paused:
        message = f"The source {name} is paused; resume it first."
        raise ConflictError(message, code="source_paused")
    if asked.dry_run:
        known = schedule.load_standings(conn, name).get(kind)
        asked = replace(asked, then=known.next_run_at if known else None)
    run_id = run_records.ask_for(conn, tenant, name, kind, asked)
    every = {
        run_records.TAIL: source.poll_interval_seconds,
        run_records.RECONCILE: source.reconcile_every_seconds,
    }.get(kind, _DAY_SECONDS)
    # A history or a parser's walk that is asked for begins anew; a tail goes on.
    anew = kind in {run_records.BACKFILL, run_records.REPARSE} and not asked.dry_run
    schedule.bring_forward(conn, name, kind, every_seconds=every, anew=anew)
    return run_id


def cancel(
    conn: Connection, tenant: str, run_id: UUID, *, facility_timezone: str, subject: str
) -> IngestionRun:
    """Cancel a run at once; pages that it has committed stay. Idempotent."""
    found = run_records.find_run(conn, tenant, run_id)
    if found is None:
        raise NotFoundError
    # As a page's commit does, its row before the schedule's.
    run = run_records.find_open(conn, tenant, found.source, found.kind)
    if run is None or run.id != run_id:
        return found
    now = datetime.now(UTC)
    wait: float | None = None
    standing = source_state.load_source_state(conn, tenant, run.source)
    if run.is_dry:
        wait = None if run.then is None else (run.then - now).total_seconds()
    elif standing is not None:
        wait = _next_wait(run, standing.settings, facility_timezone, now)
    wait = wait if wait is None else max(0.0, wait)
    error = IngestionError(
        "An admin has cancelled it.",
        reason=schedule.CANCELLED,
        technical=f"It was {subject}.",
    )
    # What a history still lacks is not to be fetched one by one by the other runs.
    lacks = (
        run.kind == run_records.BACKFILL
        and not run.is_dry
        and standing is not None
        and not load_adapter.has_history(standing.settings, standing.complete_from)
    )
    cursor = schedule.take_back(
        conn, run.source, run.kind, error if lacks else None, wait_seconds=wait
    )
    run_records.end(conn, run, run.cursor_after if run.is_dry else cursor, error)
    ended = run_records.find_run(conn, tenant, run_id)
    assert ended is not None
    log.info(
        "run_cancelled",
        run_id=str(run_id),
        source=ended.source,
        kind=ended.kind,
        state=ended.state,
        subject=subject,
    )
    return ended


def _next_wait(
    run: IngestionRun, source: SourceSettings, facility_timezone: str, now: datetime
) -> float | None:
    """Return the wait until the kind is due again; None for kinds only asked for."""
    if run.kind == run_records.TAIL:
        return sync_config.wait_seconds(run.source, source, facility_timezone, now)
    return source.reconcile_every_seconds if run.kind == run_records.RECONCILE else None


def pause(conn: Connection, tenant: str, name: str, *, subject: str) -> None:
    """Stop asking a source; a run under way ends with its page."""
    pulled_source(conn, tenant, name)
    source_state.pause(conn, tenant, name, f"by {subject}")


def resume(conn: Connection, tenant: str, name: str) -> None:
    """Ask a source again, at once and with a clean slate, whatever held it back."""
    pulled_source(conn, tenant, name)
    source_state.resume(conn, tenant, name)
    schedule.try_now(conn, name, run_records.TAIL)


def nudge(
    conn: Connection, name: str, *, secret: str, signature: str, body: bytes, now: float
) -> None:
    """Make the tail due because the source says so, if it is the source that does."""
    match = _SIGNATURE.fullmatch(signature)
    if match is None or abs(now - int(match["time"])) > NUDGE_WINDOW_SECONDS:
        raise _unsigned()
    signed = match["time"].encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, match["mac"]):
        raise _unsigned()
    tenant = source_state.tenant_of(conn, name)
    if tenant is None:
        raise _unsigned()
    standing, source = pulled_source(conn, tenant, name)
    if not standing.paused:
        schedule.bring_forward(
            conn, name, run_records.TAIL, every_seconds=source.poll_interval_seconds
        )


def _unsigned() -> AccessError:
    # The same for a wrong signature and for a source that there is not.
    return AccessError("The signature is not valid.", code="auth_invalid")
