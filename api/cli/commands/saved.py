"""`logchord saved`: searches whose owner is told of new entries."""

from typing import Any

import click

from api.cli import api_client, output
from api.cli.render.terminal import facility_zone, local, plain

_PATH = "/v1/saved-searches"
_FILTERS = ("logbook", "source")
_DIGESTS = ("none", "shift", "day")
_ID = click.argument("saved_id", metavar="ID")


@click.group()
def saved() -> None:
    """Be told of new entries that a search finds."""


@saved.command("list")
def list_saved() -> None:
    """List your saved searches, the newest first."""
    out = output.current()
    with api_client.open_client(out) as client:
        found, _ = api_client.list_items(client, _PATH, {})
    if out.prints_json(found):
        return
    for one in found:
        out.data(_line(one))
    if not found:
        out.say("You have none: logchord saved add NAME QUERY")


@saved.command()
@click.argument("name")
@click.argument("query")
@click.option("--logbook", multiple=True, help="Only entries of these logbooks.")
@click.option("--source", multiple=True, help="Only entries of these sources.")
@click.option(
    "--webhook", metavar="URL", help="Where to: https://, chat+https://, mailto:."
)
@click.option(
    "--digest",
    type=click.Choice(_DIGESTS),
    default="none",
    help="Post those of a shift or a day together.",
)
@click.option("--quiet", nargs=2, metavar="FROM UNTIL", help="As 22:00 06:00.")
@click.option("--words-only", is_flag=True, help="Match no entry by meaning.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Lowest cosine of a match by meaning.",
)
@click.option("--each-entry", is_flag=True, help="Of a thread tell every entry.")
@click.option("--no-alerts", is_flag=True, help="Keep it, and tell nothing yet.")
def add(*, name: str, query: str, **given: Any) -> None:
    """Save a search; from now on you are told of what it finds."""
    out = output.current()
    quiet = given["quiet"]
    body = {
        "name": name,
        "request": {
            "query": query,
            "filters": {field: [*given[field]] for field in _FILTERS if given[field]},
        },
        "semantic": not given["words_only"],
        "similarity_threshold": given["threshold"],
        "alert": {
            "enabled": not given["no_alerts"],
            "webhook_url": given["webhook"],
            "digest": given["digest"],
            "quiet_hours": {"from": quiet[0], "until": quiet[1]} if quiet else None,
            "one_per_thread": not given["each_entry"],
        },
    }
    one = api_client.ask("POST", _PATH, json=body)
    if out.prints_json(one):
        return
    out.data(_line(one))
    if given["webhook"]:
        out.say(f"Its signatures are made with {one['alert']['signing_secret']}")


@saved.command()
@_ID
@click.option(
    "--days", type=click.IntRange(1, 366), default=30, help="How far to look back."
)
def preview(*, saved_id: str, days: int) -> None:
    """Count the alerts there would have been; nothing is sent."""
    out = output.current()
    found = api_client.ask("POST", f"{_PATH}/{saved_id}/preview", json={"days": days})
    if out.prints_json(found):
        return
    out.data(f"{found['would_have_fired']} alerts in {days} days")
    zone = facility_zone()
    for one in found["samples"]:
        named = plain(f"{one['source']}/{one['external_id']}")
        ways = ", ".join(one["matched_by"])
        when = local(one["entry_time"], zone)
        out.data(f"  {when}  {named}  {plain(one['title'])}  ({ways})")


@saved.command()
@_ID
def remove(*, saved_id: str) -> None:
    """Remove a saved search, with its alerts."""
    out = output.current()
    api_client.ask("DELETE", f"{_PATH}/{saved_id}")
    out.say(f"{saved_id} is removed.")


def _line(one: dict[str, Any]) -> str:
    alert = one["alert"]
    way = "listed" if alert["webhook_url"] is None else plain(alert["webhook_url"])
    if alert["digest"] != "none":
        way += f", each {alert['digest']}"
    told = way if alert["enabled"] else "off"
    query = plain(one["request"]["query"])
    return f"{one['id']}  {plain(one['name'])}  {query}  alerts: {told}"
