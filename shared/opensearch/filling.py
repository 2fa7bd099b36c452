"""What the index lacks: a batch of documents, or, where it is new, all of them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import LiteralString
from uuid import UUID

from opensearchpy import OpenSearch

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
       AND deleted_at IS NULL
     ORDER BY id
     LIMIT %(limit)s"""


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


def make_all_due(pool: Pool, tenant: str | None = None) -> None:
    """Make the document of every entry due, behind whatever is live; idempotent."""
    after: UUID | None = None
    while True:
        with connection(pool) as conn:
            values = {"tenant": tenant, "after": after, "limit": _PAGE}
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
