"""The group of copies and the series of machines that an entry stands in.

Who stands alone is shown without a group: what nobody resembles is indexed once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array

# One entry of a tenant at a time, to the end of the transaction.
_LOCK: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended('likeness ' || %(tenant)s, 0))"""
# `OFFSET 0`: each of the two is asked once. Most entries stand alone.
_SHOWN: LiteralString = """
    SELECT shown.entry_id, shown.group_id, shown.series_id
      FROM (SELECT l.entry_id,
                   CASE WHEN EXISTS (
                        SELECT FROM shape t JOIN likeness o ON o.shape_id = t.id
                         WHERE t.group_id = s.group_id AND o.entry_id <> l.entry_id)
                        THEN s.group_id END AS group_id,
                   CASE WHEN EXISTS (
                        SELECT FROM likeness o
                         WHERE o.series_id = l.series_id
                           AND o.entry_id <> l.entry_id)
                        THEN l.series_id END AS series_id
              FROM likeness l
              LEFT JOIN shape s ON s.id = l.shape_id AND s.tenant = l.tenant
             WHERE l.tenant = %(tenant)s AND l.entry_id = ANY(%(ids)s::uuid[])
            OFFSET 0) AS shown
     WHERE shown.group_id IS NOT NULL OR shown.series_id IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Alike:
    """The group and series of an entry that engines show."""

    entry_id: UUID
    group_id: UUID | None
    series_id: UUID | None


def lock(conn: Connection, tenant: str) -> None:
    """Lock the placing of a tenant's entries until the transaction ends."""
    conn.execute(_LOCK, {"tenant": tenant})


def load_memberships(
    conn: Connection, tenant: str, ids: Sequence[UUID]
) -> dict[UUID, Alike]:
    """Return the group and series of each entry that does not stand alone."""
    rows = fetch_all(conn, Alike, _SHOWN, {"tenant": tenant, "ids": format_array(ids)})
    return {row.entry_id: row for row in rows}
