"""Searches of several parts, and turns of an agent, as a stack of processes does them.

The model is a script that answers at once: what is measured is what we add to it.
"""

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import psycopg

from bench.rig import Rig, rig
from local import sample

_COMMANDS = (
    ("serve", "api"),
    ("serve", "worker", "search"),
    ("serve", "worker", "search.bulk"),
    ("serve", "worker", "answer"),
    ("serve", "worker", "enhance.metadata,index"),
    ("serve", "worker", "enhance.embed"),
    ("serve", "upkeep"),
)
# A question of three sub-queries, the whole of it one, in so many variations.
WHAT = ("klystron", "gate valve", "kicker", "septum", "cooling pump", "undulator")
SAMPLES = 60
_READY_SECONDS = 240.0
THREE_SEARCHES = "three searches as one chord"
TURN = "a turn of three calls, without its model"
# A turn, and the same searches, in turns.
TURN_SAMPLES, _WARM = 200, 10
# One that calls, and one that answers.
_TURNS = 2
# A question of two parts: searched for are the whole and each of them.
_CALLED = ("klystron trip and vacuum leak", "klystron trip", "vacuum leak")
_JOINED = _CALLED[0]


@dataclass(frozen=True)
class Timing:
    """How long something took, in milliseconds."""

    name: str
    p50_ms: float
    p95_ms: float


def measure() -> list[Timing]:
    """Measure on a stack of our own, over Postgres alone."""
    with scripted_stack(_Handler) as (client, database):
        return [*_searches(client), *_turns(client, database)]


@contextmanager
def scripted_stack(
    handler: type[BaseHTTPRequestHandler],
) -> Iterator[tuple[httpx2.Client, str]]:
    """Give away a client and the database of a filled stack whose model is a script."""
    with _model(handler) as address:
        providers = json.dumps({"bench": {"base_url": address}})
        extra = {
            "OPENSEARCH_URL": "off",
            "LOGCHORD_API__PROVIDERS": providers,
            "LOGCHORD_REASONING__PROVIDER": "bench",
            "LOGCHORD_REASONING__MODEL_ID": "script",
            # Each agent is one answer of the quota, which ships as ten a minute.
            "LOGCHORD_SYNTHESIS__QUOTA_PER_DAY": "10000",
            "LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE": "10000",
        }
        with rig(_COMMANDS, **extra) as stack, _client_of(stack) as client:
            assert stack.settings.database_url is not None
            database = stack.settings.database_url.get_secret_value()
            _fill(client, database)
            yield client, database


@contextmanager
def _client_of(stack: Rig) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {stack.key}"}
    with httpx2.Client(base_url=stack.url, headers=headers, timeout=60) as client:
        yield client


def _fill(client: httpx2.Client, database: str) -> None:
    """Push the sample logbook, and wait until all of it is found."""
    for page in sample.pages():
        rows = [{**row, "source": "api"} for row in page]
        client.post("/v1/entries", json={"entries": rows}).raise_for_status()
    ends = time.monotonic() + _READY_SECONDS
    with psycopg.connect(database, autocommit=True) as conn:
        # Without an index its stage stays due.
        due = "SELECT count(*) FROM work WHERE stage <> 'index'"
        while (row := conn.execute(due).fetchone()) and row[0]:
            if time.monotonic() > ends:
                message = f"{row[0]} entries were not read in time"
                raise TimeoutError(message)
            time.sleep(1.0)


def _searches(client: httpx2.Client) -> list[Timing]:
    took: dict[str, list[float]] = {"hybrid": [], "agentic": []}
    for number in range(SAMPLES + _WARM):
        one, other = WHAT[number % len(WHAT)], WHAT[(number + 1) % len(WHAT)]
        query = f"{one} number {number} and {other} trip"
        for mode, times in took.items():
            began = time.perf_counter()
            body = {"query": query, "mode": mode, "synthesize": False}
            client.post("/v1/search/query", json=body).raise_for_status()
            if number >= _WARM:
                times.append((time.perf_counter() - began) * 1000)
    return [timing_of(name, times) for name, times in took.items()]


def _turns(client: httpx2.Client, database: str) -> list[Timing]:
    """Measure a turn of three calls, and the same three searches as one chord."""
    beside: list[float] = []
    turns: list[float] = []
    for number in range(TURN_SAMPLES + _WARM):
        searched = _searched(client)
        took = _turned(client, database, number)
        if number >= _WARM:
            beside.append(searched)
            turns.append(took)
    return [timing_of(THREE_SEARCHES, beside), timing_of(TURN, turns)]


def _searched(client: httpx2.Client) -> float:
    """Return how long three searches took, from their job to the last one's end."""
    body = {"query": _JOINED, "mode": "agentic", "modules": ["keyword"]}
    response = _ended(client, {**body, "synthesize": False})["response"]
    if tuple(response["sub_queries"]) != _CALLED:
        message = f"other searches than an agent's calls: {response['sub_queries']}"
        raise ValueError(message)
    return float(max(one["queued_ms"] + one["took_ms"] for one in response["branches"]))


def _turned(client: httpx2.Client, database: str, number: int) -> float:
    """Return how long a turn took from its model's word until the next one's start."""
    ended = _ended(client, {"query": f"why number {number}", "mode": "agent"})
    with psycopg.connect(database) as conn:
        rows = conn.execute(
            "SELECT extract(epoch FROM created_at)::float8, took_ms, outcomes"
            " FROM agent_turn WHERE job_id = %s ORDER BY turn_no",
            (ended["job_id"],),
        ).fetchall()
    if len(rows) != _TURNS or len(rows[0][2]) != len(_CALLED):
        told = ended["response"]["agent"]["exit_reason"]
        message = f"agent {ended['job_id']} took {len(rows)} turns: {told}"
        raise ValueError(message)
    (first, asked_ms, _), (second, *_) = rows
    return float((second - first) * 1000 - asked_ms)


def _ended(client: httpx2.Client, body: dict[str, Any]) -> dict[str, Any]:
    job = client.post("/v1/search/jobs", json=body).json()["job_id"]
    wait = {"wait_ms": 30_000}
    ended: dict[str, Any] = client.get(f"/v1/search/jobs/{job}", params=wait).json()
    if ended["ended_at"] is None:
        message = f"job {job} did not end"
        raise TimeoutError(message)
    return ended


def timing_of(name: str, took: Sequence[float]) -> Timing:
    """Return the middle of some times, and what 95 of a hundred stay under."""
    cuts = statistics.quantiles(took, n=20)
    return Timing(name, statistics.median(took), cuts[-1])


@contextmanager
def _model(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Calls three tools in the first turn, and answers in the second."""

    log_message: Callable[..., None] = staticmethod(lambda *_: None)

    def do_POST(self) -> None:
        """Answer as OpenAI's endpoint does."""
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        has_found = any(one["role"] == "tool" for one in asked["messages"])
        message: dict[str, Any] = {"content": "It did [1.1]."}
        if not has_found:
            message = {"tool_calls": [_call(n, one) for n, one in enumerate(_CALLED)]}
        reason = "stop" if has_found else "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = json.dumps({"choices": [choice], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _call(number: int, query: str) -> dict[str, Any]:
    given = {"name": "keyword", "arguments": json.dumps({"query": query})}
    return {"index": number, "id": f"call_{number}", "function": given}
