"""Whether a word stands in any entry is read by the index of words."""

import psycopg

from bench import work_rows
from shared.access.scope import Scope
from shared.answers.evidence.unwritten_words import WRITTEN
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
