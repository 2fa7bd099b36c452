"""What an answer adds to a search, and how soon a model's first words are there.

On a stack of processes; the model is a script whose first word takes a known time.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx2

from bench.agent_stack import WHAT, Timing, scripted_stack, timing_of

SAMPLES, _WARM = 100, 10
FIRST_WORD_SECONDS = 0.1
# What is added to a search without an answer, and to the endpoint's own first word.
MOST_MS = {"an answer without a model": 30.0, "the first words of a model": 60.0}


def show() -> list[str]:
    """Print what each adds in the middle, and return what is more than it may be."""
    failures = []
    for one in _measure():
        most = MOST_MS[one.name]
        print(
            f"{one.name}: {one.p50_ms:.1f} ms p50, {one.p95_ms:.1f} ms p95 beyond"
            f" ({most:g} is the most)"
        )
        if one.p50_ms > most:
            failures.append(f"{one.name}: {one.p50_ms:.1f} ms, {most:g} is the most")
    return failures


def _measure() -> list[Timing]:
    answer, words = MOST_MS
    with scripted_stack(_Handler) as (client, _):
        return [
            timing_of(answer, [*_answers(client)]),
            timing_of(words, [*_first_words(client)]),
        ]


def _answers(client: httpx2.Client) -> Iterator[float]:
    """Yield how much longer each search takes with an answer: both in turn."""
    for number in range(SAMPLES + _WARM):
        query = f"Why did {WHAT[number % len(WHAT)]} {number} trip?"
        plain, answered = (
            _time_search(client, {"query": query, "mode": "hybrid", "synthesize": one})
            for one in (False, "deterministic")
        )
        if number >= _WARM:
            yield answered - plain


def _time_search(client: httpx2.Client, body: Mapping[str, Any]) -> float:
    began = time.perf_counter()
    answer = client.post("/v1/search/query", json=body)
    took = (time.perf_counter() - began) * 1000
    answer.raise_for_status()
    found = len(answer.json()["results"])
    if found != 10:  # noqa: PLR2004 - the goal is one of ten hits
        message = f"{body['query']} found {found}"
        raise ValueError(message)
    return took


def _first_words(client: httpx2.Client) -> Iterator[float]:
    """Yield what passes between the answer without a model and a model's first words.

    Beyond what the endpoint takes for them.
    """
    for number in range(SAMPLES + _WARM):
        body = {"query": f"Why did {WHAT[number % len(WHAT)]} trip?", "mode": "rag"}
        job = client.post("/v1/search/jobs", json=body).raise_for_status().json()
        told: dict[str, float] = {}
        path = f"/v1/search/jobs/{job['job_id']}/events"
        with client.stream("GET", path) as events:
            for line in events.iter_lines():
                kind, _, name = line.partition(": ")
                if kind == "event":
                    told.setdefault(name, time.perf_counter())
        took = told["llm_chunk"] - told["deterministic"] - FIRST_WORD_SECONDS
        if number >= _WARM:
            yield took * 1000


class _Handler(BaseHTTPRequestHandler):
    """Streams a sentence whose first word comes after a known time."""

    log_message: Callable[..., None] = staticmethod(lambda *_: None)

    def do_POST(self) -> None:
        """Answer as OpenAI's endpoint does."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        time.sleep(FIRST_WORD_SECONDS)
        for word in ("It", " tripped", " on", " arc", " [1.1]", "."):
            self._send({"index": 0, "delta": {"content": word}, "finish_reason": None})
        self._send({"index": 0, "delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: Mapping[str, Any]) -> None:
        said = json.dumps({"choices": [choice]})
        self.wfile.write(f"data: {said}\n\n".encode())
        self.wfile.flush()
