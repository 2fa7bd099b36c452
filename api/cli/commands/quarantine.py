"""`logchord quarantine`: quarantined work looked at, sent again or given up on."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import click
import httpx2

from api.cli import api_client, output
from api.cli.render.terminal import facility_zone, local, plain

_PATH = "/v1/quarantine"


@click.group()
def quarantine() -> None:
    """See what was quarantined and why; release it, or give up on it."""


def _filters(command: Callable[..., None]) -> Callable[..., None]:
    for name, told in (
        ("--code", "Only these: code of the error."),
        ("--stage", "Only these: stage, such as `metadata` or `message:index`."),
        ("--source", "Only these: source of the entry."),
    ):
        command = click.option(name, help=told)(command)
    return command


@quarantine.command("list")
@_filters
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, help="At most so many."
)
def list_quarantined(*, limit: int, **filters: str | None) -> None:
    """List what was quarantined, the newest first."""
    out = output.current()

    def print_rows(found: list[dict[str, Any]]) -> None:
        zone = facility_zone()
        for one in found:
            out.data(_line(one, zone))

    nothing = "Nothing is quarantined."
    api_client.print_items(_PATH, filters, limit, print_rows, nothing=nothing)


@quarantine.command()
@click.argument("quarantine_id")
def show(*, quarantine_id: str) -> None:
    """Show one of them with its whole reason."""
    out = output.current()
    one = api_client.ask("GET", _address(quarantine_id))
    if out.prints_json(one):
        return
    error, zone = one["error"], facility_zone()
    out.data(
        "\n".join(
            f"{name:<12} {plain(value)}"
            for name, value in (
                ("id", one["quarantine_id"]),
                ("stage", one["stage"]),
                ("entry", _entry(one)),
                ("entry id", one["entry_id"]),
                ("revision", one["revision"]),
                ("attempts", one["attempts"]),
                ("first", local(one["first_at"], zone)),
                ("last", local(one["last_at"], zone)),
                ("code", error.get("code")),
                ("message", error.get("message")),
                ("technical", (error.get("details") or {}).get("technical")),
                ("error id", error.get("id")),
                ("messages", one["times"] if one["entry_id"] is None else None),
            )
            if value is not None
        )
    )


@quarantine.command()
@click.argument("quarantine_ids", nargs=-1)
@_filters
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="At most so many; all that the filters leave, when absent.",
)
@click.option("--all", "everything", is_flag=True, help="Without any filter.")
def retry(
    *,
    quarantine_ids: tuple[str, ...],
    limit: int | None,
    everything: bool,
    **filters: str | None,
) -> None:
    """Make them due again, by id or by filter; a stage that was paused goes on."""
    out = output.current()
    asked = _given(filters)
    if bool(quarantine_ids) == bool(asked or everything):
        raise output.UsageError("Name ids, or filters, or --all; not ids and filters.")
    with api_client.open_client(out) as client:
        if quarantine_ids:
            answers = [
                api_client.call(client, "POST", f"{_address(one)}/retry")
                for one in quarantine_ids
            ]
        else:
            answers = _release(client, asked, limit)
    done = {
        "released": sum(one["released"] for one in answers),
        "resumed": sorted({stage for one in answers for stage in one["resumed"]}),
        "still_quarantined": sum(one["still_quarantined"] for one in answers),
        "complete": answers[-1]["complete"],
    }
    if out.prints_json(done):
        return
    out.data(f"released {done['released']}")
    if not done["complete"]:
        out.say("There may be more that the filters name: --limit has ended it here.")
    if still := done["still_quarantined"]:
        out.say(
            f"{still} cannot be read as they were received. What was mended"
            " in its source comes with the source's next poll or reconcile, what is"
            " older with `logchord source trigger NAME --kind backfill`; then discard"
            " the old one."
        )
    for name in done["resumed"]:
        out.data(f"goes on: {name}")


@quarantine.command()
@click.argument("quarantine_ids", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; the log keeps it.")
def discard(*, quarantine_ids: tuple[str, ...], reason: str) -> None:
    """Give up on them: the entries stay, without what the stage would make."""
    out = output.current()
    with api_client.open_client(out) as client:
        for one in quarantine_ids:
            api_client.call(client, "DELETE", _address(one), params={"reason": reason})
            out.say(f"Discarded {one}.")


def _release(
    client: httpx2.Client, asked: dict[str, Any], limit: int | None
) -> list[dict[str, Any]]:
    """Release until nothing is left or enough is done: a request has its time."""
    answers: list[dict[str, Any]] = []
    left = limit
    cursor: str | None = None
    while True:
        body = {**asked, "limit": left, "cursor": cursor}
        answer = api_client.call(client, "POST", f"{_PATH}/retry", json=body)
        answers.append(answer)
        cursor = answer["next_cursor"]
        if left is not None:
            left -= answer["released"] + answer["still_quarantined"]
        if cursor is None or (left is not None and left <= 0):
            return answers


def _given(filters: dict[str, str | None]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value is not None}


def _address(quarantine_id: str) -> str:
    return f"{_PATH}/{quote(quarantine_id, safe='')}"


def _line(one: dict[str, Any], zone: ZoneInfo) -> str:
    error = one["error"]
    return plain(
        f"{one['quarantine_id']}  {one['stage']}  {error.get('code')}  {_entry(one)}"
        f"  {local(one['last_at'], zone)}  {error.get('message')}"
    )


def _entry(one: dict[str, Any]) -> str:
    if one["entry_id"] is None:
        return f"{one['times']} x {one['excerpt'] or 'a message'}"
    return f"{one['source']}/{one['external_id']}"
