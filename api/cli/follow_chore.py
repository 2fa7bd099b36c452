"""Wait for a chore with its progress before one's eyes; it goes on without us."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from api.cli import output
from api.cli.output import CommandError
from api.operations.schemas.chores import maintenance_out
from shared.access.audit_records import note_command
from shared.errors import ConflictError
from shared.postgres.pool import connection
from shared.work import chore_records

if TYPE_CHECKING:
    from psycopg import Connection

    from api.cli.output import Output
    from shared.postgres.pool import Pool
    from shared.work.chore_records import Maintenance

_LOOK_SECONDS, _SAY_SECONDS = 0.5, 5.0
_MINUTE = 60

# What each phase is to somebody who waits for it.
Words = Mapping[str, str]


def follow(
    pool: Pool,
    out: Output,
    ask: Callable[[Connection], UUID],
    words: Words,
    *,
    command: str,
    waits: bool,
) -> Maintenance:
    """Return a chore that is asked for or under way, at its end if one waits."""
    chore = _begun(pool, out, ask, command)
    if not waits:
        return _fetch_chore(pool, chore)
    try:
        return _to_its_end(pool, out, chore, words)
    except KeyboardInterrupt:
        out.say(f"It goes on; look with `logchord {command}` or `logchord status`.")
        raise


def stop(
    pool: Pool, find: Callable[[Connection], UUID | None], absent: str
) -> Maintenance:
    """Cancel the chore that is under way, or say that there is none."""
    with connection(pool) as conn:
        chore = find(conn)
        if chore is None:
            raise CommandError(absent, exit_code=output.NOT_FOUND)
        stopped = chore_records.cancel(conn, chore)
        note_command(conn, f"logchord {stopped.kind} --stop", str(chore))
        return stopped


def tells_person(out: Output, command: str, now: Maintenance) -> bool:
    """Print how a chore stands; tell whether a person reads what it came to."""
    if out.prints_json(maintenance_out(now)):
        return False
    reason = f": {now.error.get('message')}" if now.error else ""
    out.data(f"{command} {now.id}: {now.state}{reason}")
    return True


def _fetch_chore(pool: Pool, chore: UUID) -> Maintenance:
    with connection(pool) as conn:
        return chore_records.find(conn, chore)


def _to_its_end(pool: Pool, out: Output, chore: UUID, words: Words) -> Maintenance:
    """Show how far a chore is until it has ended."""
    console = Console(stderr=True, no_color=not out.color, highlight=False)
    if not console.is_terminal or out.quiet:
        return _in_lines(pool, out, chore, words)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=None, told="")
        while True:
            now = _fetch_chore(pool, chore)
            if now.ended_at is not None:
                return now
            bars.update(
                task,
                description=_doing(now, words),
                completed=now.done,
                total=now.total or None,
                told=_counted(now),
            )
            time.sleep(_LOOK_SECONDS)


def _in_lines(pool: Pool, out: Output, chore: UUID, words: Words) -> Maintenance:
    told, at = "", 0.0
    while True:
        now = _fetch_chore(pool, chore)
        if now.ended_at is not None:
            return now
        line, late = _doing(now, words), time.monotonic() - at >= _SAY_SECONDS
        if line != told or late:
            told, at = line, time.monotonic()
            out.say(f"{line} ... {_counted(now)}")
        time.sleep(_LOOK_SECONDS)


def _doing(now: Maintenance, words: Words) -> str:
    if now.started_at is None:
        return "waiting for a worker of chores"
    doing = words.get(now.phase or "", now.phase or "beginning")
    if now.error:
        return f"{doing}; it waits: {now.error.get('message')}"
    return doing


def _counted(now: Maintenance) -> str:
    total = f" of {now.total}" if now.total else ""
    rate = f", {now.per_minute:.0f}/min" if now.per_minute else ""
    left = now.eta_seconds if now.done else None
    rest = f", {_in_words(left)} to go" if left else ""
    return f"{now.done}{total} entries{rate}{rest}"


def _in_words(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"


def _begun(
    pool: Pool, out: Output, ask: Callable[[Connection], UUID], command: str
) -> UUID:
    """Return the chore that was asked for, or the one that is under way already."""
    try:
        with connection(pool) as conn:
            chore = ask(conn)
            note_command(conn, f"logchord {command}", str(chore))
            return chore
    except ConflictError as exc:
        under_way = exc.details.get("maintenance_id")
        if under_way is None:
            raise
        out.say("One is under way already; this is how far it is.")
        return UUID(under_way)
