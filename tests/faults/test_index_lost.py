"""F25: the index is lost, may not be written, and is made anew while it is in use."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import httpx2
import pytest

from shared.opensearch import mapping, rebuild
from tests.faults.test_opensearch_away import ask, fill, healthy
from tests.support.faults.asking import Searching, has_ended
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.system import CORE, System
from tests.support.statements import fetch_row, fetch_value
from tests.support.waiting import until

BLOCKED_SECONDS = 15.0
FULL_DISK = "index.blocks.read_only_allow_delete"
# Where the disk is not full after all, the server lifts that block by itself: it looks
# twice a minute.
LIFTED_SECONDS = 35.0
# So many come in while the index is away; what is live goes before what fills it.
WRITTEN = 20
# Those of a rebuild that reads no text anew, where nothing differs.
PHASES = set(rebuild.PHASES) - {"read", "reading", "drain"}
REBUILD = "chores.rebuild_index"

_TRIED: LiteralString = """
    SELECT count(*), coalesce(max(attempts) FILTER (WHERE claim IS NULL), 0),
           coalesce(max(strikes) FILTER (WHERE claim IS NULL), 0)
      FROM work WHERE stage = 'index'"""
_PHASE: LiteralString = """
    SELECT coalesce(cursor ->> 'phase', 'create') FROM maintenance
     WHERE id = %(id)s"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def system(make_system, opensearch) -> System:
    made: System = make_system(
        opensearch=opensearch.url, **QUICK_VECTORS, **SHORT_LEASE, **EVERY_STAGE
    )
    made.bring_up(*CORE)
    return made


@pytest.mark.requirement("F25", "P5", "P6")
def test_an_index_that_is_deleted_is_never_taken_for_one_that_holds_nothing(system):
    system.bring_up("chores")
    ledger = Ledger(system, "F25a")
    base = system.environment["OPENSEARCH_INDEX"]
    url = system.environment["OPENSEARCH_URL"]

    with system.client() as client, httpx2.Client(base_url=url) as engine:
        ledger.post_many(client, range(N))
        fill(ledger, client)
        gone = ledger.accepted[0]
        client.delete(f"/v1/entries/{gone}").raise_for_status()
        ledger.note_deleted(gone)
        ledger.converge()
        before = set(engine.get(f"/{base}-v*").json())

        engine.delete(f"/{','.join(before)}").raise_for_status()
        ledger.note_end()
        told: list[Any] = []

        def is_back() -> bool:
            told.append(ask(client, "keyword"))
            # Whoever writes meanwhile must not make an index under the alias's name.
            if len(told) <= WRITTEN:
                ledger.post(client, 10 * N + len(told))
            return healthy(told[-1]) is not None

        until(is_back, within_seconds=60, what="words in OpenSearch")
        line = ledger.converge()
        after = engine.get(f"/{base}*").json()

    words = [one.words["status"] for one in told]
    print(f"F25a {len(told)} searches, words: {sorted(set(words))}")
    assert all(one.status == 200 and one.told["results"] for one in told)
    assert set(words[:-1]) <= {"error", "skipped"}
    assert "error" in words
    assert after.keys().isdisjoint(
        {mapping.read_alias(base), mapping.write_alias(base)}
    )
    assert len(after) == 1
    assert after.keys().isdisjoint(before)
    assert line.harm == {}


@pytest.mark.requirement("F24", "P5", "P6")
@pytest.mark.parametrize(
    "block",
    [
        pytest.param("index.blocks.write", id="one index"),
        pytest.param("cluster.blocks.read_only", id="the cluster"),
        pytest.param(FULL_DISK, id="a full disk", marks=pytest.mark.requirement("F25")),
    ],
)
def test_an_index_that_may_not_be_written_is_searched_and_waited_for(system, block):
    ledger = Ledger(system, f"F25b {block}")
    with system.client() as client:
        fill(ledger, client)
        with blocked(system, block):
            ledger.post_many(client, range(N))
            told = []

            def over() -> bool:
                told.append(ask(client, "keyword"))
                return ends.is_set()

            ends = threading.Event()
            timer = threading.Timer(BLOCKED_SECONDS, ends.set)
            timer.start()
            until(over, within_seconds=2 * BLOCKED_SECONDS)
            waiting, attempts, strikes = tried(ledger)
        ledger.note_end("index")
        line = ledger.converge()

    print(f"F25b {block}: {len(told)} searches, {waiting} waited")
    assert all(healthy(one) for one in told)
    assert not any(one.told["degraded"] for one in told)
    assert (waiting, attempts, strikes) == (N, 0, 0)
    assert line.harm == {}


