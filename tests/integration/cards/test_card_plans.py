"""The entries of a card, and of a digest's locks, are read by the index of words."""

import psycopg

from bench import work_rows
from shared.access.scope import Scope
from shared.cards.card_rows import OF_THING
from shared.cards.standing_locks import TELLING
from tests.support.planned_once import explain_once, fill_logbook

SCOPE = Scope(work_rows.TENANT, "anna")


def test_a_logbook_of_any_size_is_not_walked_through_for_a_card_or_for_locks(
    database: str,
) -> None:
    given = {
        **SCOPE.params,
        "query": "'42'",
        "zone": "UTC",
        "chars": 100,
        "most_counted": 10,
        "most_read": 10,
    }
    with psycopg.connect(database) as conn:
        fill_logbook(database, conn)
        plan = explain_once(conn, OF_THING, [*given])
        asked = ("words", "since", "until", "ids", "chars", "most")
        locks = explain_once(conn, TELLING, [*SCOPE.params, *asked])

    written = plan.partition("CTE written")[2].partition("CTE naming")[0]
    naming = plan.partition("CTE naming")[2].partition("CTE newest")[0]
    assert "Index Scan on entry_text_tsv" in written, plan
    # What has the words is looked up by its id: nothing is walked through.
    assert "CTE Scan on written" in naming, plan
    assert "Index Scan using entry_pkey" in naming, plan
    assert "Seq Scan on entry" not in plan, plan

    telling = locks.partition("CTE written")[2].partition("CTE newest")[0]
    assert "Index Scan on entry_text_tsv" in telling, locks
    assert "Seq Scan on entry" not in locks, locks
