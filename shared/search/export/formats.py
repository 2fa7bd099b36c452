"""Entries as lines of a file: for programs, and for spreadsheets that run formulas."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shared.entries.identity import source_uri
from shared.search.results.hydrate import HitRow
from shared.times.rfc3339 import timestamp

Format = Literal["jsonl", "csv"]
Record = Mapping[str, Any]

FIELDS = (
    *("entry_id", "source", "external_id", "source_uri", "url", "kind", "origin"),
    *("revision", "entry_time", "event_time", "logbooks", "authors", "tags"),
    *("thread_id", "title", "text", "metadata"),
)
MEDIA_TYPES: Mapping[Format, str] = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
}
# Signs that a spreadsheet takes for a formula, or skips before one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_BETWEEN = " | "


def record(tenant: str, row: HitRow) -> Record:
    """Return the fields of an entry that a file has."""
    written = {
        "entry_id": str(row.entry_id),
        "source_uri": source_uri(tenant, row.source, row.external_id),
        "entry_time": timestamp(row.entry_time),
        "event_time": timestamp(row.event_time),
        "thread_id": str(row.thread_id) if row.thread_id else None,
    }
    others = (name for name in FIELDS if name not in written)
    known = {**{name: getattr(row, name) for name in others}, **written}
    return {name: known[name] for name in FIELDS}


def heading(form: Format) -> str:
    """Return the first line of a file: the column names of CSV, else nothing."""
    return _cells(FIELDS) if form == "csv" else ""


def line(form: Format, one: Record) -> str:
    """Return one entry, or another record of the same form, as a line."""
    if form == "jsonl":
        return _as_json(one)
    return _cells([_cell(one[name]) for name in FIELDS])


def ending(
    form: Format,
    rows: int,
    error: Mapping[str, Any] | None = None,
    *,
    complete: bool = True,
    cut: Sequence[str] = (),
) -> str:
    """Return the last record: whether the file has all matches, and how many."""
    whole = complete and error is None and not cut
    last: dict[str, Any] = {"complete": whole, "rows": rows}
    if cut:
        last["diagnostics"] = list(cut)
    if error is not None:
        last["error"] = error
    if form == "jsonl":
        return _as_json(last)
    told = json.dumps(last["complete"]), str(rows)
    why = ["diagnostics", _BETWEEN.join(cut)] if cut else []
    return _cells(["complete", told[0], "rows", told[1], *why])


def _as_json(one: Record) -> str:
    return json.dumps(one, ensure_ascii=False) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, list):
        text = _BETWEEN.join(map(str, value))
    elif isinstance(value, dict):
        text = json.dumps(value, ensure_ascii=False) if value else ""
    else:
        text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cells(values: Any) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(values)
    return written.getvalue()
