"""A small `/v1/rerank` endpoint, with the faults that real ones have."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.stub_servers.json_server import ScriptedServer, send


@dataclass
class Script(ScriptedServer):
    """What the server does, and what it was asked."""

    # A text's score is that of the first word here that it has.
    scores: dict[str, float] = field(default_factory=dict)
    does: str = "answers"

    def score(self, text: str) -> float:
        return next((s for word, s in self.scores.items() if word in text), 0.01)


@contextmanager
def serving() -> Iterator[Script]:
    """Serve until the end of the block."""
    script = Script()

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        assert handler.path == "/v1/rerank"
        _answer(handler, script, body["documents"])

    with script.serving(answer):
        yield script


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
