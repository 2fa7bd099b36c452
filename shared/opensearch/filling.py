"""What the index lacks: a batch of documents, or, where it is new, all of them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import LiteralString
from uuid import UUID

from opensearchpy import OpenSearch
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import rows as due
from shared.due.rows import Claim
from shared.entries.entry import INDEX_STAGE
from shared.errors import OpenSearchError
from shared.log import get_logger
from shared.opensearch import bulk, documents, mapping
from shared.postgres import Pool, connection

log = get_logger()

# Fifty entries of a megabyte each is what a worker may hold at once.
_LOADED_AT_ONCE = 50
_PAGE = 5000

# Of one tenant, or of all where an index has to be filled.
_ENTRIES: LiteralString = """
    SELECT id, tenant FROM entry
     WHERE (%(tenant)s::text IS NULL OR tenant = %(tenant)s)
       AND (%(after)s::uuid IS NULL OR id > %(after)s)
       AND (%(tombstones)s OR deleted_at IS NULL)
     ORDER BY id
     LIMIT %(limit)s"""

_NOTE_MISSED: LiteralString = "UPDATE installation SET index_missed_at = now()"
_MISSED: LiteralString = "SELECT index_missed_at FROM installation"
_CAUGHT_UP: LiteralString = """
    UPDATE installation SET index_missed_at = NULL WHERE index_missed_at = %(seen)s"""


def fill(
    client: OpenSearch, base: str, pool: Pool, claims: Iterable[Claim]
) -> dict[UUID, OpenSearchError]:
    """Write the documents of these entries as they are now; return errors by entry."""
    ensure_filled(client, base, pool)
    errors: dict[UUID, OpenSearchError] = {}
    by_tenant = sorted(claims, key=lambda claim: (claim.tenant, claim.entry_id))
    for tenant, group in groupby(by_tenant, key=lambda claim: claim.tenant):
        ids = [claim.entry_id for claim in group]
        for first in range(0, len(ids), _LOADED_AT_ONCE):
            with connection(pool) as conn:
                found = documents.load(
                    conn, tenant, ids[first : first + _LOADED_AT_ONCE]
                )
            errors |= bulk.write(client, mapping.write_alias(base), found)
    return errors


def ensure_filled(client: OpenSearch, base: str, pool: Pool) -> None:
    """Make the index if it is missing, and everything due that it then lacks."""
    on_new = functools.partial(make_all_due, pool)
    if mapping.ensure_index(client, base, on_new):
        log.warning("index_made", index=mapping.write_alias(base))


def note_missed(conn: Connection[TupleRow]) -> None:
    """Remember that index work ended without OpenSearch: the index lacks it."""
    conn.execute(_NOTE_MISSED)


def catch_up(pool: Pool) -> None:
    """Make everything due again if index work ended while there was no OpenSearch."""
    with connection(pool) as conn:
        row = conn.execute(_MISSED).fetchone()
    if row is None or row[0] is None:
        return
    log.warning("index_missed_work", since=str(row[0]))
    # What was deleted meanwhile must go from the index, too.
    make_all_due(pool, tombstones=True)
    with connection(pool) as conn:
        # Missed again meanwhile, it is not cleared.
        conn.execute(_CAUGHT_UP, {"seen": row[0]})


def make_all_due(
    pool: Pool, tenant: str | None = None, *, tombstones: bool = False
) -> None:
    """Make the document of every entry due, behind whatever is live; idempotent."""
    after: UUID | None = None
    while True:
        with connection(pool) as conn:
            values = {
                "tenant": tenant,
                "after": after,
                "limit": _PAGE,
                "tombstones": tombstones,
            }
            found = conn.execute(_ENTRIES, values).fetchall()
        _add(pool, found)
        if len(found) < _PAGE:
            return
        after = found[-1][0]


def _add(pool: Pool, found: Sequence[tuple[UUID, str]]) -> None:
    by_tenant = sorted(found, key=lambda row: row[1])
    for tenant, group in groupby(by_tenant, key=lambda row: row[1]):
        ids = [entry_id for entry_id, _ in group]
        # A commit each: rows of two tenants in one would not be in order of their key.
        with connection(pool) as conn:
            due.add(conn, tenant, ids, [INDEX_STAGE], work_class=due.BULK)
