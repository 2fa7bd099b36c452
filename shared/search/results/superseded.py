"""Finds values of a page that are not the newest, and the entries with the others.

A value belongs to a device and a parameter. The newest is that of the latest entry
which the caller may see: hidden entries are not told of.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.rows import class_row

from shared.access import rights
from shared.postgres import statement_deadline
from shared.postgres.pool import format_array
from shared.search.query.plan import Plan
from shared.search.results.hydrate import HitRow

# How much of the page's time this may take: an answer is good without it.
TIMEOUT_MS = 100
# How many statements of the same thing are looked through either way: some report
# every hour.
MOST = 200

# Statements of the same thing up to now, for a wrong clock must not be newest for ever.
_OF_THE_SAME: LiteralString = """
           SELECT q.entry_id, q.place, q.value, q.said_at
             FROM entry_quantity q
            WHERE q.tenant = %(tenant)s AND q.device = s.device
              AND q.parameter = s.parameter AND q.dimension = s.dimension
              AND q.said_at <= now()"""
_NEWEST_FIRST: LiteralString = """
            ORDER BY q.said_at DESC, q.entry_id DESC, q.place DESC
            LIMIT %(most)s"""
_SINCE: LiteralString = _OF_THE_SAME + " AND q.said_at > s.said_at" + _NEWEST_FIRST
_BEFORE: LiteralString = _OF_THE_SAME + " AND q.said_at < s.said_at" + _NEWEST_FIRST
# Keeps entries that the caller may see and whose newest revision states the value.
_SEEN: LiteralString = f"""
             JOIN entry e ON e.id = c.entry_id
             JOIN entry_metadata m ON m.entry_id = e.id AND m.revision = e.revision
            WHERE e.tenant = %(tenant)s AND m.tenant = %(tenant)s
              AND e.deleted_at IS NULL{rights.SEEN}"""
# The last of several values that an entry states of the same thing counts. Where none
# of the entries looked through may be seen, there may be a newer value still: then
# nothing is said to be replaced.
_VALUES: LiteralString = f"""
    SELECT s.entry_id, s.device, s.parameter, s.dimension, s.value AS stated,
           n.id IS NOT NULL AS is_older, o.value, o.said_at, o.id AS other_id, o.source,
           o.external_id
      FROM (SELECT DISTINCT ON (q.entry_id, q.device, q.parameter, q.dimension)
                   q.entry_id, q.device, q.parameter, q.dimension, q.value, q.said_at
              FROM entry_quantity q
              JOIN entry e ON e.id = q.entry_id
              JOIN entry_metadata m ON m.entry_id = e.id AND m.revision = e.revision
             WHERE q.tenant = %(tenant)s AND q.entry_id = ANY (%(ids)s::uuid[])
               AND e.tenant = %(tenant)s AND m.tenant = %(tenant)s
               AND q.device IS NOT NULL AND q.said_at <= now()
             ORDER BY q.entry_id, q.device, q.parameter, q.dimension, q.place DESC) AS s
      LEFT JOIN LATERAL (
           SELECT c.value, c.said_at, e.id, e.source, e.external_id
             FROM ({_SINCE}) AS c{_SEEN}
            ORDER BY c.said_at DESC, c.entry_id DESC, c.place DESC
            LIMIT 1) AS n ON true
      LEFT JOIN LATERAL (
           SELECT c.value, c.said_at, e.id, e.source, e.external_id
             FROM (SELECT DISTINCT ON (l.said_at, l.entry_id)
                          l.entry_id, l.value, l.said_at
                     FROM ({_BEFORE}) AS l
                    ORDER BY l.said_at DESC, l.entry_id DESC, l.place DESC) AS c{_SEEN}
              AND n.id IS NULL AND c.value <> s.value
              AND (SELECT count(*) FROM ({_SINCE}) AS since) < %(most)s
            ORDER BY c.said_at DESC, c.entry_id DESC
            LIMIT 1) AS p ON true
     CROSS JOIN LATERAL (
           SELECT coalesce(n.value, p.value) AS value,
                  coalesce(n.said_at, p.said_at) AS said_at,
                  coalesce(n.id, p.id) AS id,
                  coalesce(n.source, p.source) AS source,
                  coalesce(n.external_id, p.external_id) AS external_id) AS o
     WHERE o.value <> s.value
     ORDER BY s.entry_id, s.device, s.parameter, s.dimension
     LIMIT 10000"""


@dataclass(frozen=True, slots=True)
class Other:
    """A value that an entry states, and another entry's value of the same thing."""

    entry_id: UUID
    device: str
    parameter: str
    dimension: str
    stated: float
    # Whether the other value is the newer one; else this value has replaced it.
    is_older: bool
    value: float
    said_at: datetime
    other_id: UUID
    source: str
    external_id: str


class Values(NamedTuple):
    """The values that replaced those of one entry, and the values that it replaced."""

    superseded_by: tuple[Other, ...] = ()
    replaces: tuple[Other, ...] = ()


NONE = Values()


def send_other_values(
    conn: Connection, plan: Plan, rows: Sequence[HitRow]
) -> Cursor[Other] | None:
    """Ask for other values of the same things; None: these entries state no values."""
    ids = [row.entry_id for row in rows if row.states_values]
    if not ids:
        return None
    given = {**plan.scope.params, "ids": format_array(ids), "most": MOST}
    statement_deadline.limit_time(conn, TIMEOUT_MS, one_plan=True)
    cur = conn.cursor(row_factory=class_row(Other))
    return cur.execute(_VALUES, given, prepare=True)


def fetch_other_values(others: Cursor[Other] | None) -> dict[UUID, Values]:
    """Read the other values by entry; entries without any are absent."""
    found = [] if others is None else others.fetchall()
    older: dict[UUID, list[Other]] = defaultdict(list)
    newest: dict[UUID, list[Other]] = defaultdict(list)
    for one in found:
        (older if one.is_older else newest)[one.entry_id].append(one)
    return {
        entry_id: Values(tuple(older[entry_id]), tuple(newest[entry_id]))
        for entry_id in {one.entry_id for one in found}
    }
