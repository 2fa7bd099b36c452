"""A small `/v1/rerank` endpoint, with the faults that real ones have."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.stub_servers.json_server import answering, send


@dataclass
class Script:
    """What the server does, and what it was asked."""

    # A text's score is that of the first word here that it has.
    scores: dict[str, float] = field(default_factory=dict)
    does: str = "answers"
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://localhost:{self.port}/v1"

    def score(self, text: str) -> float:
        """Return what a text is worth."""
        return next((s for word, s in self.scores.items() if word in text), 0.01)


@contextmanager
def serving() -> Iterator[Script]:
    """Serve until the end of the block."""
    script = Script()

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        assert handler.path == "/v1/rerank"
        script.asked.append(body)
        script.keys.append(handler.headers["Authorization"])
        _answer(handler, script, body["documents"])

    with answering(answer) as script.port:
        try:
            yield script
        finally:
            script.released.set()


def _answer(
    handler: BaseHTTPRequestHandler, script: Script, documents: list[str]
) -> None:
    if script.does == "hangs":
        script.released.wait(20)
        handler.close_connection = True
        return
    found = [
        {"index": place, "relevance_score": script.score(text)}
        for place, text in enumerate(documents)
    ]
    if script.does == "too few":
        found.pop()
    if script.does == "no score":
        found[0]["relevance_score"] = 7.0
    # Best first, as they come.
    found.sort(key=lambda one: -one["relevance_score"])
    told = json.dumps({"results": found}).encode()
    if script.does == "lists":
        told = json.dumps({"results": [list(one.values()) for one in found]}).encode()
    if script.does == "a page":
        told = b"<html>"
    send(handler, int(script.does) if script.does.isdigit() else 200, told)
