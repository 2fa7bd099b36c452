"""Which of a search's filters keeps an entry out, by the name that the request uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access.scope import Scope
from shared.entries.reading.filter_sql import NARROWED
from shared.search.absence import gates
from shared.search.query.filters.filters import HAS_ATTACHMENT, Filters
from shared.text import facts

_NOTHING = Filters()
# The names that requests use, where the fields of `Filters` have others.
_NAMES = {
    "sources": "source",
    "logbooks": "logbook",
    "people": "author",
    "happened_since": "event_from",
    "happened_until": "event_to",
    "ids": "id",
    "not_ids": "exclude_entry_ids",
    "threads": "thread_id",
    "not_sources": "source",
    "source_parts": "source",
    "not_logbooks": "logbook",
    "logbook_parts": "logbook",
    "not_people": "author",
    "not_threads": "thread_id",
}
_WINDOW = ("since", "until")

_PASSES: LiteralString = f"""
    SELECT EXISTS (
           SELECT FROM entry e
            WHERE e.tenant = %(tenant)s AND e.id = %(entry_id)s{NARROWED})"""


def gate(
    conn: Connection[Any], scope: Scope, filters: Filters, entry_id: UUID
) -> str | None:
    """Return the first gate of the filters that an entry fails; None: it passes all."""
    for name, alone in _each(filters):
        values = {**scope.params, **alone.params, "entry_id": entry_id}
        row = conn.execute(_PASSES, values).fetchone()
        if row is not None and not row[0]:
            return name
    return None


def _each(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield every filter alone, the time first."""
    window = replace(_NOTHING, since=filters.since, until=filters.until)
    if window:
        yield gates.OUTSIDE_WINDOW, window
    for one in fields(Filters):
        value = getattr(filters, one.name)
        if one.name in _WINDOW or value == getattr(_NOTHING, one.name):
            continue
        if one.name == "facts":
            for fact in filters.facts:
                is_of_files = facts.ATTACHMENT in (*fact.any_of, *fact.none_of)
                called = HAS_ATTACHMENT if is_of_files else fact.field
                yield gates.of_filter(called), replace(_NOTHING, facts=(fact,))
            continue
        if one.name == "fact_parts":
            for part in filters.fact_parts:
                yield gates.of_filter(part.field), replace(_NOTHING, fact_parts=(part,))
            continue
        if one.name == "ranges":
            for bounds in filters.ranges:
                called = facts.undated(bounds.dimension)
                yield gates.of_filter(called), replace(_NOTHING, ranges=(bounds,))
            continue
        name = _NAMES.get(one.name, one.name)
        yield gates.of_filter(name), replace(_NOTHING, **{one.name: value})
