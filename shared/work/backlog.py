"""What is still to be done, and entries made due behind everything live."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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


def add_but_last(
    pool: Pool, wanted: Mapping[str, Iterable[Named]]
) -> Callable[[Connection], None]:
    """Make stages due, a commit for each tenant; return the commit for the last ones.

    Rows of two tenants in one commit would not be in order of their key. Made due once
    more after a death, they are worked on once more, no worse.
    """
    last: dict[str, Sequence[Named]] = {}
    for stage, entries in wanted.items():
        in_order = sorted(entries, key=itemgetter(0))
        by_tenant = [list(group) for _, group in groupby(in_order, itemgetter(0))]
        *others, last[stage] = by_tenant or [[]]
        for some in others:
            with connection(pool) as conn:
                _add(conn, some, stage)

    def commit(conn: Connection) -> None:
        for stage, entries in last.items():
            _add(conn, entries, stage)

    return commit


def _add(conn: Connection, entries: Sequence[Named], stage: str) -> None:
    if entries:
        ids = [entry_id for _, entry_id in entries]
        due_work.add(
            conn, entries[0][0], ids, [stage], work_class=due_work.BULK, exactly=True
        )


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
