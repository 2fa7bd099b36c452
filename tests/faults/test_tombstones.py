"""F17: what was deleted long ago leaves the index, and nothing of it comes back."""

from functools import partial
from typing import Any, LiteralString

import httpx2
import psycopg
import pytest

from shared.opensearch import mapping
from shared.work import chore_records
from shared.work.chore_records import RECONCILE_INDEX, Maintenance
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.counting import indexed
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.system import CORE, System
from tests.support.waiting import until

# So many are deleted, and so many of those long ago.
DELETED, PAST = N // 4, N // 8
# Where the one that purges dies: with the days compared, before and after the commit of
# that, and with the tombstones gone and nothing committed of it.
DEATHS = ("before_commit", "after_step", "before_commit")
TASK = "chores.reconcile_index"
WORD = "quetzal"

# A week has no shorter form: the clock of the deletion is put back.
_AGE: LiteralString = """
    UPDATE entry SET deleted_at = deleted_at - make_interval(days => %(days)s),
                     modified_at = modified_at - make_interval(days => %(days)s)
     WHERE id = ANY (%(ids)s::uuid[])"""


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("F17", "P1", "P2", "P6")
@pytest.mark.timeout(300)
def test_old_tombstones_leave_the_index_amid_deaths_and_no_entry_comes_back(
    make_system, opensearch, tmp_path
):
    system = make_system(
        opensearch=opensearch.url, **QUICK_VECTORS, **SHORT_LEASE, **EVERY_STAGE
    )
    system.bring_up(*CORE)
    ledger, orders = Ledger(system, "F17"), Orders(tmp_path)

    with (
        system.client() as client,
        psycopg.connect(system.database, autocommit=True) as conn,
        httpx2.Client(base_url=opensearch.url) as engine,
    ):
        named = str(ledger.post(client, -1, f"the {WORD} on the klystron gallery"))
        ids = [named, *ledger.post_many(client, range(N - 1))]
        ledger.converge()
        until(lambda: asked(client) == [named], within_seconds=10, what="the entry")
        alive = document(engine, system, named)
        for one in ids[:DELETED]:
            client.delete(f"/v1/entries/{one}").raise_for_status()
            ledger.note_deleted(one)
        ledger.converge()
        conn.execute(_AGE, {"ids": ids[:PAST], "days": 8})
        conn.execute(_AGE, {"ids": ids[PAST:DELETED], "days": 6})
        before = held(system)

        compared(system, conn, orders, DEATHS)
        ledger.note_end()
        line = ledger.converge()
        after = held(system)
        # As late as no write can be: forgotten is that there was a newer one.
        base = system.environment["OPENSEARCH_INDEX"]
        forgetful = {"index": {"gc_deletes": "0s"}}
        engine.put(f"/{base}-v*/_settings", json=forgetful).raise_for_status()
        late = write(engine, system, named, alive)
        back = held(system).keys() & {named}
        found = asked(client)
        again = compared(system, conn, orders)
        at_last = held(system)

    print(f"F17 past={PAST} before={len(before)} after={len(after)} late={late}")
    assert before.keys() == set(ids)
    assert after.keys() == set(ids[PAST:])
    assert {one for one, (_, deleted) in after.items() if deleted} == {
        *ids[PAST:DELETED]
    }
    # It was accepted, or nothing has been tried.
    assert (late, back) == (201, {named})
    assert found == []
    assert again.result == {"entries": N, "differing": 0, "removed": 0, "purged": 1}
    assert at_last == after
    assert (line.accepted, line.harm) == (N, {})


def compared(
    system: System,
    conn: psycopg.Connection[tuple[Any, ...]],
    orders: Orders,
    deaths: tuple[str, ...] = (),
) -> Maintenance:
    """Have the index compared, by workers that die at times; return what came of it."""
    if "chores" in system.processes:
        system.kill("chores")
    chore_records.start_over(conn, RECONCILE_INDEX)
    chore = chore_records.find_unfinished(conn, RECONCILE_INDEX)
    assert chore is not None
    faulty = {"checkpoints": str(orders.folder)}
    for line in deaths:
        orders.kill(line, str(chore), task=TASK)
        if "chores" not in system.processes or system.has_ended("chores"):
            system.start("chores", faulty=faulty)
        until(
            lambda line=line: orders.taken(line, str(chore)),
            within_seconds=60,
            what=partial(system.tail, "chores"),
        )
    if "chores" not in system.processes:
        system.start("chores", faulty=faulty)

    def ended() -> Maintenance | None:
        found = chore_records.find(conn, chore)
        return found if found.ended_at else None

    found = until(
        ended, within_seconds=60, what=lambda: f"the end\n{system.tail('chores')}"
    )
    assert (found.state, found.error) == ("done", None)
    return found


def asked(client: httpx2.Client) -> list[str]:
    """Return the entries that the word finds, wherever it is looked up."""
    body = {"query": WORD, "mode": "keyword"}
    told = client.post("/v1/search/query", json=body).raise_for_status().json()
    return [str(one["entry_id"]) for one in told["results"]]


def held(system: System) -> dict[str, tuple[int, bool]]:
    """Return version and tombstone of every document."""
    base = system.environment["OPENSEARCH_INDEX"]
    url = system.environment["OPENSEARCH_URL"]
    return indexed(url, mapping.read_alias(base))


def document(engine: httpx2.Client, system: System, entry_id: str) -> dict[str, Any]:
    """Return a document as the index has it, with its version."""
    alias = mapping.read_alias(system.environment["OPENSEARCH_INDEX"])
    found = engine.get(f"/{alias}/_doc/{entry_id}").raise_for_status()
    return found.json()


def write(
    engine: httpx2.Client, system: System, entry_id: str, old: dict[str, Any]
) -> int:
    """Write an old document as the worker of the index does; return the answer."""
    alias = mapping.write_alias(system.environment["OPENSEARCH_INDEX"])
    answer = engine.put(
        f"/{alias}/_doc/{entry_id}",
        params={"version": old["_version"], "version_type": "external"},
        json=old["_source"],
    )
    return answer.status_code
