"""`logchord source`: how each source stands, and what an admin does to it."""

import time
from datetime import datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import click
import httpx2

from api.cli import api_client, output
from api.cli.render.terminal import facility_zone, local, plain
from api.cli.source import findings
from api.cli.source.add import add
from api.cli.source.delete_entries import delete_entries

_PATH = "/v1/sources"
_KINDS = ("tail", "reconcile", "backfill", "reparse")
_LACKING = (("quarantined", "quarantined"), ("files_not_fetched", "files not fetched"))


@click.group()
def source() -> None:
    """See how sources stand; check, run, pause and resume them."""


source.add_command(add)
source.add_command(delete_entries)


@source.command("list")
def list_sources() -> None:
    """List every source, how far behind it is, and what is wrong with it."""
    out = output.current()
    found = api_client.ask("GET", _PATH)["items"]
    if out.prints_json(found):
        return
    zone = facility_zone()
    rows = [_row(one, zone) for one in found]
    head = ("SOURCE", "ADAPTER", "ENTRIES", "NEWEST", "ANSWERED", "BACK TO", "STATE")
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.data("  ".join(cells).rstrip())
    for one in found:
        for sentence in (one["degraded"], *one["shortfalls"]):
            if sentence:
                out.say(plain(sentence))


@source.command()
@click.argument("name")
def show(*, name: str) -> None:
    """Show one source, with its last run."""
    out = output.current()
    one = api_client.ask("GET", _address(name))
    if out.prints_json(one):
        return
    last, zone = one["last_run"] or {}, facility_zone()
    for label, value in (
        ("source", one["name"]),
        ("adapter", one["adapter"]),
        ("state", _state(one)),
        ("what to do", one["degraded"]),
        *(("not here", sentence) for sentence in one["shortfalls"]),
        ("entries", _entries(one)),
        ("logbooks", ", ".join(one["logbooks"])),
        ("who may read", _readers(one.get("readers"))),
        ("time zone", one["timezone"]),
        ("newest entry", _ago(one["lag_seconds"])),
        ("last answer", _ago(one["since_success_seconds"])),
        ("complete back to", _on_clock(one["complete_from"], zone)),
        ("complete up to", _on_clock(one["complete_to"], zone)),
        ("next run", _on_clock(one["next_run_at"], zone)),
        ("last run", f"{last.get('kind')} {_counts(last)}" if last else None),
    ):
        if value is not None:
            out.data(f"{label:<17} {plain(value)}")


@source.command()
@click.argument("name")
def check(*, name: str) -> int:
    """Read one page of a source, show it, and store nothing."""
    out = output.current()
    found = api_client.ask("POST", f"{_address(name)}/check")
    if out.prints_json(found):
        return output.DONE
    out.data(f"It answers in {found['took_ms']:.0f} ms.")
    for label, told in findings.lines(found):
        out.data(plain(f"  {label:<13} {told}"))
    for one in found["sample"]:
        authors = ", ".join(one["authors"])
        when = ""
        if time_of := one["entry_time"]:
            when = findings.when(datetime.fromisoformat(time_of), found["timezone"])
        out.data(plain(f"  {when}  {one['external_id']}  {authors}"))
        out.data(plain(f"    {one['title'] or one['text'][:80]}"))
    for one in found["problems"]:
        out.say(plain(one))
    return output.DONE


@source.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(_KINDS), default="tail", help="Which.")
@click.option("--from", "from", help="Only from this time on, as RFC 3339.")
@click.option("--to", "to", help="Only before this time.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many entries.")
@click.option("--dry-run", is_flag=True, help="Read and count, store nothing.")
@click.option(
    "--confirm-prune", is_flag=True, help="Delete more than the safety share."
)
@click.option("--wait", is_flag=True, help="Wait for its end, and say what it found.")
def trigger(*, name: str, wait: bool, **asked: Any) -> int:
    """Run a source now."""
    out = output.current()
    body = {key: value for key, value in asked.items() if value is not None}
    with api_client.open_client(out) as client:
        answer = api_client.call(client, "POST", f"{_address(name)}/trigger", json=body)
        run = _wait(client, out, answer["run_id"]) if wait else None
    if out.as_json:
        out.document(run or answer)
    elif run is None:
        out.data(answer["run_id"])
    else:
        out.data(_counts(run))
    return output.FAILED if run and run["state"] != "done" else output.DONE


@source.command()
@click.argument("name")
def pause(*, name: str) -> None:
    """Ask a source no more until it is resumed."""
    _operate(name, "pause")


@source.command()
@click.argument("name")
def resume(*, name: str) -> None:
    """Ask a source again, at once and with no failure counted."""
    _operate(name, "resume")


