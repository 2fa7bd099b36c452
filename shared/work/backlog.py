"""What is still to be done, and entries made due behind everything live."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import Pool, connection
from shared.work import due_work
from shared.work.leases import MAX_STRIKES

# Whose it is, and which entry.
Named = tuple[str, UUID]


def ids_by_tenant(named: Iterable[Named]) -> Iterator[tuple[str, list[UUID]]]:
    """Yield each tenant with the ids of its entries, in the order given."""
    of_tenant = itemgetter(0)
    for tenant, group in groupby(sorted(named, key=of_tenant), of_tenant):
        yield tenant, [entry_id for _, entry_id in group]


def add_but_last(
    pool: Pool, wanted: Mapping[str, Iterable[Named]]
) -> Callable[[Connection], None]:
    """Make stages due, a commit for each tenant; return the commit for the last ones.

    Rows of two tenants in one commit would not be in order of their key. Made due once
    more after a death, they are worked on once more, no worse.
    """
    last: dict[str, tuple[str, list[UUID]]] = {}
    for stage, entries in wanted.items():
        for tenant, ids in ids_by_tenant(entries):
            if stage in last:
                with connection(pool) as conn:
                    _add(conn, stage, *last[stage])
            last[stage] = tenant, ids

    def commit(conn: Connection) -> None:
        for stage, of_tenant in last.items():
            _add(conn, stage, *of_tenant)

    return commit


def _add(conn: Connection, stage: str, tenant: str, ids: Sequence[UUID]) -> None:
    bulk = due_work.BULK
    due_work.add(conn, tenant, ids, [stage], work_class=bulk, exactly=True)


_ANY_DUE: LiteralString = """
    SELECT EXISTS (SELECT FROM work
                    WHERE entry_id = ANY(%(entry_ids)s) AND stage = ANY(%(stages)s))"""
# What is paused, or in somebody's hands, waits for nobody here.
_ANY_LIVE: LiteralString = """
    SELECT EXISTS (
        SELECT FROM unnest(%(stages)s::text[]) AS named (stage), LATERAL (
               SELECT FROM work w
                WHERE w.stage = named.stage AND w.class = 0
                  AND w.due_at <= statement_timestamp()
                  AND (w.leased_until IS NULL
                       OR w.leased_until <= statement_timestamp())
                  AND w.strikes < %(max_strikes)s
                ORDER BY w.due_at
                LIMIT 1) AS due
         WHERE NOT EXISTS (
               SELECT FROM stage_pause p WHERE p.stage = named.stage
                  AND (p.until IS NULL OR p.until > statement_timestamp())))"""
_EARLIER: LiteralString = """
    SELECT EXISTS (
        SELECT FROM work WHERE stage = %(stage)s AND created_at <= %(marked_at)s)"""


def is_left(conn: Connection, stage: str, marked_at: datetime) -> bool:
    """Tell whether work that was due at a moment is still to be done."""
    return bool(fetch_value(conn, _EARLIER, {"stage": stage, "marked_at": marked_at}))


def any_due(conn: Connection, entry_ids: Sequence[UUID], stages: Sequence[str]) -> bool:
    """Tell whether any of these stages is still to be done for any of these entries."""
    values = {"entry_ids": list(entry_ids), "stages": list(stages)}
    return bool(fetch_value(conn, _ANY_DUE, values))


def any_live(conn: Connection, stages: Sequence[str]) -> bool:
    """Tell whether live work of any of these stages waits for a worker."""
    with conn.transaction():
        conn.execute(due_work.BY_INDEX)
        values = {"stages": list(stages), "max_strikes": MAX_STRIKES}
        return bool(fetch_value(conn, _ANY_LIVE, values))
