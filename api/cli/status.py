"""`logchord status`: what runs, who works, how far the work is; with Redis down too."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from api.cli import http, output
from local import runner_state, stack
from shared.due import lag, processes
from shared.errors import LogchordError
from shared.postgres import connect, translated_errors
from shared.settings import Settings


@click.command()
def status() -> int:
    """Say what runs and how far the work is; exit 1 if something is wrong."""
    out = output.current()
    settings = Settings.load(os.environ)
    document = gather(settings)
    if out.as_json:
        out.document(document)
    else:
        out.data("\n".join(_lines(document)))
    return output.FAILED if document["problems"] else output.DONE


def gather(settings: Settings) -> dict[str, Any]:
    """Return everything as one document; what cannot be reached is a problem."""
    home = settings.home.absolute()
    pid = stack.running_pid(home)
    problems: list[str] = []
    document: dict[str, Any] = {
        "home": str(home),
        "pid": pid,
        "startup": read_startup(home) if pid is not None else None,
        "api": http.base_url(settings),
        "processes": _processes(home, running=pid is not None),
        "workers": [],
        "stages": [],
        "problems": problems,
    }
    if pid is None:
        problems.append(f"No stack runs in {home}. Start it with `logchord up`.")
    problems += [
        f"{row['name']} died five times within a minute: `logchord logs {row['name']}`."
        for row in document["processes"]
        if row["failing"]
    ]
    if settings.database_url is None:
        if pid is not None:
            problems.append("The stack is still starting, or is stopping.")
        return document
    try:
        _read_database(settings.database_url.get_secret_value(), document)
    except LogchordError as exc:
        problems.append(exc.message)
    return document


def read_startup(home: Path) -> dict[str, Any] | None:
    """Return how long the start took, once it was complete."""
    try:
        text = (home / "run" / "startup.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found: dict[str, Any] = json.loads(text)
    return found


def _processes(home: Path, *, running: bool) -> list[dict[str, Any]]:
    rows = runner_state.read(home / "run" / "runner.json")
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


def _read_database(url: str, document: dict[str, Any]) -> None:
    with connect(url, application="status") as conn, translated_errors():
        known = processes.listing(conn)
        document["workers"] = [asdict(row) for row in known]
        document["stages"] = [asdict(row) for row in lag.stages(conn, [])]
    document["problems"] += [
        f"The {one.kind} worker {one.pid} has not reported for 15 s."
        for one in processes.missing(known)
    ]


def _lines(document: dict[str, Any]) -> list[str]:
    told = [f"Home    {document['home']}"]
    if document["pid"] is not None:
        startup = document["startup"]
        took = f", up after {startup['seconds']} s" if startup else ", starting"
        told += [
            f"Stack   process {document['pid']}{took}",
            f"API     {document['api']}",
        ]
    if document["processes"]:
        told += ["", "Processes"]
    told += [_process_line(row) for row in document["processes"]]
    if document["workers"]:
        told += ["", "Workers, as they report themselves"]
    told += [
        f"  {row['kind']:<10} process {row['pid']} on {row['host']}"
        f"  {','.join(row['queues']) or '-'}{'  STALE' if row['stale'] else ''}"
        for row in document["workers"]
    ]
    if document["stages"]:
        told += ["", "Work"]
    told += [
        f"  {row['stage']:<32} due {row['due']}  bulk {row['bulk']}"
        f"  leased {row['leased']}  quarantined {row['quarantined']}"
        f"  oldest {row['oldest_seconds']:.0f} s"
        for row in document["stages"]
    ]
    if document["problems"]:
        told += ["", "Problems", *(f"  {text}" for text in document["problems"])]
    return told


def _process_line(row: dict[str, Any]) -> str:
    if row["failing"]:
        state = click.style("FAILING", fg="red")
    elif row["alive"]:
        state = click.style("running", fg="green")
    else:
        state = click.style("down", fg="yellow")
    since = f"  for {row['seconds']} s" if row["alive"] else ""
    restarts = f"  restarted {row['restarts']} times" if row["restarts"] else ""
    return f"  {row['name']:<10} {state}  process {row['pid'] or '-'}{since}{restarts}"
