"""The index beside Postgres: days that differ first, and only in those every entry.

A document carries the day of its entry's id and a number made of id and version. Where
count and sum of a day are equal, so is each version of that day; tombstones are
documents too, until they are old: then the index should not have them any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from opensearchpy import OpenSearch
from psycopg import Connection

from shared.errors import OpenSearchError
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.opensearch import day_buckets, documents
from shared.opensearch.client import refresh, translate_engine_errors
from shared.opensearch.day_buckets import MILLISECONDS_A_DAY
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import Pool, connection

# A step looks at so many days, or at so many entries of one that differs.
STEP_DAYS = 64
STEP_ENTRIES = 1000
_TIMEOUT_SECONDS = 10

# By the id alone: when an entry came in never changes, whatever its edits say. What was
# deleted long ago is past by our clock: a source may say that it did so years ago.
_DAYS: LiteralString = """
    SELECT day, count(*), count(*) FILTER (WHERE NOT is_past),
           coalesce(sum(checked) FILTER (WHERE NOT is_past), 0)::bigint
      FROM (SELECT ('x' || left(replace(e.id::text, '-', ''), 12))::bit(48)::bigint
                   / %(day)s AS day,
                   ('x' || left(md5(e.id::text || ':' ||
                        ((%(epoch)s::bigint << 40) | e.doc_version)), 8)
                   )::bit(32)::bigint & 2147483647 AS checked,
                   e.deleted_at IS NOT NULL AND e.modified_at
                   < now() - make_interval(days => %(tombstone_days)s) AS is_past
              FROM entry e
             WHERE e.id >= %(first)s AND e.id <= %(last)s) AS one
     GROUP BY 1
     ORDER BY 1
     LIMIT 1000"""
# What waits unclaimed will be written as it is then, and what was quarantined is known.
# A row that somebody holds may just have been written to an index that is gone since.
_ROWS: LiteralString = """
    SELECT e.id, e.tenant, e.doc_version,
           e.deleted_at IS NOT NULL AND e.modified_at
           < now() - make_interval(days => %(tombstone_days)s) AS is_past,
           EXISTS (SELECT FROM work w
                    WHERE w.entry_id = e.id
                      AND (w.stage = %(metadata)s
                           OR (w.stage = %(index)s AND w.claim IS NULL)))
           OR EXISTS (SELECT FROM quarantine q
                       WHERE q.entry_id = e.id
                         AND q.stage IN (%(metadata)s, %(index)s)) AS is_known
      FROM entry e"""
_PAGE: LiteralString = f"""{_ROWS}
     WHERE e.id >= %(first)s AND e.id <= %(last)s
     ORDER BY e.id
     LIMIT %(limit)s"""
_THESE: LiteralString = _ROWS + " WHERE e.id = ANY(%(ids)s) ORDER BY e.id LIMIT 10000"
_PATIENTLY: LiteralString = "SELECT set_config('statement_timeout', '30000', true)"
_NEXT: LiteralString = """
    SELECT id FROM entry WHERE id >= %(first)s ORDER BY id LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One entry, and whether its document needs no look."""

    id: UUID
    tenant: str
    doc_version: int
    # A tombstone that the index need not have any more.
    is_past: bool
    is_known: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences found so far, and where to go on; None: at the end."""

    goes_on: dict[str, Any] | None
    # Entries that were gone by, equal or not.
    seen: int = 0
    # Missing in the index, or of another version there.
    differ: tuple[ComparedRow, ...] = ()
    # In the index, and no entry any more; with the version there.
    extra: tuple[tuple[UUID, int], ...] = ()
    # In the index, and deleted so long ago that it need not be; with the version there.
    past: tuple[tuple[UUID, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sides:
    """The two that are compared."""

    client: OpenSearch
    index: str
    pool: Pool
    # For how long the index keeps what was deleted.
    tombstone_days: int


def look(sides: Sides, came: Mapping[str, Any] | None) -> Differences:
    """Compare the next days, or the next entries of a day; `came` says from where."""
    if came is None:
        # What was written a moment ago is not missing.
        refresh(sides.client, sides.index, _TIMEOUT_SECONDS)
        came = {"day": 0, "days": [], "after": None}
    if came["days"]:
        return _look_at_entries(sides, came)
    return _look_at_days(sides, int(came["day"]))


def _look_at_days(sides: Sides, day: int) -> Differences:
    first = _next_day(sides, day)
    if first is None:
        return Differences(None)
    last = first + STEP_DAYS - 1
    entries, wanted = _days_of_entries(sides, first, last)
    found = _days_of_index(sides, first, last)
    days = sorted(
        one for one in wanted.keys() | found.keys() if wanted.get(one) != found.get(one)
    )
    # Those of days that differ are counted when they are gone through.
    seen = sum(count for one, count in entries.items() if one not in days)
    return Differences({"day": last + 1, "days": days, "after": None}, seen)


def _next_day(sides: Sides, day: int) -> int | None:
    """Return the next day that either side has anything of."""
    with connection(sides.pool) as conn:
        entry_id = fetch_value(conn, _NEXT, {"first": day_buckets.first_id(day)})
    body = {
        "size": 0,
        "query": {"range": {"day": {"gte": day}}},
        "aggs": {"first": {"min": {"field": "day"}}},
    }
    found = _ask(sides, body)["aggregations"]["first"]["value"]
    days = [int(found)] if found is not None else []
    if entry_id is not None:
        days.append(day_buckets.day_of(entry_id))
    return min(days, default=None)


def _days_of_entries(
    sides: Sides, first: int, last: int
) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Return the number of entries by day; and number and check sum of documents."""
    with connection(sides.pool) as conn:
        # A day on which ten million entries came in takes ten seconds.
        conn.execute(_PATIENTLY)
        values = {
            "day": MILLISECONDS_A_DAY,
            "epoch": documents.current_epoch(conn),
            "first": day_buckets.first_id(first),
            "last": day_buckets.last_id(last),
            "tombstone_days": sides.tombstone_days,
        }
        rows = conn.execute(_DAYS, values).fetchall()
    entries = {int(day): int(count) for day, count, *_ in rows}
    return entries, {int(day): (int(n), int(check)) for day, _, n, check in rows if n}


def _days_of_index(sides: Sides, first: int, last: int) -> dict[int, tuple[int, int]]:
    body = {
        "size": 0,
        "query": {"range": {"day": {"gte": first, "lte": last}}},
        "aggs": {
            "days": {
                "terms": {"field": "day", "size": STEP_DAYS},
                "aggs": {"check": {"sum": {"field": "check"}}},
            }
        },
    }
    buckets = _ask(sides, body)["aggregations"]["days"]["buckets"]
    return {
        int(one["key"]): (int(one["doc_count"]), int(one["check"]["value"]))
        for one in buckets
    }


def _look_at_entries(sides: Sides, came: Mapping[str, Any]) -> Differences:
    day, *others = came["days"]
    after = came["after"]
    first = (
        day_buckets.first_id(day) if after is None else UUID(int=UUID(after).int + 1)
    )
    with connection(sides.pool) as conn:
        epoch = documents.current_epoch(conn)
        page = _page(conn, sides, first, day_buckets.last_id(day))
    is_last = len(page) < STEP_ENTRIES
    until = day_buckets.last_id(day) if is_last else page[-1].id
    found, reached = _of_index(sides, first, until)
    if reached < until:
        # Many are of no entry: each of them is taken out by itself, in this step.
        until, is_last = reached, False
        page = [row for row in page if row.id <= until]
    suspects = [
        row
        for row in page
        if not (row.is_known or row.is_past)
        and found.get(row.id) != _version(epoch, row)
    ]
    known = {row.id for row in page if not row.is_past}
    strangers = {one: v for one, v in found.items() if one not in known}
    differ, extra, past = _look_again(sides, epoch, suspects, strangers)
    goes_on = {**came, "after": None if is_last else str(until)}
    if is_last:
        goes_on["days"] = others
    return Differences(goes_on, len(page), tuple(differ), tuple(extra), tuple(past))


def _look_again(
    sides: Sides,
    epoch: int,
    suspects: Sequence[ComparedRow],
    strangers: Mapping[UUID, int],
) -> tuple[list[ComparedRow], list[tuple[UUID, int]], list[tuple[UUID, int]]]:
    """Return the differences that a second look confirms: a search is a second old.

    Beside it return indexed ids without an entry, and entries deleted long ago.
    """
    if not suspects and not strangers:
        return [], [], []
    stored = _versions(sides, [row.id for row in suspects])
    with connection(sides.pool) as conn:
        asked = sorted({*(row.id for row in suspects), *strangers})
        now = {row.id: row for row in rows_of(conn, sides, asked)}
    differ = [
        now[row.id]
        for row in suspects
        if row.id in now
        and not (now[row.id].is_known or now[row.id].is_past)
        and now[row.id].doc_version == row.doc_version
        and stored.get(row.id) != _version(epoch, row)
    ]
    extra = [(one, v) for one, v in strangers.items() if one not in now]
    past = [(one, v) for one, v in strangers.items() if one in now and now[one].is_past]
    return differ, extra, past


def _page(conn: Connection, sides: Sides, first: UUID, last: UUID) -> list[ComparedRow]:
    bounds = {"first": first, "last": last, "limit": STEP_ENTRIES}
    return fetch_all(conn, ComparedRow, _PAGE, {**bounds, **_named(sides)})


def rows_of(conn: Connection, sides: Sides, ids: Sequence[UUID]) -> list[ComparedRow]:
    """Return the present rows of entries; purged ones are absent."""
    return fetch_all(conn, ComparedRow, _THESE, {"ids": list(ids), **_named(sides)})


def _named(sides: Sides) -> dict[str, str | int]:
    return {
        "metadata": METADATA_STAGE,
        "index": INDEX_STAGE,
        "tombstone_days": sides.tombstone_days,
    }


def _of_index(sides: Sides, first: UUID, last: UUID) -> tuple[dict[UUID, int], UUID]:
    """Return the version of documents between two ids, and up to which: of two pages.

    So many are more than a page of entries has, unless many are of no entry.
    """
    found: dict[UUID, int] = {}
    bound: dict[str, str] = {"gte": str(first), "lte": str(last)}
    for _ in range(2):
        body = {
            "size": STEP_ENTRIES,
            "_source": False,
            "version": True,
            "query": {"range": {"entry_id": bound}},
            "sort": [{"entry_id": "asc"}],
        }
        hits = _ask(sides, body)["hits"]["hits"]
        found |= {UUID(hit["_id"]): int(hit["_version"]) for hit in hits}
        if len(hits) < STEP_ENTRIES:
            return found, last
        bound = {"gt": str(hits[-1]["_id"]), "lte": str(last)}
    return found, UUID(bound["gt"])


def _versions(sides: Sides, ids: Iterable[UUID]) -> dict[UUID, int]:
    """Return the versions of documents in the index, searchable already or not."""
    asked = [str(one) for one in ids]
    if not asked:
        return {}
    with translate_engine_errors():
        answer = sides.client.mget(
            body={"ids": asked},
            index=sides.index,
            params={"_source": "false", "request_timeout": _TIMEOUT_SECONDS},
        )
    found = {}
    for item in answer["docs"]:
        if "error" in item:
            # The alias has no index just now: an error of each, never "not found".
            raise OpenSearchError(technical=str(item["error"].get("type")))
        if item["found"]:
            found[UUID(item["_id"])] = int(item["_version"])
    return found


def _ask(sides: Sides, body: dict[str, Any]) -> dict[str, Any]:
    with translate_engine_errors():
        answer: dict[str, Any] = sides.client.search(
            index=sides.index, body=body, params={"request_timeout": _TIMEOUT_SECONDS}
        )
    if answer["timed_out"] or answer["_shards"]["failed"]:
        # What a part of the index has not told is not missing.
        raise OpenSearchError(technical=str(answer["_shards"])[:500])
    return answer


def _version(epoch: int, row: ComparedRow) -> int:
    return documents.version_of(epoch, row.doc_version)
