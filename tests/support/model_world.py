"""A system with one logbook, whose answers a scripted model words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx2

from api.client.event_lines import EventLines
from tests.support.fixtures.system import Factory, System
from tests.support.stub_servers.chat_server import ChatScript, chatting, says
from tests.support.waiting import until
from tests.support.written import ok

QUESTION = "Why did gate valve 8 close?"
CAUSE = "Gate valve 8 closed because the compressed air had sagged to 3 bar."


@dataclass
class World:
    """A system with one logbook, and the endpoint that its workers ask."""

    system: System
    server: ChatScript
    client: httpx2.Client

    def events(
        self, method: str, path: str, after: int = 0, **more: Any
    ) -> Iterator[tuple[int, str, dict[str, Any]]]:
        headers = {"Last-Event-ID": str(after)} if after else {}
        with self.client.stream(method, path, headers=headers, **more) as answer:
            assert answer.status_code == 200, answer.read()
            lines = EventLines()
            for line in answer.iter_lines():
                event = lines.hear(line)
                if event is not None:
                    yield int(event.id), event.name, event.data

    def ask(self, query: str = QUESTION, **more: Any) -> dict[str, Any]:
        return ok(self.client.post("/v1/search/query", json={"query": query, **more}))

    def submit(self, **more: Any) -> str:
        body = {"query": QUESTION, "mode": "rag", **more}
        return str(ok(self.client.post("/v1/search/jobs", json=body), 202)["job_id"])

    def run(self, **more: Any) -> dict[str, Any]:
        """Submit a job, and return it once it has ended."""
        path, wait = f"/v1/search/jobs/{self.submit(**more)}", {"wait_ms": 20_000}
        job: dict[str, Any] = self.client.get(path, params=wait).json()
        assert job["ended_at"] is not None, job
        return job


def words_it(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """Answer as a model does that heeds its prompt."""
    said = "Valve 8 closed because the compressed air had sagged to 3 bar"
    says(f"{said} [{mark_of_cause(body)}].")(handler, body)


def mark_of_cause(body: dict[str, Any]) -> str:
    """Return the mark that a prompt gives the sentence with the cause."""
    prompt = body["messages"][1]["content"]
    found = re.search(r"^\[(\d+\.\d+)\] .*sagged to 3 bar", prompt, re.MULTILINE)
    assert found is not None, prompt
    return found[1]


@contextmanager
def model_world(
    make_system: Factory, address: str | None = None, **more: str
) -> Iterator[World]:
    """Start what words answers, over one entry that is found by its words.

    The model is the scripted one, or whichever is at the address.
    """
    with chatting(words_it) as server:
        system = make_system(
            LOGCHORD_API__PROVIDERS__HERE__BASE_URL=address or server.url,
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
            LOGCHORD_SYNTHESIS__QUOTA_PER_DAY="1000",
            LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE="1000",
            LOGCHORD_FAULT_INJECTION="true",
            EMBEDDING_MODEL="hashing-384",
            **{"LOGCHORD_API__PROVIDERS__HERE__TIMEOUT_SECONDS": "4"} | more,
        )
        system.start("api", "search", "answer", "enhance", "embed")
        system.wait_ready("search", "answer", "enhance")
        with system.client() as client:
            made = World(system, server, client)
            entry = {"external_id": "OPS-2", "text": CAUSE, "title": "Gate valve 8"}
            client.post("/v1/entries", json=entry).raise_for_status()
            until(
                lambda: bool(made.ask("gate valve", mode="keyword")["results"]),
                within_seconds=30,
                what="the words of the entry",
            )
            yield made
