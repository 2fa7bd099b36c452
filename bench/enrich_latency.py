"""How long it takes from the commit of an entry until each branch can find it."""

import statistics
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, LiteralString

import httpx2
import psycopg
from opensearchpy import OpenSearch
from psycopg import Connection, sql

from bench.enrich_pipeline import as_pushed
from bench.rig import Rig
from shared.entries.draft import EntryDraft

AIM_SECONDS, AIM_RATE = 2.0, 20
RATES = (1, 20, 100)
_POSTERS = 8
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 60.0

_TEXTS: LiteralString = """
    SELECT entry_id::text FROM entry_text WHERE entry_id = ANY(%(ids)s::uuid[])"""
_VECTORS: LiteralString = """
    SELECT DISTINCT entry_id::text FROM {table}
     WHERE entry_id = ANY(%(ids)s::uuid[])"""

# Given ids, it returns those that the branch can find by now.
Look = Callable[[list[str]], Collection[str]]


@dataclass(frozen=True)
class Latency:
    """How long entries took to be found by one branch, at so many a second."""

    rate: int
    branch: str
    entries: int
    p50_s: float
    p95_s: float
    p99_s: float
    most_s: float
    never: int


@dataclass
class _Posted:
    """When each entry was accepted, and when each branch had it first."""

    accepted: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def waiting(self, found: Collection[str]) -> list[str]:
        with self.lock:
            return [one for one in self.accepted if one not in found]


def latencies(
    made: Rig,
    database: str,
    client: OpenSearch,
    index: str,
    drafts: Iterator[EntryDraft],
    seconds: float,
) -> list[Latency]:
    """Post at each rate and see when every branch's row or document can be found."""
    found: list[Latency] = []
    with _looks(database, client, index) as looks:
        for rate in RATES:
            # At one a second, long enough for a p95 to be one of several.
            many = max(20, round(rate * seconds))
            texts = [as_pushed(draft) for draft in islice(drafts, many)]
            found += _at(made, looks, rate, texts)
    return found


def _at(
    made: Rig, looks: dict[str, Look], rate: int, bodies: list[dict[str, object]]
) -> list[Latency]:
    posted = _Posted()
    when: dict[str, dict[str, float]] = {name: {} for name in looks}
    watchers = [
        threading.Thread(target=_watch, args=(posted, look, when[name]), daemon=True)
        for name, look in looks.items()
    ]
    for one in watchers:
        one.start()
    _post(made, rate, bodies, posted)
    posted.ended.set()
    for one in watchers:
        one.join(timeout=2 * _PATIENCE_SECONDS)
    return [_latency(rate, name, posted, found) for name, found in when.items()]


def _post(
    made: Rig, rate: int, bodies: list[dict[str, object]], posted: _Posted
) -> None:
    """Post evenly in time, whatever earlier ones take."""
    headers = {"Authorization": f"Bearer {made.key}"}
    with (
        httpx2.Client(base_url=made.url, headers=headers, timeout=60) as http,
        ThreadPoolExecutor(_POSTERS) as pool,
    ):

        def post(body: dict[str, object]) -> None:
            answer = http.post("/v1/entries", json=body)
            answer.raise_for_status()
            with posted.lock:
                posted.accepted[answer.json()["entry_id"]] = time.monotonic()

        began = time.monotonic()
        sent = []
        for number, body in enumerate(bodies):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            sent.append(pool.submit(post, body))
        for one in sent:
            one.result()


def _watch(posted: _Posted, look: Look, found: dict[str, float]) -> None:
    patience = None
    while True:
        ended = posted.ended.is_set()
        waiting = posted.waiting(found)
        if ended:
            patience = patience or time.monotonic() + _PATIENCE_SECONDS
            if not waiting or time.monotonic() > patience:
                return
        if waiting:
            there = look(waiting)
            now = time.monotonic()
            found.update(dict.fromkeys(there, now))
        time.sleep(_POLL_SECONDS)


@contextmanager
def _looks(database: str, client: OpenSearch, index: str) -> Iterator[dict[str, Look]]:
    """Give what tells of each branch whether it sees an entry by now."""
    with (
        psycopg.connect(database, autocommit=True) as texts,
        psycopg.connect(database, autocommit=True) as vectors,
    ):
        yield _looks_by(texts, vectors, client, index)


def _looks_by(
    texts: Connection[Any], vectors: Connection[Any], client: OpenSearch, index: str
) -> dict[str, Look]:
    row = vectors.execute("SELECT table_name FROM embedding_model LIMIT 1").fetchone()
    assert row is not None
    of_table = sql.SQL(_VECTORS).format(table=sql.Identifier(row[0]))

    def rows(conn: Connection[Any], statement: Any) -> Look:
        return lambda ids: [
            one for (one,) in conn.execute(statement, {"ids": ids}).fetchall()
        ]

    def documents(ids: list[str]) -> Collection[str]:
        body = {"size": 1000, "query": {"terms": {"entry_id": ids[:1000]}}}
        answer = client.search(
            index=index, body=body, params={"_source": "false", "request_timeout": 10}
        )
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    return {
        "words in Postgres": rows(texts, _TEXTS),
        "words in OpenSearch": documents,
        "meaning": rows(vectors, of_table),
    }


def _latency(
    rate: int, branch: str, posted: _Posted, found: dict[str, float]
) -> Latency:
    took = [found[one] - at for one, at in posted.accepted.items() if one in found] or [
        0.0,
        0.0,
    ]
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    p50, p95, p99 = (round(max(0.0, cuts[at - 1]), 3) for at in (50, 95, 99))
    never = len(posted.accepted) - len(set(posted.accepted) & set(found))
    many = len(posted.accepted)
    return Latency(rate, branch, many, p50, p95, p99, round(max(took), 3), never)
