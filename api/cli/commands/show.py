"""`logchord show` and `logchord thread`: an entry, or all that answers it, to read."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli import api_client, output
from api.cli.entry_input import refs, save_attachments
from api.cli.render import timeline
from api.cli.render.terminal import (
    MOST_COLUMNS,
    columns,
    facility_zone,
    fact_width,
    local,
    plain,
    plain_lines,
    text_width,
)
from api.cli.render.text_layout import cells, joined, labelled, wrapped
from api.entries.worded_findings import word_findings
from shared import entry_fields
from shared.text import plain_text

_INDENT = "    "
# Why a file is not here, where nothing went wrong.
_ABSENT = {
    "due": "being fetched",
    "linked": "not fetched: it lies at its source alone",
    "failed": "not fetched",
}
_MOST_SHOWN, _MOST_INDENTS = 400, 8
# A level more of indenting for each so many columns.
_LEAST_TEXT, _WIDE = 12, 60


@click.command()
@click.argument("ref")
@click.option("--revision", type=click.IntRange(min=1), help="As it was then.")
@click.option("--diff", is_flag=True, help="What each revision changed, newest first.")
@click.option(
    "--attachments",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save its files there; none that is there is replaced.",
)
def show(*, ref: str, revision: int | None, diff: bool, folder: Path | None) -> int:
    """Show an entry.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id.
    """
    out = output.current()
    with api_client.open_client(out) as client:
        entry = refs.entry(client, ref, revision)
        revisions: list[dict[str, Any]] = []
        if diff:
            path = f"/v1/entries/{entry['entry_id']}/revisions"
            revisions, _ = api_client.list_items(client, path, {})
        files = [] if folder is None else save_attachments.save(client, entry, folder)
    if out.as_json:
        more = {"revisions": revisions} if diff else {}
        more |= {} if folder is None else {"saved": [one.told() for one in files]}
        out.document({**entry, **more})
    else:
        _tell(out, entry, revisions)
        save_attachments.tell(out, files)
    if folder is not None and not files:
        out.say("It has no files.")
    return output.DONE if all(one.path for one in files) else output.FAILED


def _tell(
    out: output.Output, entry: Mapping[str, Any], revisions: list[dict[str, Any]]
) -> None:
    zone = facility_zone()
    out.data(_whole(entry, zone))
    for one in revisions:
        head = f"revision {one['revision']}, {local(one['seen_at'], zone)}"
        out.data(f"\n{click.style(head, bold=True)}\n{plain_lines(one['diff'] or '')}")


@click.command()
@click.argument("ref")
def thread(*, ref: str) -> None:
    """Show the thread of an entry: what came to pass, and what answers what."""
    out = output.current()
    with api_client.open_client(out) as client:
        entry = refs.entry(client, ref)
        where = f"/v1/entries/{entry['entry_id']}/thread"
        found = api_client.call(client, "GET", where)
    if out.prints_json(found):
        return
    zone = facility_zone()
    for line in timeline.render_timeline(found, zone):
        out.data(line)
    entries = {one["entry_id"]: one for one in found["entries"]}
    for node in found["tree"]:
        # However deep it is, its text has most of the terminal.
        deepest = min(_MOST_INDENTS, columns() // _LEAST_TEXT)
        indent = _INDENT * min(node["depth"], deepest)
        for line in _brief(entries[node["entry_id"]], zone, len(indent)):
            out.data(f"{indent}{line}".rstrip())
    if not found["complete"]:
        out.say(f"There are more; these are the first {len(entries)}.")
    if not found["timeline_complete"]:
        out.say("It is too long for its steps to be read out of all of it.")


def _whole(entry: Mapping[str, Any], zone: ZoneInfo) -> str:
    files = [_file(one) for one in entry["attachments"]]
    links = [f"{one['kind']} {one['entry_id']}" for one in entry["links"]]
    facts: tuple[tuple[str, str | None], ...] = (
        ("tags", ", ".join(entry["tags"])),
        *((name.replace("_", " "), entry.get(name)) for name in entry_fields.NAMES),
        ("names", ", ".join(dict.fromkeys(e["name"] for e in entry["entities"]))),
        ("replies to", entry["reply_to"]),
        ("links", ", ".join(links)),
        ("files", ", ".join(files)),
    )
    facts = (*facts, *word_findings(entry["findings"]))
    facts = (*facts, *_attributes(entry["metadata"]))
    width = fact_width()
    # The ids of links are not to be broken, either.
    column = 12 if width >= _WIDE else len(_INDENT)
    told = [labelled(name, plain(v), width, column=column) for name, v in facts if v]
    # An address stays whole, however long: it is there to be clicked or copied.
    addresses = (("at", entry["url"]), ("permalink", entry["permalink"]))
    told += [f"{name:<12}{plain(value)}" for name, value in addresses if value]
    head, text = _head(entry, zone, width), _readable(plain_lines(_plain(entry)))
    return "\n".join([*head, "", *text, "", *told])


def _plain(entry: Mapping[str, Any]) -> str:
    """Return the text of an entry without its markup, as a search shows it."""
    return plain_text.to_plain(entry["text"], entry["text_format"])


def _file(one: Mapping[str, Any]) -> str:
    """Return the name of a file with its size, and why it is not here or not read."""
    size = f"{one['bytes']} bytes" if one["bytes"] is not None else ""
    error = one["error"] or {}
    why = error.get("message") or _ABSENT.get(one["state"], "")
    if one["state"] == "due" and error:
        why = f"{why} It is tried again."
    about = "; ".join(part for part in (size, why) if part)
    return f"{one['filename']} ({about.rstrip('.')})"


def _attributes(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the logbook says of an entry beyond what all logbooks do."""
    for name, value in sorted(metadata.items()):
        is_text = isinstance(value, str | int | float)
        yield name, str(value) if is_text else json.dumps(value, ensure_ascii=False)


def _readable(text: str) -> Iterator[str]:
    """Yield the lines of a text, those broken that the terminal would break."""
    widest = columns()
    for line in text.split("\n"):
        if cells(line) <= widest:
            yield line
        else:
            yield from wrapped(line, min(MOST_COLUMNS, widest))


def _brief(entry: Mapping[str, Any], zone: ZoneInfo, indent: int) -> Iterator[str]:
    text = plain(_plain(entry))
    cut = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + " ..."
    width = fact_width()
    yield from _head(entry, zone, width if width == sys.maxsize else width - indent)
    yield from wrapped(cut, text_width() - indent)
    yield ""


def _head(entry: Mapping[str, Any], zone: ZoneInfo, width: int) -> Iterator[str]:
    for line in wrapped(plain(entry["title"]), width) or ["(no title)"]:
        yield click.style(line, bold=True)
    facts = (
        local(entry["entry_time"], zone),
        f"{entry['source']}/{entry['external_id']}",
        "source removed" if entry.get("source_removed") else "",
        ", ".join(entry["logbooks"]),
        ", ".join(entry["authors"]),
        f"revision {entry['revision']}" if entry["revision"] > 1 else "",
    )
    for line in joined([plain(fact) for fact in facts if fact], width):
        yield click.style(line, dim=True)