@pytest.mark.requirement("F25", "C47", "P6")
def test_an_index_is_made_anew_under_edits_and_deaths_and_no_search_fails(
    system, tmp_path
):
    orders = Orders(tmp_path)
    ledger = Ledger(system, "F25c")
    with (
        system.client() as client,
        system.client() as asking,
        system.client(system.key(tenant="*", scopes=("admin",))) as admin,
    ):
        ledger.post_many(client, range(N))
        fill(ledger, client)
        old = indices(system)
        with Searching(asking, "keyword") as searching:
            chore, died = made_anew(ledger, client, admin, orders)
            ended = until(lambda: has_ended(admin, chore), within_seconds=90)
        line = ledger.converge()

    print(f"F25c {len(died)} deaths, {searching.answered} searches: {ended}")
    assert (ended["state"], ended["error"]) == ("done", None)
    assert {phase for phase, _ in died} == PHASES
    assert searching.failed == []
    assert searching.answered > len(died)
    assert indices(system).isdisjoint(old)
    assert line.harm == {}


def made_anew(
    ledger: Ledger, client: httpx2.Client, admin: httpx2.Client, orders: Orders
) -> tuple[str, set[tuple[str, str]]]:
    """Ask for it, and kill whoever does it twice a step: before its commit, and after.

    At each death entries come in, one is edited and one deleted: and all of it is in
    the index that is searched, old or new, before anybody goes on.
    """
    died: set[tuple[str, str]] = set()
    asked = admin.post("/v1/search/index/rebuild", json={}).raise_for_status()
    chore = str(asked.json()["maintenance_id"])
    turn = 0
    faulty = {"checkpoints": str(orders.folder)}
    while True:
        line = ("before_commit", "after_step")[turn % 2]
        phase = phase_of(ledger.system, chore)
        orders.kill(line, chore, task=REBUILD)
        if turn == 0:
            # Nobody may begin before the first order lies there.
            ledger.system.start("chores", faulty=faulty)
        taken_or_over = either(
            lambda line=line: orders.taken(line, chore),
            lambda: has_ended(admin, chore) is not None,
        )
        until(taken_or_over, within_seconds=60, what=f"a death in {phase}, {line}")
        if not orders.taken(line, chore):
            return chore, died
        # Before its commit the row still says which step it was.
        died.add((phase, line))
        first = 10 * N + 3 * turn
        ledger.post_many(client, range(first, first + 3))
        gone = ledger.accepted[-2]
        client.delete(f"/v1/entries/{gone}").raise_for_status()
        ledger.note_deleted(gone)
        ledger.post(client, turn)
        ledger.converge(within_seconds=30)
        turn += 1


def either(*probes: Callable[[], bool]) -> Callable[[], bool]:
    """Return a probe that is true once any of these is."""
    return lambda: any(probe() for probe in probes)


def phase_of(system: System, chore: str) -> str:
    """Return the step that is next."""
    return fetch_value(system.database, _PHASE, {"id": chore})


@contextmanager
def blocked(system: System, block: str) -> Iterator[None]:
    """Forbid writing, by one index or by all there are."""
    url = system.environment["OPENSEARCH_URL"]
    base = system.environment["OPENSEARCH_INDEX"]
    of_all = block.startswith("cluster.")
    path = "/_cluster/settings" if of_all else f"/{base}-v*/_settings"

    def put(value: str | None) -> None:
        body: dict[str, Any] = {block: value}
        body = {"transient": body} if of_all else body
        httpx2.put(f"{url}{path}", json=body, timeout=30).raise_for_status()

    def is_lifted() -> bool:
        found = httpx2.get(f"{url}{path}", params={"flat_settings": "true"}, timeout=30)
        return all(block not in one["settings"] for one in found.json().values())

    put("true")
    if block == FULL_DISK:
        # It has just looked, so that it will not look again while this lasts.
        # Never lifted, it might be so in the midst of this: then nothing is told by it.
        until(is_lifted, within_seconds=2 * LIFTED_SECONDS, what="the block lifted")
        put("true")
    try:
        yield
    finally:
        put(None)


def indices(system: System) -> set[str]:
    url = system.environment["OPENSEARCH_URL"]
    base = system.environment["OPENSEARCH_INDEX"]
    return set(httpx2.get(f"{url}/{base}-v*", timeout=30).json())


def tried(ledger: Ledger) -> tuple[int, int, int]:
    """Return how many wait for the index, and their most attempts and strikes."""
    waiting, attempts, strikes = fetch_row(ledger.system.database, _TRIED)
    return waiting, attempts, strikes
