"""`logchord digest`: what a shift must know, to be read in its first minutes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli import api_client, output
from api.cli.render.terminal import columns, facility_zone, local, plain
from api.cli.render.text_layout import cells, cut
from api.cli.render.timeline import spell_gap

_HEADS = {
    "handover": "Handed over",
    "open": "Open",
    "resolved": "Resolved",
    "locks": "Locks and tags",
    "new": "Also written",
}
# A narrower rest of a line has no room for words: it is longer than the terminal then.
_LEAST_WORDS = 24


@click.command()
@click.option(
    "--since",
    default="previous_shift",
    show_default=True,
    metavar="WHEN",
    help="`previous_shift`, `this_shift`, a date or a time.",
)
def digest(*, since: str) -> None:
    """Show what a shift must know: what was written, and what stands open."""
    out = output.current()
    told = api_client.ask("GET", "/v1/digest", params={"since": since})
    if out.prints_json(told):
        return
    zone = facility_zone()
    since, until = (local(told[end], zone) for end in ("from", "to"))
    out.data(click.style(f"Shift digest  {since} to {until}", bold=True))
    sections = told["sections"]
    items = [one for name in _HEADS for one in sections[name]]
    if all(_is_before(one, told) for one in items):
        out.data("Empty shift: nothing was written in it.")
    for name, head in _HEADS.items():
        if sections[name]:
            count = len(sections[name])
            out.data(f"\n{click.style(f'{head} ({count})', bold=True)}")
        for one in sections[name]:
            out.data(_line(one, told, zone))
    if sections["devices"]:
        named = [
            f"{plain(one['device'])} {one['count']}" for one in sections["devices"]
        ]
        out.data(f"\n{click.style('Devices named', bold=True)}\n  {', '.join(named)}")
    if not told["complete"]:
        out.say("There is more than this: see /digest, or search it.")


def _is_before(one: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Tell whether an item was written before the time of the digest began."""
    written = datetime.fromisoformat(one["entry_time"])
    return written < datetime.fromisoformat(told["from"])


def _line(one: Mapping[str, Any], told: Mapping[str, Any], zone: ZoneInfo) -> str:
    """Return an item on one line, cited at its end by its permalink and revision."""
    facts = [one["state"]] if one["state"] else []
    if _is_before(one, told):
        until, written = told["to"], one["entry_time"]
        age = spell_gap(datetime.fromisoformat(until) - datetime.fromisoformat(written))
        facts.append(f"{'new' if one['is_new'] else 'from before'}, {age} old")
    begin = f"  {local(one['entry_time'], zone)}  "
    begin += f"[{', '.join(facts)}]  " if facts else ""
    end = f"  {one['permalink']}@{one['revision']}"
    said = one["title"] or one["text"]
    if one["quote"]:
        said = f"{one['title']}: \u201c{one['quote']}\u201d".removeprefix(": ")
    room = max(_LEAST_WORDS, columns() - cells(begin) - cells(end))
    return f"{begin}{cut(plain(said), room)}{click.style(end, dim=True)}"
