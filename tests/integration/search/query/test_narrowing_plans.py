"""What names entries finds them by an index, in a logbook of any size."""

from typing import Any

import psycopg

from bench import work_rows
from shared.access.scope import Scope
from shared.entries.reading.filter_sql import NARROWED
from shared.search.query.filters.filters import Filters

ENTRIES = 5000


def test_entries_are_found_by_their_own_ids_and_by_those_of_their_sources(database):
    own, *_ = work_rows.ensure_entries(database, ENTRIES)
    named = Filters(ids=(str(own), "no such id", "42"))
    scope = Scope(work_rows.TENANT, "anna")
    values: dict[str, Any] = {**scope.params, **named.params}
    statement = "SELECT e.id FROM entry e WHERE e.tenant = %(tenant)s" + NARROWED
    with psycopg.connect(database) as conn:
        conn.execute("ANALYZE entry")
        found = conn.execute(f"EXPLAIN (COSTS OFF) {statement}", values, prepare=False)
        told = "\n".join(str(row[0]) for row in found)
        rows = conn.execute(statement, values, prepare=False).fetchall()

    assert "entry_pkey" in told
    assert "entry_external_id" in told
    assert "Seq Scan on entry" not in told
    assert (own,) in rows
