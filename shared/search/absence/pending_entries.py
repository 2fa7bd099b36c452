"""What a search could not have found yet: entries that wait for a stage of a branch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import LiteralString

from psycopg import Connection, Cursor

from shared.access import rights
from shared.entries.reading.filter_sql import NARROWED, narrows
from shared.messaging.stage_names import embed_stage
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.retrieval.installed_modules import stages_of

# How many waiting entries are counted at most.
MOST = 1000

_SEEN: LiteralString = f"""
           AND e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}"""
# Entries that are due for a stage or quarantined in it; one may wait for two stages.
_DUE: LiteralString = f"""
    SELECT count(DISTINCT entry_id)
      FROM ((SELECT w.entry_id
               FROM work w
               JOIN entry e ON e.id = w.entry_id
              WHERE w.tenant = %(tenant)s AND w.stage = ANY (%(stages)s){_SEEN}"""
_PUT_ASIDE: LiteralString = f""" LIMIT %(most_rows)s)
             UNION ALL
            (SELECT q.entry_id
               FROM quarantine q
               JOIN entry e ON e.id = q.entry_id
              WHERE q.tenant = %(tenant)s AND q.stage = ANY (%(stages)s){_SEEN}"""
_END: LiteralString = " LIMIT %(most_rows)s)) AS waiting"
_WAITING: LiteralString = _DUE + _PUT_ASIDE + _END
_WAITING_NARROWED: LiteralString = _DUE + NARROWED + _PUT_ASIDE + NARROWED + _END


def list_awaited_stages(branches: Sequence[Outcome]) -> list[str]:
    """Return the stages that an entry must pass before these branches can find it."""
    found: set[str] = set()
    for one in branches:
        if one.status in {"ok", "empty"}:
            found.update(stages_of(one.name))
            found.update({embed_stage(one.model)} if one.model else ())
    return sorted(found)


def send_pending_count(
    conn: Connection, plan: Plan, waits_for: Sequence[str]
) -> Cursor | None:
    """Ask how many visible entries wait for these stages; None where there are none.

    The answer is read from the cursor, and may be read later.
    """
    if not waits_for:
        return None
    # Filters on what a stage finds are left out: an entry that waits has none of it.
    said = replace(plan.filters, facts=(), people=None, quantity=None, ranges=())
    values = {
        **plan.scope.params,
        **said.params,
        "stages": list(waits_for),
        # One row a stage and entry: so many hold as many entries as are counted.
        "most_rows": MOST * len(waits_for),
    }
    # Most of the planning is for filters.
    is_plain = not narrows(values)
    statement = _WAITING if is_plain else _WAITING_NARROWED
    return conn.execute(statement, values, prepare=is_plain)


def fetch_pending_count(waits: Cursor | None) -> int:
    """Read how many entries wait, MOST at most."""
    row = None if waits is None else waits.fetchone()
    return min(MOST, int(row[0])) if row else 0
