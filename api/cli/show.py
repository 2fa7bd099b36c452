"""`logchord show` and `logchord thread`: an entry, or all that answers it, to read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli import http, output, refs
from api.cli.terminal import facility_zone, local, plain, plain_lines

_INDENT = "    "
_MOST_SHOWN, _MOST_INDENTS = 400, 8


@click.command()
@click.argument("ref")
@click.option("--revision", type=click.IntRange(min=1), help="As it was then.")
@click.option("--diff", is_flag=True, help="What each revision changed, newest first.")
def show(*, ref: str, revision: int | None, diff: bool) -> None:
    """Show an entry.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id.
    """
    out = output.current()
    with http.open_client(out) as client:
        entry = refs.entry(client, ref, revision)
        revisions = list(_revisions(client, entry["entry_id"])) if diff else []
    if out.as_json:
        out.document({**entry, "revisions": revisions} if diff else entry)
        return
    zone = facility_zone()
    out.data(_whole(entry, zone))
    for one in revisions:
        head = f"revision {one['revision']}, {local(one['seen_at'], zone)}"
        out.data(f"\n{click.style(head, bold=True)}\n{plain_lines(one['diff'] or '')}")


@click.command()
@click.argument("ref")
def thread(*, ref: str) -> None:
    """Show the thread of an entry: what it answers, and what answers it."""
    out = output.current()
    with http.open_client(out) as client:
        entry = refs.entry(client, ref)
        where = f"/v1/entries/{entry['entry_id']}/thread"
        found = http.call(client, "GET", where)
    if out.as_json:
        out.document(found)
        return
    zone = facility_zone()
    entries = {one["entry_id"]: one for one in found["entries"]}
    for node in found["tree"]:
        indent = _INDENT * min(node["depth"], _MOST_INDENTS)
        text = _brief(entries[node["entry_id"]], zone)
        out.data(textwrap.indent(text, indent))
    if not found["complete"]:
        out.say(f"There are more; these are the first {len(entries)}.")


def _revisions(client: Any, entry_id: str) -> Iterator[dict[str, Any]]:
    asked: dict[str, Any] = {"limit": 100}
    while True:
        path = f"/v1/entries/{entry_id}/revisions"
        page = http.call(client, "GET", path, params=asked)
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        asked["cursor"] = page["next_cursor"]


def _whole(entry: Mapping[str, Any], zone: ZoneInfo) -> str:
    files = [
        f"{one['filename']} ({one['bytes']} bytes)" for one in entry["attachments"]
    ]
    links = [f"{one['kind']} {one['entry_id']}" for one in entry["links"]]
    facts = (
        ("tags", ", ".join(entry["tags"])),
        ("level", entry["level"]),
        ("shift", entry["shift"]),
        ("names", ", ".join(dict.fromkeys(e["name"] for e in entry["entities"]))),
        ("replies to", entry["reply_to"]),
        ("links", ", ".join(links)),
        ("files", ", ".join(files)),
        ("at", entry["url"]),
        ("permalink", entry["permalink"]),
    )
    told = [f"{name:<12}{plain(value)}" for name, value in facts if value]
    return "\n".join([_head(entry, zone), "", plain_lines(entry["text"]), "", *told])


def _brief(entry: Mapping[str, Any], zone: ZoneInfo) -> str:
    text = plain(entry["text"])
    cut = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + " ..."
    wrapped = textwrap.fill(cut, 88)
    return f"{_head(entry, zone)}\n{wrapped}\n"


def _head(entry: Mapping[str, Any], zone: ZoneInfo) -> str:
    title = click.style(plain(entry["title"]) or "(no title)", bold=True)
    facts = (
        local(entry["entry_time"], zone),
        f"{entry['source']}/{entry['external_id']}",
        ", ".join(entry["logbooks"]),
        ", ".join(entry["authors"]),
        f"revision {entry['revision']}" if entry["revision"] > 1 else "",
    )
    about = " · ".join(plain(fact) for fact in facts if fact)
    return f"{title}\n{click.style(about, dim=True)}"
