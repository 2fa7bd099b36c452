"""`logchord similar`: what happened like an entry before."""

import click

from api.cli import api_client, output
from api.cli.entry_input import refs
from api.cli.search.hit import HitLayout, render_hit


@click.command()
@click.argument("ref")
@click.option("--limit", type=click.IntRange(1, 100), default=10)
@click.option("--days", type=click.IntRange(min=1), help="Only what is so new.")
def similar(*, ref: str, limit: int, days: int | None) -> None:
    """Show what is like an entry: near to it by meaning, or about the same things.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id. Its own thread is left out.
    """
    out = output.current()
    params = {"limit": limit} if days is None else {"limit": limit, "days": days}
    with api_client.open_client(out) as client:
        entry_id = refs.entry(client, ref)["entry_id"]
        path = f"/v1/entries/{entry_id}/similar"
        found = api_client.call(client, "GET", path, params=params)
    if out.prints_json(found):
        return
    page = HitLayout.here()
    for result in found["results"]:
        out.data(render_hit(result, page))
    if not found["results"]:
        out.data("Nothing is like it.")
