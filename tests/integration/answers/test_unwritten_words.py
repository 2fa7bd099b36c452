"""Whether a word stands in any entry, and in which last, is read by index."""

from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg

from bench import work_rows
from shared.access.scope import Scope
from shared.answers.evidence import newest_matches
from shared.answers.evidence.unwritten_words import WRITTEN
from shared.search.query.filters.filters import Filters
from tests.support.planned_once import explain_once, fill_logbook

SCOPE = Scope(work_rows.TENANT, "anna")


def test_a_logbook_of_any_size_is_not_walked_through_for_a_word(database: str) -> None:
    given = {"asked": ["'beam'", "'giraffe'", "'42'"], **SCOPE.params}
    with psycopg.connect(database) as conn:
        fill_logbook(database, conn)
        plan = explain_once(conn, WRITTEN, [*given])
        rows = conn.execute(WRITTEN, given).fetchall()

    assert "Index Scan on entry_text_tsv" in plan, plan
    assert "Seq Scan" not in plan, plan
    assert rows == [(1,), (3,)]


def test_a_logbook_of_any_size_is_not_walked_through_for_the_last_time(
    database: str,
) -> None:
    bounds = {"most": 5, "looked_through": 2000, "held": 5000}
    ahead = datetime.now(UTC) + timedelta(days=1)
    given = {**SCOPE.params, **Filters().params, **bounds, "ahead": ahead}
    among, by_words = newest_matches.AMONG_THE_LAST, newest_matches.BY_WORDS
    with psycopg.connect(database) as conn:
        fill_logbook(database, conn)
        # The tests of due work drop it.
        conn.execute(
            "CREATE INDEX entry_newest ON entry (tenant, entry_time DESC, id DESC)"
            " WHERE deleted_at IS NULL"
        )
        frequent, rare = {**given, "asked": "'beam'"}, {**given, "asked": "'42'"}
        last, found = explain(conn, among, rare), explain(conn, by_words, rare)
        few = conn.execute(among, frequent, prepare=False).fetchall()
        one = conn.execute(by_words, rare, prepare=False).fetchall()

    assert "using entry_newest" in last, last
    assert "Index Scan on entry_text_tsv" in found, found
    assert "Seq Scan" not in found, found
    assert (len(few), len(one)) == (5, 1)


def explain(
    conn: psycopg.Connection, statement: LiteralString, given: dict[str, Any]
) -> str:
    """Return the plan of a statement, made for its values."""
    rows = conn.execute("EXPLAIN (COSTS OFF) " + statement, given, prepare=False)
    return "\n".join(str(row[0]) for row in rows)
