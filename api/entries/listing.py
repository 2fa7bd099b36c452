"""What the address of a listing of entries asks for: filters, and how much of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query
from starlette.datastructures import QueryParams

from api.entries.schemas.entries import EntryOut
from shared import suggest
from shared.entries.reading.read_entries import EntryView
from shared.errors import InvalidRequestError
from shared.search.query.filters import filters, time_range
from shared.search.query.result_detail import Detail
from shared.text import door
from shared.times.calendar import Clock

TextDetail = Annotated[
    Detail, Query(description="`brief` cuts each text to 500 characters.")
]
Fields = Annotated[
    str | None, Query(description="Of each entry these alone: `title,text`.")
]
# Characters of text in one answer: with 100 MB of text the API would take 800 MB.
MAX_CHARS = 4_000_000
# These are parameters by themselves, and take several values each.
_DECLARED = frozenset({"source", "logbook"})
_LISTS = frozenset({time_range.RANGE, filters.EXCLUDED})
# As the description has them: a value, or several of which any is enough.
PARAMETERS = [
    {
        "name": name,
        "in": "query",
        "required": False,
        "description": "A filter of a search; several values mean any of them.",
        "schema": {"type": "array", "items": {"type": "string"}},
    }
    for name in sorted({*filters.BUILT, *filters.ALIASES, time_range.RANGE})
    if name not in _DECLARED
]


def is_filter(name: str) -> bool:
    """Tell whether a listing takes this search filter as a parameter."""
    return name not in _DECLARED and filters.is_known(name)


def filters_of(params: QueryParams, most: int, clock: Clock) -> Mapping[str, Any]:
    """Return the filters of an address as its statement takes them."""
    given: dict[str, Any] = {}
    for name in dict.fromkeys(filter(is_filter, params.keys())):
        values = [door.admit(one, name) for one in params.getlist(name)]
        if name in _LISTS:
            given[name] = values
        else:
            given[name] = values[0] if len(values) == 1 else {"in": values}
    return filters.parse(given, max_values=most, clock=clock).params


def parse_fields(written: str | None) -> list[str] | None:
    """Return the names in `a,b`, or refuse one that no entry has; None: all of them."""
    if written is None:
        return None
    known = EntryOut.model_fields
    names = [one.strip() for one in written.split(",") if one.strip()]
    for name in names:
        if name not in known:
            message = f"There is no field {name[:100]!r}.{suggest.hint(name, known)}"
            raise InvalidRequestError.field("fields", "unknown_field", message)
    return names or None


def select_fields(
    items: Iterable[dict[str, Any]], names: list[str] | None
) -> list[dict[str, Any]]:
    """Return of each entry the fields that are wanted."""
    if names is None:
        return list(items)
    return [{name: one[name] for name in names if name in one} for one in items]


def fitting(entries: Sequence[EntryView]) -> int:
    """Return how many entries one answer holds with their whole texts; one at least."""
    chars = 0
    for number, one in enumerate(entries):
        chars += one.text_chars
        if chars > MAX_CHARS:
            return max(1, number)
    return len(entries)


def bounded(entries: Sequence[EntryView], most: int | None) -> list[EntryView]:
    """Return the entries with texts of a bounded length; None: with whole texts."""
    if most is None:
        return list(entries)
    kept: list[EntryView] = []
    for one in entries:
        text = one.text[:most]
        most -= len(text)
        kept.append(replace(one, text=text))
    return kept
