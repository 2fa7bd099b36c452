"""Which row of the conformance kit applies to which adapter, by what it promises."""

import re
from collections.abc import Mapping

from shared.adapter_contract.contract import AdapterDescriptor

YES, NOT_APPLICABLE = "yes", "n/a"
_CELLS = re.compile(r"^\|(.+)\|$", re.MULTILINE)

# The rows of the kit, and what each proves.
ROWS: Mapping[str, str] = {
    "ADP1": "descriptor and imports",
    "ADP2": "full load",
    "ADP3": "an unchanged source",
    "ADP4": "killed after each page",
    "ADP5": "entries that appear during a run",
    "ADP6": "a back-dated entry",
    "ADP7": "edits",
    "ADP8": "edits that make a new id",
    "ADP9": "deletions",
    "ADP10": "a listing that lies",
    "ADP11": "replies and threads",
    "ADP12": "one number in two logbooks",
    "ADP13": "equal times across a page's edge",
    "ADP14": "more in one second than a page holds",
    "ADP15": "times",
    "ADP16": "a clock that goes wrong",
    "ADP17": "charsets",
    "ADP18": "escapes",
    "ADP19": "a malformed item",
    "ADP20": "missing and oversized fields",
    "ADP21": "faults of the server",
    "ADP22": "attachments",
    "ADP23": "the cursor",
    "ADP24": "`parse` is pure",
    "ADP25": "spoilt payloads",
    "ADP26": "drafts",
    "ADP27": "stopping between pages",
    "ADP28": "page sizes",
    "ADP29": "counts of a run",
    "ADP30": "a snapshot while the source is down",
    "ADP31": "two pollers, and backing off",
    "ADP32": "every kind of run stores the same",
}


def not_applicable(row: str, descriptor: AdapterDescriptor) -> str | None:
    """Return why a row is not asked of an adapter, or None where it is."""
    can, place = descriptor.capabilities, descriptor.place
    unlistable = "nothing is deleted because a listing lacks it"
    reasons = {
        "ADP7": (
            can.edits in {"append_only", "invisible"},
            "its source shows no edits",
        ),
        "ADP8": (not can.edit_makes_new_id, "an edit keeps its id"),
        "ADP9": (
            can.deletes in {"impossible", "invisible"},
            "its source shows no deletions",
        ),
        "ADP10": (can.deletes not in {"index", "rescan"}, unlistable),
        "ADP11": (can.replies in {"title", "none"}, "its source names no parents"),
        "ADP12": (not can.scoped_ids, "its ids are unique in the source"),
        "ADP16": (place not in {"base_url", "either"}, "no server is asked over HTTP"),
        "ADP21": (place not in {"base_url", "either"}, "no server is asked over HTTP"),
        "ADP22": (can.attachments == "none", "it has no attachments"),
        "ADP26": (not can.drafts, "its source has no drafts"),
        "ADP30": (place != "either", "it has no files beside a server"),
    }
    is_lacking, reason = reasons.get(row, (False, ""))
    return reason if is_lacking else None


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
