"""Compare the index with Postgres, entry by entry, and make due what differs.

Versions tell: an index that holds `epoch << 40 | doc_version` holds the entry as it is.
Tombstones are documents too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, LiteralString
from uuid import UUID

from opensearchpy import OpenSearch
from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from shared.broker import INDEX_STAGE, METADATA_STAGE
from shared.due import rows as due
from shared.due.maintenance import Progress
from shared.errors import OpenSearchError
from shared.log import get_logger
from shared.opensearch import documents, mapping
from shared.opensearch.client import translated_errors
from shared.postgres import Pool, connection

log = get_logger()

STEP_ENTRIES = 1000
_TIMEOUT_SECONDS = 10
# Up to here entries are counted; above it, what the planner thinks is near enough.
_COUNTED = 100_000

# What waits unclaimed will be written as it is then, and what was put aside is known. A
# row that somebody holds may just have been written to an index that is gone since.
_PAGE: LiteralString = """
    SELECT e.id, e.tenant, e.doc_version,
           EXISTS (SELECT FROM work w
                    WHERE w.entry_id = e.id
                      AND (w.stage = %(metadata)s
                           OR (w.stage = %(index)s AND w.claim IS NULL)))
           OR EXISTS (SELECT FROM quarantine q
                       WHERE q.entry_id = e.id
                         AND q.stage IN (%(metadata)s, %(index)s)) AS is_known
      FROM entry e
     WHERE (%(after)s::uuid IS NULL OR e.id > %(after)s) AND e.id <= %(until)s
     ORDER BY e.id
     LIMIT %(limit)s"""
_LAST: LiteralString = "SELECT id FROM entry ORDER BY id DESC LIMIT 1"
_COUNT: LiteralString = """
    SELECT greatest(
        (SELECT count(*) FROM (SELECT FROM entry LIMIT %(counted)s) AS few),
        (SELECT reltuples::bigint FROM pg_class WHERE oid = 'entry'::regclass))"""


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry and whether its document needs no look."""

    id: UUID
    tenant: str
    doc_version: int
    is_known: bool


Effect = Callable[[Connection[TupleRow]], Progress]


def prepare(
    client: OpenSearch,
    base: str,
    pool: Pool,
    cursor: Mapping[str, Any] | None,
    done: int,
    total: int | None,
) -> Effect:
    """Compare one page outside every transaction; return what to commit of it."""
    with connection(pool) as conn:
        if cursor is None:
            # What comes in from now on has work of its own, and is not walked after.
            cursor, total = _begin(conn)
        page = _page(conn, cursor) if cursor["until"] else []
        epoch = documents.current_epoch(conn)
    wanted = {
        row.id: documents.version_of(epoch, row.doc_version)
        for row in page
        if not row.is_known
    }
    found = _versions(client, mapping.write_alias(base), list(wanted))
    differ = [row for row in page if found.get(row.id) != wanted.get(row.id)]
    progress = _progress(cursor, page, done, total, len(differ))
    *others, last = _by_tenant(differ) or [[]]
    for rows in others:
        # A commit each: rows of two tenants in one would not be in order of their key.
        # Made due once more after a death, they are written once more, no worse.
        with connection(pool) as conn:
            _make_due(conn, rows)

    def commit(conn: Connection[TupleRow]) -> Progress:
        _make_due(conn, last)
        return progress

    return commit


def _begin(conn: Connection[TupleRow]) -> tuple[dict[str, Any], int]:
    last = conn.execute(_LAST).fetchone()
    count = conn.execute(_COUNT, {"counted": _COUNTED}).fetchone()
    until = str(last[0]) if last else None
    return {"after": None, "until": until, "made_due": 0}, int(count[0]) if count else 0


def _page(conn: Connection[TupleRow], cursor: Mapping[str, Any]) -> list[_Row]:
    values = {
        "metadata": METADATA_STAGE,
        "index": INDEX_STAGE,
        "after": cursor["after"],
        "until": cursor["until"],
        "limit": STEP_ENTRIES,
    }
    with conn.cursor(row_factory=class_row(_Row)) as cur:
        return cur.execute(_PAGE, values).fetchall()


def _versions(client: OpenSearch, alias: str, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return the versions that the index holds, also of what is not searchable yet."""
    if not ids:
        return {}
    with translated_errors():
        answer = client.mget(
            body={"ids": [str(one) for one in ids]},
            index=alias,
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


def _by_tenant(differ: Sequence[_Row]) -> list[list[_Row]]:
    in_order = sorted(differ, key=lambda row: row.tenant)
    return [list(group) for _, group in groupby(in_order, key=lambda row: row.tenant)]


def _make_due(conn: Connection[TupleRow], rows: Sequence[_Row]) -> None:
    if rows:
        ids = [row.id for row in rows]
        due.add(conn, rows[0].tenant, ids, [INDEX_STAGE], work_class=due.BULK)


def _progress(
    cursor: Mapping[str, Any],
    page: Sequence[_Row],
    done: int,
    total: int | None,
    made_due: int,
) -> Progress:
    done += len(page)
    made_due += cursor["made_due"]
    if len(page) < STEP_ENTRIES:
        log.info("index_reconciled", entries=done, made_due=made_due)
        return Progress(None, done, total=done)
    went = {
        "after": str(page[-1].id),
        "until": cursor["until"],
        "made_due": made_due,
    }
    return Progress(went, done, max(total or 0, done))
