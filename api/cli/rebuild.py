"""`logchord rebuild`: the search index made anew, while everybody searches the old."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING
from uuid import UUID

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from api.cli import output
from api.cli.output import CommandError
from api.schemas.maintenance import maintenance_out
from shared.due import maintenance
from shared.errors import ConflictError, DatabaseConnectionError
from shared.opensearch import asking
from shared.opensearch.client import make_client
from shared.postgres import connection, make_pool
from shared.settings import Settings

if TYPE_CHECKING:
    from api.cli.output import Output
    from shared.due.maintenance import Maintenance
    from shared.postgres import Pool

_LOOK_SECONDS, _SAY_SECONDS = 0.5, 5.0
# What each phase is to somebody who waits for it.
_WORDS = {
    "read": "having every text read anew",
    "reading": "waiting for the texts",
    "create": "making an empty index",
    "open": "having both indices written",
    "wait": "waiting for writers that began before",
    "copy": "copying",
    "settle": "opening it to searches",
    "compare": "comparing it with Postgres",
    "drain": "waiting for what differed",
    "sample": "searching in it",
    "swap": "putting it in its place",
    "drop": "waiting for searches in the old index",
}


@click.command()
@click.option("--full", is_flag=True, help="Have every text read anew first.")
@click.option("--stop", is_flag=True, help="Give up the one under way.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
def rebuild(*, full: bool, stop: bool, no_wait: bool) -> int:
    """Make the search index anew; the old one is searched until both are equal.

    Ctrl-C leaves it going; call it again to look. Whoever holds DATABASE_URL may.
    """
    out = output.current()
    settings = Settings.load(os.environ)
    if settings.database_url is None:
        raise DatabaseConnectionError
    if make_client(settings) is None:
        message = "OPENSEARCH_URL is off: there is no index to make anew."
        raise CommandError(message, exit_code=output.USAGE)
    url = settings.database_url.get_secret_value()
    with make_pool(url, application="rebuild", size=1) as pool:
        if stop:
            return _stop(pool, out)
        chore = _begin(pool, out, full=full)
        if no_wait:
            return _tell(out, _found(pool, chore))
        try:
            ended = _follow(pool, out, chore)
        except KeyboardInterrupt:
            out.say("It goes on; look with `logchord rebuild` or `logchord status`.")
            raise
    _tell(out, ended)
    return output.DONE if ended.state == "done" else output.FAILED


def _begin(pool: Pool, out: Output, *, full: bool) -> UUID:
    try:
        with connection(pool) as conn:
            return asking.ask(conn, full=full)
    except ConflictError as exc:
        under_way = exc.details.get("maintenance_id")
        if under_way is None:
            raise
        out.say("One is under way already; this is how far it is.")
        return UUID(under_way)


def _stop(pool: Pool, out: Output) -> int:
    with connection(pool) as conn:
        chore = asking.under_way(conn)
        if chore is None:
            message = "No rebuild is under way."
            raise CommandError(message, exit_code=output.NOT_FOUND)
        ended = maintenance.cancel(conn, chore)
    _tell(out, ended)
    out.say("The old index is in use as before; what there was of the new one goes.")
    return output.DONE


def _found(pool: Pool, chore: UUID) -> Maintenance:
    with connection(pool) as conn:
        return maintenance.find(conn, chore)


def _follow(pool: Pool, out: Output, chore: UUID) -> Maintenance:
    console = Console(stderr=True, no_color=not out.color, highlight=False)
    if not console.is_terminal or out.quiet:
        return _follow_in_lines(pool, out, chore)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=None, told="")
        while True:
            now = _found(pool, chore)
            if now.ended_at is not None:
                return now
            bars.update(
                task,
                description=_doing(now),
                completed=now.done,
                total=now.total or None,
                told=_counted(now),
            )
            time.sleep(_LOOK_SECONDS)


def _follow_in_lines(pool: Pool, out: Output, chore: UUID) -> Maintenance:
    told, at = "", 0.0
    while True:
        now = _found(pool, chore)
        if now.ended_at is not None:
            return now
        line, late = _doing(now), time.monotonic() - at >= _SAY_SECONDS
        if line != told or late:
            told, at = line, time.monotonic()
            out.say(f"{line} ... {_counted(now)}")
        time.sleep(_LOOK_SECONDS)


def _doing(now: Maintenance) -> str:
    if now.started_at is None:
        return "waiting for a worker of chores"
    return _WORDS.get(now.phase or "create", str(now.phase))


def _counted(now: Maintenance) -> str:
    total = f" of {now.total}" if now.total else ""
    rate = f", {now.per_minute:.0f}/min" if now.per_minute else ""
    return f"{now.done}{total} entries{rate}"


def _tell(out: Output, now: Maintenance) -> int:
    if out.as_json:
        out.document(maintenance_out(now))
        return output.DONE
    reason = f": {now.error.get('message')}" if now.error else ""
    out.data(f"rebuild {now.id}: {now.state}{reason}")
    if now.result:
        result = now.result
        out.data(
            f"{result['entries']} entries are in {result['index']},"
            f" equal to Postgres; {result['healed']} were put right before the swap."
        )
    return output.DONE
