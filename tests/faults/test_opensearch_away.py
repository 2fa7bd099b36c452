"""F22, F23: OpenSearch is down, or as good as, while people post and search."""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any, LiteralString

import httpx2
import pytest

from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.measures.size import EVERY_STAGE, QUICK_VECTORS, N
from tests.support.faults.posters import Posters
from tests.support.fixtures.fault_proxy import Proxy
from tests.support.fixtures.system import CORE, System
from tests.support.statements import fetch_row, fetch_value
from tests.support.waiting import until

AWAY_SECONDS, SLOW_SECONDS = 20.0, 10.0
DEADLINE_SECONDS, LATE_SECONDS = 1.5, 1.0
POST_SECONDS = 0.5
LIVE_SECONDS, HEALTH_SECONDS = 0.1, 1.0
OPENS_AFTER, PROBE_SECONDS = 5, 1.0
# So that there is something to find before anything goes wrong.
FOUND = 50
# Full text, which takes over, has no time left either: `partial` is what remains.
NOBODY_INSTEAD = {"X-Logchord-Fault": "branch=pg_fts;delay_ms=60000"}
PARTIAL = 3
# How many tries of the index show how often it is tried.
TRIES = 10
# Asked as often as people do, not as fast as it goes.
_BETWEEN_SECONDS = 0.05

# How often the index was tried, and what is counted against what waits for it.
_CLAIMS: LiteralString = """
    SELECT count(DISTINCT claim) FROM claim_log
     WHERE stage = 'index' AND at > to_timestamp(%(since)s)"""
