"""Which of a search's filters keeps an entry out, by the name that the request uses."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access.scope import Scope
from shared.entries.reading.filter_sql import NARROWED
from shared.postgres.fetch_rows import fetch_value
from shared.search.absence import gates
from shared.search.query.filters import filters
from shared.search.query.filters.fact_filters import Part, QuantityBounds, WantedFact
from shared.search.query.filters.filters import Filters
from shared.text import facts

_NOTHING = Filters()
# The names that requests use, where the fields of `Filters` have others.
_NAMES = {
    **{one: name for name, ways in filters.FIELDS.items() for one in ways.values()},
    "happened_since": "event_from",
    "happened_until": "event_to",
    "ids": "id",
    "not_ids": filters.EXCLUDED,
}
_WINDOW = ("since", "until")
_SEVERAL = ("facts", "fact_parts", "ranges")

_PASSES: LiteralString = f"""
    SELECT EXISTS (
           SELECT FROM entry e
            WHERE e.tenant = %(tenant)s AND e.id = %(entry_id)s{NARROWED})"""


def gate(conn: Connection, scope: Scope, asked: Filters, entry_id: UUID) -> str | None:
    """Return the first gate of the filters that an entry fails; None: it passes all."""
    for name, alone in _each(asked):
        values = {**scope.params, **alone.params, "entry_id": entry_id}
        if not fetch_value(conn, _PASSES, values):
            return name
    return None


def _each(asked: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield every filter alone, the time first."""
    window = replace(_NOTHING, since=asked.since, until=asked.until)
    if window:
        yield gates.OUTSIDE_WINDOW, window
    for one in fields(Filters):
        value = getattr(asked, one.name)
        if one.name in _WINDOW or value == getattr(_NOTHING, one.name):
            continue
        # There may be several facts, parts of facts and ranges.
        several = one.name in _SEVERAL
        parts: list[Any] = [(each,) for each in value] if several else [value]
        for part in parts:
            name = _called(part[0]) if several else _NAMES.get(one.name, one.name)
            yield gates.of_filter(name), replace(_NOTHING, **{one.name: part})


def _called(one: WantedFact | Part | QuantityBounds) -> str:
    if isinstance(one, QuantityBounds):
        return facts.undated(one.dimension)
    values = (*one.any_of, *one.none_of) if isinstance(one, WantedFact) else ()
    return filters.HAS_ATTACHMENT if facts.ATTACHMENT in values else one.field
