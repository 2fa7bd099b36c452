"""`logchord ingest`: read sources now, and wait until what came can be found."""

import time
from typing import Any
from urllib.parse import quote

import click
import httpx2

from api.cli import api_client, output
from api.cli.output import CommandError
from api.cli.source import findings

_LOOK_SECONDS = 0.5
_SAY_SECONDS = 5.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0


@click.command()
@click.argument("names", nargs=-1)
@click.option("--since", help="The history from this time on, as RFC 3339.")
@click.option("--until", help="The history before this time.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many entries.")
@click.option("--dry-run", is_flag=True, help="Read and count, store nothing.")
@click.option("--reconcile", is_flag=True, help="Look for edits and deletions, too.")
@click.option("--watch", is_flag=True, help="Again and again, until Ctrl-C.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the enrichment.")
def ingest(
    *,
    names: tuple[str, ...],
    since: str | None,
    until: str | None,
    limit: int | None,
    dry_run: bool,
    reconcile: bool,
    watch: bool,
    no_wait: bool,
) -> int:
    """Read what is new in every source, or in those that are named, now."""
    out = output.current()
    kind = "backfill" if since or until else "reconcile" if reconcile else "tail"
    asked = {"from": since, "to": until, "limit": limit, "dry_run": dry_run or None}
    body = {"kind": kind, **{key: one for key, one in asked.items() if one is not None}}
    pause = _FIRST_PAUSE_SECONDS
    with api_client.open_client(out) as client:
        while True:
            try:
                ended = _read(client, out, names or _all(client), body)
                if not dry_run and not no_wait:
                    _drain(client, out)
            except CommandError as exc:
                if not watch or not _may_pass(exc):
                    raise
                out.complain(f"{exc.message}\nTrying again in {pause:.0f} s.")
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = _FIRST_PAUSE_SECONDS
            if out.as_json:
                out.document(ended)
            if not watch:
                is_done = all(run["state"] == "done" for run in ended)
                return output.DONE if is_done else output.FAILED
            time.sleep(_SAY_SECONDS)


def _may_pass(error: CommandError) -> bool:
    """Tell whether what keeps a watch from reading may end by itself."""
    # CRITICAL is for whoever waits for an answer: a database comes back all the same.
    is_retriable: bool = error.error.get("retriable", False)
    return is_retriable or error.exit_code == output.TRY_AGAIN


def _all(client: httpx2.Client) -> tuple[str, ...]:
    found = api_client.call(client, "GET", "/v1/sources")["items"]
    names = tuple(one["name"] for one in found if one["kind"] == "pull")
    if not names:
        message = "No source is configured to be read; add one: `logchord source add`."
        raise CommandError(message, exit_code=output.NOT_FOUND)
    return names


def _read(
    client: httpx2.Client,
    out: output.Output,
    names: tuple[str, ...],
    body: dict[str, Any],
) -> list[dict[str, Any]]:
    queued = {name: _queue(client, out, name, body) for name in names}
    ended = []
    for name, run_id in queued.items():
        run = _follow(client, out, name, run_id)
        ended.append(run)
        if not out.as_json:
            reason = (run["error"] or {}).get("message", "")
            out.data(f"{name}: {run['state']}, {_told(run)} {reason}".rstrip())
    return ended


def _queue(
    client: httpx2.Client, out: output.Output, name: str, body: dict[str, Any]
) -> str:
    """Ask for a run, once the one that is under way has ended; return its id."""
    path = f"/v1/sources/{quote(name, safe='')}/trigger"
    while True:
        try:
            return str(api_client.call(client, "POST", path, json=body)["run_id"])
        except CommandError as exc:
            if exc.error.get("code") != "run_in_progress":
                raise
            under_way = str(exc.error["details"]["run_id"])
        out.say(f"{name}: it is being read already; this run comes after that one.")
        _follow(client, out, name, under_way)


def _follow(
    client: httpx2.Client, out: output.Output, name: str, run_id: str
) -> dict[str, Any]:
    told = time.monotonic()
    began = told
    while True:
        run: dict[str, Any] = api_client.call(client, "GET", f"/v1/runs/{run_id}")
        if run["state"] in findings.ENDED:
            return run
        if time.monotonic() - told >= _SAY_SECONDS:
            told = time.monotonic()
            rate = run["seen"] / max(1.0, told - began)
            out.say(f"{name}: {_told(run)} ({rate:.0f}/s){_left(run, rate)}")
        time.sleep(_LOOK_SECONDS)


def _left(run: dict[str, Any], rate: float) -> str:
    expected = run.get("expected")
    if not expected or rate <= 0 or expected <= run["seen"]:
        return ""
    return f", about {(expected - run['seen']) / rate:.0f} s left"


def _drain(client: httpx2.Client, out: output.Output) -> None:
    told = time.monotonic()
    while True:
        stages = api_client.call(client, "GET", "/v1/lag")["stages"]
        left = sum(one["due"] + one["bulk"] for one in stages)
        resting = [one["stage"] for one in stages if one["paused"]]
        if left == 0:
            return
        if resting:
            out.say(f"{left} stages are due; these rest: {', '.join(resting)}.")
            return
        if time.monotonic() - told >= _SAY_SECONDS:
            told = time.monotonic()
            out.say(f"{left} stages of entries are still to be done.")
        time.sleep(_LOOK_SECONDS)


def _told(run: dict[str, Any]) -> str:
    if run.get("waiting"):
        return f"queued, {findings.waits(run['waiting'])}"
    return findings.counts(run)
