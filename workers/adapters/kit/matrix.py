"""Which row of the conformance kit applies to which adapter, by what it promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.adapter_contract.contract import AdapterCapabilities, AdapterDescriptor

YES, NOT_APPLICABLE = "yes", "n/a"
_CELLS = re.compile(r"^\|(.+)\|$", re.MULTILINE)

# Returns why a row does not apply, or None.
Rule = Callable[[AdapterDescriptor], str | None]


@dataclass(frozen=True, slots=True)
class KitRow:
    """One row of the kit: what it proves, and of whom it is not asked."""

    id: str
    title: str
    rule: Rule


def _always(_: AdapterDescriptor) -> None:
    return None


def _unless(holds: Callable[[AdapterCapabilities], bool], reason: str) -> Rule:
    return lambda one: None if holds(one.capabilities) else reason


def _asks_a_server(one: AdapterDescriptor) -> str | None:
    if one.place in {"base_url", "either"}:
        return None
    return "no server is asked over HTTP"


def _has_files(one: AdapterDescriptor) -> str | None:
    return None if one.place == "either" else "it has no files beside a server"


_EDITS = _unless(
    lambda can: can.edits not in {"append_only", "invisible"},
    "its source shows no edits",
)
_DELETES = _unless(
    lambda can: can.deletes not in {"impossible", "invisible"},
    "its source shows no deletions",
)

ROWS = {
    row.id: row
    for row in (
        KitRow("ADP1", "descriptor and imports", _always),
        KitRow("ADP2", "full load", _always),
        KitRow("ADP3", "an unchanged source", _always),
        KitRow("ADP4", "killed after each page", _always),
        KitRow("ADP5", "entries that appear during a run", _always),
        KitRow("ADP6", "a back-dated entry", _always),
        KitRow("ADP7", "edits", _EDITS),
        KitRow(
            "ADP8",
            "edits that make a new id",
            _unless(lambda can: can.edit_makes_new_id, "an edit keeps its id"),
        ),
        KitRow("ADP9", "deletions", _DELETES),
        KitRow(
            "ADP10",
            "a listing that lies",
            _unless(
                lambda can: can.deletes in {"index", "rescan"},
                "nothing is deleted because a listing lacks it",
            ),
        ),
        KitRow(
            "ADP11",
            "replies and threads",
            _unless(
                lambda can: can.replies not in {"title", "none"},
                "its source names no parents",
            ),
        ),
        KitRow(
            "ADP12",
            "one number in two logbooks",
            _unless(lambda can: can.scoped_ids, "its ids are unique in the source"),
        ),
        KitRow("ADP13", "equal times across a page's edge", _always),
        KitRow("ADP14", "more in one second than a page holds", _always),
        KitRow("ADP15", "times", _always),
        KitRow("ADP16", "a clock that goes wrong", _asks_a_server),
        KitRow("ADP17", "charsets", _always),
        KitRow("ADP18", "escapes", _always),
        KitRow("ADP19", "a malformed item", _always),
        KitRow("ADP20", "missing and oversized fields", _always),
        KitRow("ADP21", "faults of the server", _asks_a_server),
        KitRow(
            "ADP22",
            "attachments",
            _unless(lambda can: can.attachments != "none", "it has no attachments"),
        ),
        KitRow("ADP23", "the cursor", _always),
        KitRow("ADP24", "`parse` is pure", _always),
        KitRow("ADP25", "spoilt payloads", _always),
        KitRow(
            "ADP26",
            "drafts",
            _unless(lambda can: can.drafts, "its source has no drafts"),
        ),
        KitRow("ADP27", "stopping between pages", _always),
        KitRow("ADP28", "page sizes", _always),
        KitRow("ADP29", "counts of a run", _always),
        KitRow("ADP30", "a snapshot while the source is down", _has_files),
        KitRow("ADP31", "two pollers, and backing off", _always),
        KitRow("ADP32", "every kind of run stores the same", _always),
    )
}


def not_applicable(row: str, descriptor: AdapterDescriptor) -> str | None:
    """Return why a row is not asked of an adapter, or None where it is."""
    return ROWS[row].rule(descriptor)


def says(row: str, descriptor: AdapterDescriptor) -> str:
    """Return the word for a row and an adapter."""
    return YES if not_applicable(row, descriptor) is None else NOT_APPLICABLE


def parse_page(page: str) -> dict[str, dict[str, str]]:
    """Return the table of a reference page, by row and by adapter."""
    lines = [
        [cell.strip(" `") for cell in line.split("|")] for line in _CELLS.findall(page)
    ]
    said: dict[str, dict[str, str]] = {}
    head: list[str] = []
    for cells in lines:
        if cells[0] == "row":
            head = cells
        elif cells[0] in ROWS and len(cells) == len(head):
            said[cells[0]] = dict(zip(head[2:], cells[2:], strict=True))
    return said


def disagreement(
    said: dict[str, dict[str, str]], row: str, descriptor: AdapterDescriptor
) -> str | None:
    """Return how the page and the adapter differ about a row, or None."""
    holds = says(row, descriptor)
    written = said.get(row, {}).get(descriptor.name, "nothing")
    if written == holds:
        return None
    return f"the page says {written} of {row} for {descriptor.name}; it is {holds}"
