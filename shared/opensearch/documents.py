"""What the index holds of an entry, read from Postgres just before it is written."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared import entry_fields
from shared.entries import group_membership
from shared.entries.group_membership import Alike
from shared.entry_fields import EntryFields
from shared.errors import InvalidRequestError
from shared.opensearch import day_buckets
from shared.opensearch.mapping import MAX_KEYWORD_CHARS
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import format_array
from shared.text.facts import dated
from shared.times.rfc3339 import parse_time

# A flat_object takes 32,766 bytes for a value with its path before it; eight keys and
# a value of characters of four bytes each stay below that.
MAX_VALUE_CHARS, MAX_WIDE_VALUE_CHARS, MAX_KEY_CHARS = 8191, 7000, 128
_MAX_VALUE_BYTES = 4 * MAX_WIDE_VALUE_CHARS
# A document of more than 10,000 nested pairs is refused whole; the rest of a long list
# is compared as text only.
MAX_PAIRS = 4000
_EPOCH_SHIFT = 40
# What is kept of a time that was read in the text.
_READ_EVENT = dated("event_time")
_SHORTEST_TIME = len("2026-11-22T23:30")
# What readers say that no list can: an empty one is indexed as missing.
EVERYBODY, NOBODY = "*", "-"

# All of it as it is at one moment, and nothing that no document shows: an entry's text
# stands in its stream. What was read of it is of the current revision, or not at all.
_ROWS: LiteralString = (
    """
    SELECT e.id AS entry_id, e.source, e.external_id, e.doc_version,
           e.deleted_at IS NOT NULL AS deleted, e.kind, e.origin, e.logbooks,
           e.authors, e.tags, """
    + entry_fields.columns("e.")
    + """, nullif(e.metadata, '{}') AS metadata,
           e.entry_time, e.event_time, e.visible_from, e.readers,
           t.language, t.stream, t.idents,
           ARRAY(SELECT DISTINCT term
                   FROM entry_finding f, unnest(f.terms) AS term
                  WHERE f.entry_id = e.id AND f.tenant = %(tenant)s
                  ORDER BY term) AS facts,
           (SELECT f.people FROM entry_finding f
             WHERE f.entry_id = e.id AND f.tenant = %(tenant)s
               AND f.stage = 'metadata') AS people,
           (SELECT jsonb_agg(jsonb_build_object(
                       'dimension', q.dimension, 'value', q.value, 'name', q.name)
                       ORDER BY q.place)
              FROM entry_quantity q
             WHERE q.entry_id = e.id AND q.tenant = %(tenant)s) AS quantities
      FROM entry e
      LEFT JOIN entry_text t
        ON t.entry_id = e.id AND t.revision = e.revision AND t.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s::uuid[])
     ORDER BY e.id
     LIMIT 1000"""
)

_EPOCH: LiteralString = "SELECT epoch FROM installation"


@dataclass(frozen=True, slots=True)
class Document:
    """One document and the version that keeps an older one from replacing it."""

    entry_id: UUID
    version: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _DocumentRow(EntryFields):
    entry_id: UUID
    source: str
    external_id: str
    doc_version: int
    deleted: bool
    kind: str
    origin: str
    logbooks: list[str]
    authors: list[str]
    tags: list[str]
    # None where there are none, as in most: what is JSON is read one by one.
    metadata: dict[str, Any] | None
    entry_time: datetime
    event_time: datetime | None
    visible_from: datetime | None
    readers: list[str] | None
    # None of these three where the entry, as it is now, was not analysed yet.
    language: str | None
    stream: str | None
    idents: list[str] | None
    facts: list[str]
    people: str | None
    quantities: list[dict[str, Any]] | None


def load(conn: Connection, tenant: str, ids: Sequence[UUID]) -> list[Document]:
    """Return the documents of these entries, without those not analysed yet.

    The metadata stage makes them due again, so nothing is written from an older text.
    """
    asked = {"tenant": tenant, "ids": format_array(ids)}
    # In the wire's own form lists and times are read in half the time.
    rows = fetch_all(conn, _DocumentRow, _ROWS, asked, binary=True)
    likes = group_membership.load_memberships(conn, tenant, ids)
    epoch = current_epoch(conn)
    documents = []
    for row in rows:
        version = version_of(epoch, row.doc_version)
        if row.deleted:
            # A deletion by the index itself is forgotten after a minute; this is not.
            body = {
                "tenant": tenant,
                "entry_id": str(row.entry_id),
                "deleted": True,
                "doc_version": row.doc_version,
            }
        elif row.stream is not None:
            body = _body(tenant, row, row.stream.split("\n"))
            body |= _groups(likes.get(row.entry_id))
        else:
            continue
        # What the index is compared by, in sums.
        body["day"] = day_buckets.day_of(row.entry_id)
        body["check"] = day_buckets.check_of(row.entry_id, version)
        documents.append(Document(row.entry_id, version, body))
    return documents


def current_epoch(conn: Connection) -> int:
    """Return how often this installation was restored from a backup."""
    return int(fetch_value(conn, _EPOCH) or 0)


def version_of(epoch: int, doc_version: int) -> int:
    """Return the version that the index holds of a document."""
    return epoch << _EPOCH_SHIFT | doc_version


def _body(tenant: str, row: _DocumentRow, stream: list[str]) -> dict[str, Any]:
    flat, pairs = _metadata(row.metadata or {})
    return {
        "tenant": tenant,
        "entry_id": str(row.entry_id),
        "source": row.source,
        "external_id": row.external_id,
        "kind": row.kind,
        "origin": row.origin,
        "logbooks": row.logbooks,
        "authors": row.authors,
        "tags": row.tags,
        **row.field_values(),
        "entry_time": _time(row.entry_time),
        "event_time": _time(row.event_time or _read_event(row)),
        "visible_from": _time(row.visible_from),
        "readers": _readers(row.readers),
        "deleted": False,
        "doc_version": row.doc_version,
        "language": row.language,
        "stream": stream,
        "idents": row.idents,
        "facts": row.facts,
        "people": (row.people or "").splitlines(),
        "quantities": row.quantities or [],
        "metadata": flat,
        **pairs,
    }


def _read_event(row: _DocumentRow) -> datetime | None:
    """Return the event time that the text states, if the source has none."""
    for one in row.quantities or ():
        if one["dimension"] == _READ_EVENT:
            return datetime.fromtimestamp(one["value"], UTC)
    return None


def _groups(one: Alike | None) -> dict[str, Any]:
    if one is None:
        return {}
    parts = {"group_id": one.group_id, "series_id": one.series_id}
    return {name: str(part) for name, part in parts.items() if part is not None}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def _readers(readers: list[str] | None) -> list[str]:
    if readers is None:
        return [EVERYBODY]
    return readers or [NOBODY]


def _metadata(metadata: dict[str, Any]) -> tuple[Any, dict[str, list[Any]]]:
    numbers: list[Any] = []
    dates: list[Any] = []
    for key, value in _leaves(metadata, ""):
        if isinstance(value, bool) or len(key) > MAX_KEYWORD_CHARS:
            continue
        if isinstance(value, int | float):
            number = _finite(value)
            if number is not None:
                numbers.append({"key": key, "value": number})
        elif isinstance(value, str) and (moment := _date(value)):
            dates.append({"key": key, "value": _time(moment)})
    pairs = {"meta_num": numbers[:MAX_PAIRS], "meta_date": dates[:MAX_PAIRS]}
    return _cut(metadata), pairs


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, path)
    else:
        yield path, value


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        # More digits than a double has; the flat value keeps them.
        return None
    return number if math.isfinite(number) else None


def _date(value: str) -> datetime | None:
    if len(value) < _SHORTEST_TIME or not value[0].isdigit():
        # Nearly every word: to read it as a time, in vain, costs as much as all else.
        return None
    try:
        return parse_time(value, "metadata", zone=None)
    except InvalidRequestError:
        return None


def _cut(value: Any) -> Any:
    """Shorten what the index cannot take; Postgres keeps the whole value."""
    if isinstance(value, dict):
        return {key[:MAX_KEY_CHARS]: _cut(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner) for inner in value]
    if not isinstance(value, str):
        return value
    cut = value[:MAX_VALUE_CHARS]
    return cut if len(cut.encode()) <= _MAX_VALUE_BYTES else cut[:MAX_WIDE_VALUE_CHARS]
