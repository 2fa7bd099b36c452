"""What another analyser has read is read anew: in steps, behind everything live.

A release or the facility's file may change what a text comes to, and what is known of
its entry; each row of `entry_text` says which analyser made it, each of `entry_finding`
by which rules and lists. What an older release read has no place among its like yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from shared.broker import DUPLICATES_STAGE, METADATA_STAGE
from shared.due import behind
from shared.due.maintenance import Progress
from shared.enrich import facts
from shared.log import get_logger
from shared.postgres import Pool, connection
from shared.text import analyser
from shared.text.facility import Facility

log = get_logger()

STEP_ENTRIES = 1000

# What waits will be read by this analyser, and what was put aside is known.
_PAGE: LiteralString = """
    SELECT t.entry_id, t.tenant,
           (t.analyser_version <> %(version)s
            OR NOT EXISTS (SELECT FROM entry_finding f
                            WHERE f.entry_id = t.entry_id AND f.stage = %(stage)s
                              AND f.version = %(facts_version)s)
            OR NOT EXISTS (SELECT FROM likeness l WHERE l.entry_id = t.entry_id))
           AND NOT EXISTS (SELECT FROM work w
                            WHERE w.entry_id = t.entry_id AND w.stage = ANY(%(stages)s))
           AND NOT EXISTS (SELECT FROM quarantine q
                            WHERE q.entry_id = t.entry_id
                              AND q.stage = ANY(%(stages)s))
           AND EXISTS (SELECT FROM entry e
                        WHERE e.id = t.entry_id AND e.deleted_at IS NULL) AS is_older
      FROM entry_text t
     WHERE %(after)s::uuid IS NULL OR t.entry_id > %(after)s
     ORDER BY t.entry_id
     LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class _Row:
    entry_id: UUID
    tenant: str
    is_older: bool


def prepare(
    pool: Pool, cursor: Mapping[str, Any] | None, done: int, facility: Facility
) -> Callable[[Connection[TupleRow]], Progress]:
    """Look at one page, and return what makes due the rest of what is older there."""
    came = cursor or {"after": None, "made_due": 0}
    given = {
        "version": analyser.version_of(facility),
        "facts_version": facts.version_of(facility),
        "stage": METADATA_STAGE,
        "stages": [METADATA_STAGE, DUPLICATES_STAGE],
        "after": came["after"],
        "limit": STEP_ENTRIES,
    }
    with connection(pool) as conn, conn.cursor(row_factory=class_row(_Row)) as cur:
        page = cur.execute(_PAGE, given).fetchall()
    older = [(row.tenant, row.entry_id) for row in page if row.is_older]
    make_last_due = behind.add_but_last(pool, older, METADATA_STAGE)

    def commit(conn: Connection[TupleRow]) -> Progress:
        make_last_due(conn)
        made_due = came["made_due"] + len(older)
        if len(page) < STEP_ENTRIES:
            log.info("texts_renewed", entries=done + len(page), made_due=made_due)
            return Progress(None, done + len(page), total=done + len(page))
        went = {"after": str(page[-1].entry_id), "made_due": made_due}
        return Progress(went, done + len(page))

    return commit