@source.command("reload")
@click.option(
    "--confirm-identity",
    is_flag=True,
    help="Also where every record comes as a new entry by it.",
)
def reload_sources(*, confirm_identity: bool) -> int:
    """Take over what the configuration file says of sources by now."""
    out = output.current()
    params = {"confirm_identity": "true"} if confirm_identity else None
    found = api_client.ask("POST", f"{_PATH}/reload", params=params)
    if not out.prints_json(found):
        if not any(found.values()):
            out.say(
                "No source has changed; those that are pushed to, and all other"
                " settings, are read at the next start."
            )
        for word in ("added", "changed", "removed"):
            for name in found[word]:
                out.data(f"{word} {name}")
        for name in found["removed"]:
            out.say(
                f"The entries of {name} stay, and are found as before; `logchord source"
                f" delete-entries {name}` deletes them."
            )
        for one in found["invalid"]:
            out.complain(f"{one['name']}: {one['message']}")
    return output.FAILED if found["invalid"] else output.DONE


@source.command("runs")
@click.argument("name")
@click.option(
    "--limit", type=click.IntRange(min=1, max=100), default=20, help="At most so many."
)
def list_runs(*, name: str, limit: int) -> None:
    """List the runs of a source, the newest first."""
    out = output.current()
    params = {"source": name, "limit": limit}
    found = api_client.ask("GET", "/v1/runs", params=params)["items"]
    if out.prints_json(found):
        return
    if not found:
        out.say(f"No run of {plain(name)} is known; `logchord source list` names them.")
    zone = facility_zone()
    for one in found:
        reason = (one["error"] or {}).get("message", "")
        started = _on_clock(one["started_at"], zone) or "not yet"
        state = f"{one['kind']:<9}  {one['state']:<7}  {_counts(one)}"
        line = f"{one['run_id']}  {started}  {state}"
        out.data(plain(f"{line}  {reason}").rstrip())


@source.command()
@click.argument("run_id")
def cancel(*, run_id: str) -> None:
    """End a run here and now; what it has stored stays."""
    out = output.current()
    run = api_client.ask("DELETE", f"/v1/runs/{quote(run_id, safe='')}")
    if not out.prints_json(run):
        out.data(f"{run['source']} {run['kind']} {_counts(run)}")


def _operate(name: str, what: str) -> None:
    out = output.current()
    one = api_client.ask("POST", f"{_address(name)}/{what}")
    if not out.prints_json(one):
        out.data(f"{one['name']} {_state(one)}")


def _wait(client: httpx2.Client, out: output.Output, run_id: str) -> dict[str, Any]:
    while True:
        run: dict[str, Any] = api_client.call(client, "GET", f"/v1/runs/{run_id}")
        if run["state"] in findings.ENDED:
            return run
        out.say(_counts(run))
        time.sleep(1)


def _entries(one: dict[str, Any]) -> str:
    return f"{one['entries']} or more" if one["more_entries"] else str(one["entries"])


def _readers(readers: dict[str, list[str] | None] | None) -> str | None:
    """Say who may read which logbook; None: whoever may read the source."""
    if readers is None:
        return None
    told = (
        f"{book}: {'all' if of is None else ', '.join(of) or 'nobody'}"
        # Stored, they have lost their order: all others come last.
        for book, of in sorted(readers.items(), key=lambda one: (one[0] == "*", one[0]))
    )
    return "; ".join((*told, *(() if "*" in readers else ("others: nobody",))))


def _row(one: dict[str, Any], zone: ZoneInfo) -> tuple[str, ...]:
    back = (_on_clock(one["complete_from"], zone) or "")[:10]
    return (
        plain(one["name"]),
        one["adapter"],
        _entries(one),
        _ago(one["lag_seconds"]) or "-",
        _ago(one["since_success_seconds"]) or "-",
        back or "-",
        _state(one),
    )


def _state(one: dict[str, Any]) -> str:
    lacking = [f"{one[count]} {what}" for count, what in _LACKING if one[count]]
    return ", ".join([_standing(one), *lacking])


def _standing(one: dict[str, Any]) -> str:
    if one["paused"]:
        return "paused"
    if one["degraded"]:
        return "degraded"
    return "pushed" if one["kind"] == "push" else "ok"


def _counts(run: dict[str, Any]) -> str:
    waiting = run.get("waiting")
    told = findings.waits(waiting) if waiting else findings.counts(run)
    return f"{run['state']}: {told}"


def _on_clock(time: str | None, zone: ZoneInfo) -> str | None:
    return None if time is None else local(time, zone)


def _ago(seconds: float | None) -> str | None:
    return None if seconds is None else findings.ago(seconds)


def _address(name: str) -> str:
    return f"{_PATH}/{quote(name, safe='')}"
