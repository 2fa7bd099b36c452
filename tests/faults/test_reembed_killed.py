"""Another model is filled and switched to while its workers are killed, at any line."""

from typing import Any, LiteralString

import httpx2
import psycopg
import pytest
from psycopg import sql

from tests.support.faults.asking import Searching, has_ended
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS, SHORT_LEASE, N, times
from tests.support.fixtures.system import System
from tests.support.waiting import until

OLD, NEW = QUICK_VECTORS["EMBEDDING_MODEL"], "hashing-128"
SLOWLY = {"word": "", "where": "embed", "does": "wait", "seconds": 0.02}
_TABLES: LiteralString = "SELECT model, table_name, live FROM embedding_model"
# Of what was accepted, what has no vector as it is now; and what has one too many.
_LOST: LiteralString = """
    SELECT count(*) FROM entry e
     WHERE e.id = ANY(%(ids)s::uuid[]) AND NOT EXISTS (
           SELECT FROM {table} v WHERE v.entry_id = e.id AND v.revision = e.revision)"""
_DOUBLED: LiteralString = """
    SELECT count(*) - count(DISTINCT entry_id) FROM {table}"""


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("C47", "P1", "P2")
@pytest.mark.timeout(400)
def test_no_vector_is_lost_or_doubled_and_no_search_fails_while_a_model_is_replaced(
    make_system,
):
    system: System = make_system(**QUICK_VECTORS, **SHORT_LEASE)
    faulty = {"poison": [SLOWLY]}
    system.start("api", "upkeep", "search", "enhance", "chores")
    system.start("embed", faulty=faulty)
    system.wait_ready("search", "enhance", "embed", "upkeep", "chores")
    ledger = Ledger(system, "reembed")
    with (
        system.client() as posting,
        system.client() as asking,
        system.client(system.key(tenant="*", scopes=("admin",))) as admin,
    ):
        ledger.post_many(posting, range(N // 2))
        until(lambda: ledger.due() == 0, within_seconds=60, what="the first half")
        ended, searching = replaced(system, ledger, posting, asking, admin)
        line = ledger.close(within_seconds=60)

    assert (ended["state"], ended["result"]["live"]) == ("done", True), ended
    assert ended["result"]["missing"] == ended["result"]["put_aside"] == 0
    assert searching.failed == []
    assert searching.answered > 0
    assert line.harm == {}
    assert standing(system, ledger.accepted) == {OLD: (False, 0, 0), NEW: (True, 0, 0)}


def replaced(
    system: System,
    ledger: Ledger,
    posting: httpx2.Client,
    asking: httpx2.Client,
    admin: httpx2.Client,
) -> tuple[dict[str, Any], Searching]:
    """Replace the model while entries come in and workers are killed."""
    faulty = {"poison": [SLOWLY]}
    with Searching(asking) as searching:
        asked = admin.post(f"/v1/embed-models/{NEW}/activate", json={"batch": 10})
        assert asked.status_code == 202, asked.text
        chore = asked.json()["maintenance_id"]
        share = N // 2 // times(3, 10)
        for turn in range(times(3, 10)):
            begins = N // 2 + turn * share
            ledger.post_many(posting, range(begins, begins + share))
            # And one that has its vector already is edited.
            ledger.post(posting, turn)
            ledger.note_kill(ledger.in_hand(("embed:",)))
            system.kill("embed")
            system.start("embed", faulty=faulty)
            system.kill("chores")
            system.start("chores")
            system.wait_ready("embed", "chores")
        ended = until(
            lambda: has_ended(admin, chore),
            within_seconds=120,
            what=lambda: f"the model to be replaced: {system.tail('chores')}",
        )
    return ended, searching


def standing(system: System, ids: list[str]) -> dict[str, tuple[bool, int, int]]:
    """Of each model: whether it is live, how many are lost, how many doubled."""
    found = {}
    with psycopg.connect(system.database) as conn:
        for model, name, live in conn.execute(_TABLES).fetchall():
            table = sql.Identifier(name)
            counts = [
                conn.execute(sql.SQL(query).format(table=table), {"ids": ids})
                for query in (_LOST, _DOUBLED)
            ]
            lost, doubled = (one.fetchone()[0] for one in counts)  # type: ignore[index]
            found[model] = (live, lost, doubled)
    return found