_ATTEMPTS: LiteralString = """
    SELECT count(*), coalesce(max(attempts) FILTER (WHERE claim IS NULL), 0),
           coalesce(max(strikes) FILTER (WHERE claim IS NULL), 0)
      FROM work WHERE stage = 'index'"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Answer:
    """One search: which mode, when it was asked, how long it took, what was said."""

    mode: str
    at: float
    seconds: float
    status: int
    told: dict[str, Any]

    @property
    def words(self) -> dict[str, Any]:
        """The branch that asks OpenSearch."""
        return self._branch("os_bm25")

    @property
    def instead(self) -> dict[str, Any]:
        """The branch that takes over."""
        return self._branch("pg_fts")

    def statuses(self) -> set[tuple[str, str]]:
        """Return what each branch came to."""
        return {(one["name"], one["status"]) for one in self.told["branches"]}

    def _branch(self, name: str) -> dict[str, Any]:
        return next(one for one in self.told["branches"] if one["name"] == name)


@pytest.fixture
def behind_proxy(make_system, make_proxy, opensearch) -> Iterator[tuple[System, Proxy]]:
    """A whole system that reaches OpenSearch through a proxy alone."""
    proxy = make_proxy(opensearch.url)
    system = make_system(
        opensearch=proxy.url,
        LOGCHORD_FAULT_INJECTION="true",
        **QUICK_VECTORS,
        **EVERY_STAGE,
    )
    system.bring_up(*CORE)
    yield system, proxy
    proxy.reset()


@pytest.mark.requirement("F22", "P4", "P5", "P6")
def test_with_opensearch_down_posts_are_taken_and_postgres_searches_words(behind_proxy):
    system, proxy = behind_proxy
    ledger = Ledger(system, "F22")
    posters = Posters(ledger, least=N)

    with system.client() as client:
        fill(ledger, client)
        with posters.at_work(1):
            proxy.refuse(on=True)
            proxy.cut()
            answers = asked_for(client, AWAY_SECONDS, ("hybrid", "keyword"))
            proxy.refuse(on=False)
            ledger.note_end()
        line = ledger.converge()
        back = until(
            lambda: healthy(ask(client, "hybrid")), within_seconds=10, what="words"
        )

    failed = [one for one in answers if one.words["status"] == "error"]
    probes = [one.at for one in failed[OPENS_AFTER:]]
    latest = max(one.seconds for one in answers)
    print(
        f"F22 searches={len(answers)} asked_opensearch={len(failed)}"
        f" latest_s={latest:.2f} posts={len(posters.requests)}"
        f" post_p95_s={posters.p95_seconds:.3f}"
    )
    assert posters.refused == []
    assert posters.p95_seconds < POST_SECONDS
    assert {one.status for one in answers} == {200}
    for one in answers:
        assert (one.told["state"], one.told["degraded"]) == ("done", True)
        assert one.instead["status"] == "ok"
        assert one.instead["fallback_for"] == "os_bm25"
        assert ("semantic", "ok") in one.statuses() or one.mode == "keyword"
        assert one.told["results"]
    assert {one.words["error_code"] for one in failed} == {"opensearch_unavailable"}
    # Five in a row open the circuit; from then on nobody asks but one a second.
    assert failed[:OPENS_AFTER] == answers[:OPENS_AFTER]
    apart = [later - one for one, later in pairwise(probes)]
    assert min(apart, default=PROBE_SECONDS) > 0.9 * PROBE_SECONDS
    others = [one for one in answers if one not in failed]
    assert {(one.words["status"], one.words["reason"]) for one in others} == {
        ("skipped", "circuit_open")
    }
    assert latest < DEADLINE_SECONDS + LATE_SECONDS
    assert back.told["degraded"] is False
    assert line.harm == {}
    assert line.accepted >= N


@pytest.mark.requirement("F23", "P5", "P6")
def test_with_opensearch_slow_searches_end_in_time_and_the_index_is_let_alone(
    behind_proxy,
):
    system, proxy = behind_proxy
    ledger = Ledger(system, "F23")
    admin = system.key(scopes=("search", "admin"))
    posters = Posters(ledger, least=N)
    live: list[float] = []
    health: list[float] = []

    with system.client() as client, system.client(admin) as who_plans:
        fill(ledger, client)
        with posters.at_work(1):
            began = time.time()
            until(
                lambda: tried_since(ledger, began) >= TRIES,
                within_seconds=30,
                what="the index, as often as it is tried",
            )
            often = TRIES / (time.time() - began)
            proxy.hold_back(SLOW_SECONDS)
            slow = time.time()
            partial = [ask(who_plans, "hybrid", NOBODY_INSTEAD) for _ in range(PARTIAL)]
            answers = asked_for(client, AWAY_SECONDS / 2, ("hybrid", "keyword"))
            for _ in range(20):
                live.append(timed(client, "/health/live"))
                health.append(timed(client, "/health"))
            answers += asked_for(client, AWAY_SECONDS / 2, ("semantic", "hybrid"))
            waiting, attempts, strikes = tried(ledger)
            claims = tried_since(ledger, slow)
            seldom = claims / (time.time() - slow)
            proxy.hold_back(0)
            # What is held back already comes late, and is another moment's answer.
            proxy.cut()
            ledger.note_end()
        line = ledger.converge()

    late = [one for one in (*partial, *answers) if timed_out(one)]
    latest = max(one.seconds for one in (*partial, *answers))
    print(
        f"F23 searches={len(answers)} waited_for_opensearch={len(late)}"
        f" latest_s={latest:.2f} {waiting=} {claims=} tries_per_s={often:.1f} to"
        f" {seldom:.2f} live_p95_s={p95(live):.3f}"
        f" health_s={max(health):.2f} posts={len(posters.requests)}"
        f" post_p95_s={posters.p95_seconds:.3f}"
    )
    assert {one.status for one in (*partial, *answers)} == {200}
    for one in partial:
        # Both parts of the search by words are late, and its meaning is answered.
        assert (one.told["state"], one.told["degraded"]) == ("partial", True)
        assert timed_out(one)
        assert ("pg_fts", "timeout") in one.statuses()
        assert ("semantic", "ok") in one.statuses()
        assert one.told["results"]
    # The branch itself is late. Full text takes over within the time that is kept for
    # it, so that the search is done, and `partial` only if that had none left.
    assert len(late) >= OPENS_AFTER
    assert {one.told["state"] for one in answers} <= {"done", "partial"}
    assert all(one.told["degraded"] for one in late)
    assert latest < DEADLINE_SECONDS + LATE_SECONDS
    assert p95(live) < LIVE_SECONDS
    assert max(health) < HEALTH_SECONDS
    # The stage rests, longer after each failure, and nobody's attempts are spent.
    assert waiting > 0, "nothing waited for the index: nothing was tried"
    assert claims <= AWAY_SECONDS / 2 + PARTIAL
    assert seldom < often / 2
    assert (attempts, strikes) == (0, 0)
    assert posters.refused == []
    assert posters.p95_seconds < POST_SECONDS
    assert line.harm == {}


def fill(ledger: Ledger, client: httpx2.Client) -> None:
    """Post what can be found, and wait until it is, by words too."""
    ledger.post_many(client, range(-FOUND, 0))
    ledger.converge()
    until(lambda: healthy(ask(client, "hybrid")), within_seconds=20, what="a search")


def asked_for(
    client: httpx2.Client, seconds: float, modes: tuple[str, ...]
) -> list[Answer]:
    """Search one time after another for so long; the time is the fault's own."""
    answers = []
    ends = time.monotonic() + seconds
    for mode in cycle(modes):
        answers.append(ask(client, mode))
        if time.monotonic() > ends:
            return answers
        threading.Event().wait(_BETWEEN_SECONDS)
    raise AssertionError(modes)


def ask(
    client: httpx2.Client, mode: str, headers: Mapping[str, str] | None = None
) -> Answer:
    body = {
        "query": "beam dump",
        "mode": mode,
        "deadline_ms": int(DEADLINE_SECONDS * 1000),
    }
    at, began = time.time(), time.monotonic()
    answer = client.post("/v1/search/query", json=body, headers=headers)
    seconds = time.monotonic() - began
    return Answer(mode, at, seconds, answer.status_code, answer.json())


def healthy(answer: Answer) -> Answer | None:
    """Return the answer if OpenSearch has found something in it."""
    return answer if ("os_bm25", "ok") in answer.statuses() else None


def timed_out(answer: Answer) -> bool:
    """Tell whether OpenSearch was asked, and did not answer in time."""
    return ("os_bm25", "timeout") in answer.statuses()


def timed(client: httpx2.Client, path: str) -> float:
    """Return how long a request took."""
    began = time.monotonic()
    client.get(path)
    return time.monotonic() - began


def tried(ledger: Ledger) -> tuple[int, int, int]:
    """Return how many wait for the index, and their most attempts and strikes."""
    row = fetch_row(ledger.system.database, _ATTEMPTS)
    return row[0], row[1], row[2]


def tried_since(ledger: Ledger, since: float) -> int:
    """Return how often a worker has taken up documents since then."""
    return fetch_value(ledger.system.database, _CLAIMS, {"since": since})
