"""A small `/v1/rerank` endpoint, with the faults that real ones have."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            assert self.path == "/v1/rerank"
            script.asked.append(body)
            script.keys.append(self.headers["Authorization"])
            _answer(self, script, body["documents"])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.released.set()
        server.shutdown()
        server.server_close()


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
    handler.send_response(int(script.does) if script.does.isdigit() else 200)
    handler.send_header("Content-Length", str(len(told)))
    handler.end_headers()
    handler.wfile.write(told)
