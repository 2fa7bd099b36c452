"""`logchord doctor`: every precondition, and what to do where one is not met."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import click

from api.cli import output
from api.cli.commands import status
from api.cli.doctor import checks, database_checks, source_checks
from api.cli.doctor.checks import Check
from local import measure, runner_state, stack
from local.measure import Footprint
from shared.errors import LogchordError
from shared.settings.settings import Settings, load_report

_MARKS = {
    "ok": ("ok", "green"),
    "note": ("note", "yellow"),
    "failed": ("FAILED", "red"),
}
_MB = 1_000_000


@click.command()
def doctor() -> int:
    """Name every unmet precondition and its remedy; exit 1 if there is one."""
    out = output.current()
    report = load_report(os.environ)
    settings = report.settings
    found = [
        *(Check("configuration", "note", told) for told in report.warnings),
        *checks.of_machine(settings),
        *database_checks.of_database(settings),
        *checks.of_backends(settings),
        *checks.of_processes(settings),
        *source_checks.of_sources(settings),
        *checks.of_messages(settings),
        *_of_work(settings),
    ]
    startup = stack.read_startup(settings.home)
    parts = footprints(settings)
    if not out.prints_json(_document(found, startup, parts)):
        out.data("\n".join([*map(_line, found), "", *_measured(startup, parts)]))
    failed = any(check.state == "failed" for check in found)
    return output.FAILED if failed else output.DONE


def footprints(settings: Settings) -> list[Footprint]:
    """Return the memory of every process of the stack, servers included."""
    home = settings.home.absolute()
    parts = []
    for name, row in runner_state.read_children(home / "run" / "runner.json").items():
        if row["pid"] is not None and runner_state.is_alive(row):
            parts.append(measure.footprint(name, row["pid"]))
    pid = stack.running_pid(home)
    if pid is not None:
        parts.append(measure.footprint("up", pid, alone=True))
        servers = stack.server_pids(home)
        parts += [measure.footprint(name, server) for name, server in servers.items()]
    return parts


def _of_work(settings: Settings) -> Iterator[Check]:
    """Look at the work; where Postgres does not answer, its own check says so."""
    try:
        seen = status.look(settings)
    except LogchordError:
        return
    for sentence in seen.problems:
        yield Check("work", "failed", sentence)
    if not seen.problems:
        waiting = sum(one.due + one.bulk for one in seen.stages)
        yield Check("work", "ok", f"{waiting} rows are due, nothing is in the way")


def _line(check: Check) -> str:
    mark, colour = _MARKS[check.state]
    remedy = f"\n         {check.remedy}" if check.remedy else ""
    return (
        f"{click.style(f'{mark:<7}', fg=colour)}  {check.name}: {check.found}{remedy}"
    )


def _measured(startup: dict[str, Any] | None, parts: Iterable[Footprint]) -> list[str]:
    rows = list(parts)
    if not rows:
        return ["No stack runs here, so there is nothing to measure."]
    took = f"{startup['seconds']} s" if startup else "not complete yet"
    told = [
        f"Start-up time: {took}",
        f"Memory: {measure.total(rows) / _MB:.0f} MB (PSS)",
    ]
    told += [f"  {part.name:<11} {part.bytes / _MB:6.0f} MB" for part in rows]
    if any(part.unreadable for part in rows):
        told.append("  Some processes belong to another user and are not counted.")
    return told


def _document(
    found: Iterable[Check], startup: dict[str, Any] | None, parts: list[Footprint]
) -> dict[str, Any]:
    return {
        "checks": [asdict(check) for check in found],
        "startup_seconds": startup["seconds"] if startup else None,
        "memory_bytes": measure.total(parts),
        "memory": {part.name: part.bytes for part in parts},
    }
