"""`logchord status`: what runs, who works, how far the work is; with Redis down too."""

import os
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli import api_client, output
from api.cli.render.terminal import local
from api.operations.schemas.lag import chores_out, drift_out, loop_out, stage_out
from local import runner_state, stack
from shared.embedding.vectors import live_models
from shared.errors import LogchordError
from shared.messaging import task_names
from shared.postgres.pool import connect, translate_database_errors
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.work import diagnosis, work_overview
from shared.work.work_overview import Overview

# A backlog of a million is counted in less; a server that hangs is told of in time.
_BOUNDED = "-c statement_timeout=20000 -c lock_timeout=2000"


@click.command()
def status() -> int:
    """Show the processes and the work that is due; exit 1 if something is wrong."""
    out = output.current()
    settings = Settings.load(os.environ)
    document = gather(settings)
    if not out.prints_json(document):
        zone = ZoneInfo(settings.facility_timezone)
        out.data("\n".join(_lines(document, zone)))
    return output.FAILED if document["problems"] else output.DONE


def gather(settings: Settings) -> dict[str, Any]:
    """Return everything as one document; what cannot be reached is a problem."""
    home = settings.home.absolute()
    pid = stack.running_pid(home)
    wrong: list[str] = []
    document: dict[str, Any] = {
        "home": str(home),
        "pid": pid,
        "startup": stack.read_startup(home) if pid is not None else None,
        "api": api_client.base_url(settings),
        "processes": _processes(home, running=pid is not None),
        "workers": [],
        "queues": [],
        "upkeep": [],
        "chores": [],
        "stages": [],
        "index": None,
        "problems": wrong,
    }
    if pid is None:
        wrong.append(f"No stack runs in {home}. Start it with `logchord up`.")
    wrong += [
        f"{row['name']} died five times within a minute: `logchord logs {row['name']}`."
        for row in document["processes"]
        if row["failing"]
    ]
    if settings.database_url is None:
        if pid is not None:
            wrong.append("The stack is still starting, or is stopping.")
        return document
    try:
        _read_database(settings, document)
    except LogchordError as exc:
        wrong.append(diagnosis.of_database(exc.message))
    return document


def _processes(home: Path, *, running: bool) -> list[dict[str, Any]]:
    rows = runner_state.read_children(home / "run" / "runner.json")
    return [
        {
            "name": name,
            "pid": row["pid"],
            "alive": runner_state.is_alive(row),
            "seconds": round(time.time() - row["since"]) if row["since"] else None,
            "restarts": row["restarts"],
            "failing": runner_state.is_failing(row) and running,
        }
        for name, row in rows.items()
    ]


def look(settings: Settings) -> Overview:
    """Return how the work stands, of every facility, from Postgres alone."""
    url = settings.require_database_url()
    with (
        connect(url, application="status", options=_BOUNDED) as conn,
        translate_database_errors(),
    ):
        return work_overview.load_overview(
            conn,
            live_models.list_stages(conn, settings),
            that_run=entry_stages.list_runnable_stages(settings),
            max_backlog=settings.max_backlog_entries,
            zone=settings.facility_timezone,
        )


def _read_database(settings: Settings, document: dict[str, Any]) -> None:
    seen = look(settings)
    queues = work_overview.by_queue(seen.processes, task_names.QUEUES)
    document["workers"] = [asdict(row) for row in seen.processes]
    document["queues"] = [asdict(one) for one in queues]
    document["upkeep"] = [loop_out(one) for one in seen.loops]
    document["chores"] = chores_out(seen)
    document["stages"] = [stage_out(one, seen.zone) for one in seen.stages]
    document["index"] = drift_out(seen)
    document["problems"] += seen.problems


def _lines(document: dict[str, Any], zone: ZoneInfo) -> list[str]:
    told = [f"Home    {document['home']}"]
    if document["pid"] is not None:
        startup = document["startup"]
        took = f", up after {startup['seconds']} s" if startup else ", starting"
        told += [
            f"Stack   process {document['pid']}{took}",
            f"API     {document['api']}",
        ]
    told += _section("Processes", map(_process_line, document["processes"]))
    workers = map(_worker_line, document["workers"])
    told += _section("Workers, as they report themselves", workers)
    told += _section("Upkeep", map(_upkeep_line, document["upkeep"]))
    told += _section("Chores", map(_chore_line, document["chores"]))
    told += _section("Work", map(_stage_line, document["stages"]))
    told += _index_lines(document["index"], zone)
    told += _section("Problems", (f"  {text}" for text in document["problems"]))
    return told


def _section(title: str, lines: Iterable[str]) -> list[str]:
    told = list(lines)
    return ["", title, *told] if told else []


def _worker_line(row: dict[str, Any]) -> str:
    return (
        f"  {row['kind']:<11} process {row['pid']} on {row['host']}"
        f"  {','.join(row['queues']) or '-'}{'  STALE' if row['stale'] else ''}"
    )


def _upkeep_line(row: dict[str, Any]) -> str:
    quiet = row["seconds_since_turn"]
    turned = "has not turned yet" if quiet is None else f"turned {quiet:.0f} s ago"
    return f"  {row['loop']:<10} {row['holder'] or 'held by nobody'}, {turned}"


def _chore_line(row: dict[str, Any]) -> str:
    total = "" if row["total"] is None else f" of {row['total']}"
    phase = f" ({row['phase']})" if row.get("phase") else ""
    left = row.get("eta_seconds") if row["done"] else None
    rest = f", {left:.0f} s to go" if left else ""
    done = f"{row['done']}{total} done{rest}"
    return f"  {row['kind']:<16} {row['state']}{phase}, {done}"


def _index_lines(index: dict[str, Any] | None, zone: ZoneInfo) -> list[str]:
    if index is None:
        return []
    until = local(index["watermark"], zone)
    told = f"Index   everything is in it that was written until {until}"
    if index["compared_at"]:
        told += f"; {index['drift']} differed at {local(index['compared_at'], zone)}"
    return ["", told]


def _stage_line(row: dict[str, Any]) -> str:
    paused = ""
    if row["paused"]:
        paused = click.style(f"  PAUSED {row['paused']['code']}", fg="red")
    return (
        f"  {row['stage']:<32} due {row['due']}  bulk {row['bulk']}"
        f"  overdue {row['overdue']}  leased {row['leased']}"
        f"  quarantined {row['quarantined']}  oldest {row['oldest_seconds']:.0f} s"
        f"  {row['per_minute']}/min{paused}"
    )


def _process_line(row: dict[str, Any]) -> str:
    if row["failing"]:
        state = click.style("FAILING", fg="red")
    elif row["alive"]:
        state = click.style("running", fg="green")
    else:
        state = click.style("down", fg="yellow")
    since = f"  for {row['seconds']} s" if row["alive"] else ""
    restarts = f"  restarted {row['restarts']} times" if row["restarts"] else ""
    return f"  {row['name']:<11} {state}  process {row['pid'] or '-'}{since}{restarts}"
