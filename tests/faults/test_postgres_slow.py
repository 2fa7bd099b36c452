"""F20 and F21: Postgres is slow, then locked; and a commit whose answer is lost."""

import secrets
import threading
import time
from typing import Any, LiteralString

import httpx2
import psycopg
import pytest

from tests.support.faults.background_thread import BackgroundThread
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS
from tests.support.faults.posters import Posters, Request
from tests.support.waiting import until

SLOW_SECONDS = 10.0
DELAY_SECONDS = 2.0
LOCKED_SECONDS = 10.0
ANSWERED_SECONDS = 6.0
BACK_SECONDS = 5.0
# More callers than there are connections, so that they have to wait for each other.
CALLERS = 16
POOL_SIZE = 10
UNKNOWN = 20

_LOCK: LiteralString = "LOCK TABLE entry IN ACCESS EXCLUSIVE MODE"
_OF_THE_API: LiteralString = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'logchord api %'"""
_KEPT: LiteralString = """
    SELECT count(*) FROM entry e JOIN revision r ON r.entry_id = e.id
     WHERE e.external_id = %(external_id)s"""


@pytest.mark.slow
@pytest.mark.requirement("F21", "P2")
@pytest.mark.timeout(300)
def test_a_commit_whose_answer_is_lost_is_made_once(make_system, postgres, make_proxy):
    system = make_system()
    direct = system.database
    proxy = make_proxy(direct)
    system.environment["DATABASE_URL"] = proxy.url
    system.bring_up("api")
    same = 0
    told: set[int] = set()

    with system.client() as client, psycopg.connect(direct, autocommit=True) as conn:
        assert client.get("/v1/me").status_code == 200
        for number in range(UNKNOWN):
            name = f"F21-{number}"
            headers = {"Idempotency-Key": secrets.token_hex(8)}
            entry = {"source": "api", "external_id": name, "text": f"Dump {number}"}

            def push(headers=headers, entry=entry) -> httpx2.Response:
                return client.post("/v1/entries", json=entry, headers=headers)

            def kept(name=name) -> Any:
                return conn.execute(_KEPT, {"external_id": name}).fetchone()

            proxy.limit(0, after="COMMIT")
            lost = push()
            proxy.reset()
            told.add(lost.status_code)
            assert lost.json()["error"]["retriable"], lost.text
            committed = kept()
            first = until(
                lambda push=push: (one := push()).is_success and one, within_seconds=10
            ).json()
            again = push().json()
            same += committed == kept() == (1,) and first == again
    print(f"F21 unknown={UNKNOWN} same={same} told={told}")

    assert told == {503}
    assert same == UNKNOWN


@pytest.mark.slow
@pytest.mark.requirement("F20", "P3", "P9")
@pytest.mark.timeout(300)
def test_a_slow_or_locked_postgres_is_told_within_six_seconds(make_system, make_proxy):
    system = make_system(**QUICK_VECTORS)
    direct = system.database
    proxy = make_proxy(direct)
    system.start("enhance", "embed", "upkeep")
    system.environment["DATABASE_URL"] = proxy.url
    system.start("api")
    system.environment["DATABASE_URL"] = direct
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F20")
    posters = Posters(ledger, give_up=True)
    waits: dict[str, tuple[float, float]] = {}

    with posters.at_work(CALLERS), _Connections(direct) as connections:
        until(lambda: len(ledger.times) > CALLERS, within_seconds=30)
        began = time.time()
        proxy.hold_back(DELAY_SECONDS)
        threading.Event().wait(SLOW_SECONDS)
        proxy.reset()
        waits["slow"] = began, time.time()
        _back_to_normal(posters, waits["slow"][1])
        began = time.time()
        with psycopg.connect(direct) as conn:
            conn.execute(_LOCK)
            threading.Event().wait(LOCKED_SECONDS)
        waits["locked"] = began, time.time()
        _back_to_normal(posters, waits["locked"][1])
    line = ledger.close(within_seconds=60)
    backs = {}
    for name, (_, released) in waits.items():
        met = [one for one in posters.requests if _during(waits[name], one)]
        slowest = max(one.ended - one.began for one in met)
        backs[name] = max(o.ended for o in met if o.status >= 500) - released
        codes = {(one.status, one.code) for one in met}
        print(f"F20 {name} slowest_s={slowest:.1f} back_s={backs[name]:.1f} {codes}")
    print(f"F20 connections={connections.most}")

    assert {one.status for one in posters.requests} <= {200, 201, 503}
    assert {one.code for one in posters.refused} <= {
        "database_unavailable",
        "database_query_retry",
    }
    assert posters.refused, "nothing met the lock"
    assert max(one.ended - one.began for one in posters.requests) < ANSWERED_SECONDS
    assert connections.most <= POOL_SIZE
    assert max(backs.values()) < BACK_SECONDS
    assert line.harm == {}


def _during(wait: tuple[float, float], request: Request) -> bool:
    return request.began <= wait[1] and wait[0] <= request.ended


def _back_to_normal(posters: Posters, released: float) -> None:
    def back() -> bool:
        return any(
            one.status < 500 and one.began > released for one in posters.requests
        )

    until(back, within_seconds=20, what="a post accepted again")


class _Connections(BackgroundThread):
    """Counts again and again how many connections the API has to Postgres."""

    def __init__(self, url: str) -> None:
        self.most = 0
        self._url = url
        super().__init__()

    def _run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as conn:
            while not self._ended.wait(0.1):
                row = conn.execute(_OF_THE_API).fetchone()
                self.most = max(self.most, row[0] if row else 0)
