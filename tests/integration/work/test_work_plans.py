"""A backlog that came since the table was analysed is not read whole, or sorted."""

from typing import Any

import psycopg
import pytest

from bench import work_rows
from shared.ids import uuid7
from shared.work import backlog, due_work
from shared.work.leases import MAX_STRIKES

STAGE = "metadata"
BACKLOG = 20_000


@pytest.fixture
def explain(database):
    """Plan a statement over a backlog that no statistics know of."""
    ids = work_rows.ensure_entries(database, BACKLOG)
    with psycopg.connect(database) as conn:
        work_rows.fill(conn, BACKLOG, stage=STAGE)
        conn.execute("DELETE FROM pg_statistic WHERE starelid = 'work'::regclass")
        conn.execute(due_work.BY_INDEX)
        values: dict[str, Any] = {
            "stage": STAGE,
            "claim": uuid7(),
            "limit": 200,
            "max_strikes": MAX_STRIKES,
            "lease": 15.0,
            "live_from": due_work.EVER,
            "bulk_from": due_work.EVER,
            "with_bulk": True,
            "with_retried": True,
            "entry_ids": ids[:100],
            "stages": [STAGE],
        }

        def plan(statement: str) -> str:
            found = conn.execute(f"EXPLAIN (COSTS OFF) {statement}", values)
            return "\n".join(str(row[0]) for row in found)

        yield plan


def test_a_claim_takes_live_and_bulk_work_in_the_order_of_the_index(explain):
    plan = explain(due_work._CLAIM)

    assert plan.count("Index Scan using work_due on work") == 2
    assert "Sort" not in plan


def test_what_others_give_way_to_is_the_first_of_the_index(explain):
    plan = explain(backlog._ANY_LIVE)

    assert "Index Scan using work_due on work" in plan
    assert "Sort" not in plan


def test_named_entries_are_found_by_their_key(explain):
    plan = explain(due_work._CLAIM_NAMED)

    assert "work_pkey" in plan
    assert "work_due" not in plan
    assert "Seq Scan on work" not in plan


@pytest.mark.parametrize("name", ["_LOCK_CLAIM", "_RENEW", "_LOCK_OURS", "_FINISH"])
def test_what_is_claimed_is_found_without_the_backlog(explain, name):
    plan = explain(getattr(due_work, name))

    assert "work_claim" in plan or "work_pkey" in plan
    assert "work_due" not in plan
    assert "work_oldest" not in plan
    assert "Seq Scan on work" not in plan


def test_what_has_no_strike_left_is_found_in_its_own_index(explain):
    assert "using work_spent on work" in explain(due_work._SPENT)
