"""`logchord audit`: who searched, read, exported, administered and logged in."""

from typing import Any, get_args
from zoneinfo import ZoneInfo

import click

from api.cli import api_client, output
from api.cli.render.terminal import facility_zone, local, plain
from shared.access.audit_records import Action


@click.command()
@click.option("--who", help="Only of this key, by its id, or of this person.")
@click.option("--action", type=click.Choice(get_args(Action)), help="Only these.")
@click.option(
    "--target", help="Only of this entry, by any of its names, key or source."
)
@click.option("--since", help="From then on: 2026-03-02T06:00, or with an offset.")
@click.option("--until", help="Before then.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, help="At most so many."
)
def audit(*, limit: int, **filters: str | None) -> None:
    """Show who did what, the newest first; for admins."""
    out = output.current()

    def print_rows(found: list[dict[str, Any]]) -> None:
        zone = facility_zone()
        for one in found:
            out.data(_line(one, zone))

    nothing = "Nothing like that is in the audit."
    api_client.print_items("/v1/audit", filters, limit, print_rows, nothing=nothing)


def _line(one: dict[str, Any], zone: ZoneInfo) -> str:
    who = " ".join(filter(None, (one["key_id"], one["subject"])))
    about = (one["target"], one["query"] or one["query_key"])
    status = f" ({one['status']})" if one["status"] else ""
    return plain(
        f"{local(one['at'], zone)}  {one['action']:<10} {one['outcome']}{status}"
        f"  {who} [{one['way_in']}]  {one['request']}  {' '.join(filter(None, about))}"
    ).rstrip()
