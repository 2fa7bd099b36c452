"""A small server of vectors, with the faults that real ones have."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shared.embedding.encoders import HashingEncoder


@dataclass
class Script:
    """What the server does, and what it was asked."""

    dimension: int = 32
    # What it does with a text that holds the word; with "", of every text.
    word: str = ""
    does: str = "answers"
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    late_seconds: float = 0.0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://localhost:{self.port}/v1"


@contextmanager
def serving() -> Iterator[Script]:
    """Serve until the end of the block."""
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            script.asked.append(body)
            script.keys.append(self.headers["Authorization"])
            met = any(script.word in text for text in body["input"])
            _answer(self, script, body["input"], script.does if met else "answers")

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
    handler: BaseHTTPRequestHandler, script: Script, texts: list[str], does: str
) -> None:
    if does.isdigit():
        _send(handler, int(does), b'{"error": "no"}')
        return
    if does == "hangs":
        script.released.wait(20)
    if does == "late":
        script.released.wait(script.late_seconds)
    if does in {"hangs", "resets"}:
        handler.close_connection = True
        return
    encoder = HashingEncoder(script.dimension + (does == "other length"))
    found = [
        # Of any length: the norm is ours to make.
        {"index": place, "embedding": (3.0 * row).tolist()}
        for place, row in enumerate(encoder.encode(texts))
    ]
    if does == "NaN":
        found[0]["embedding"][0] = float("nan")
    if does == "nothing":
        found[0]["embedding"] = [0.0] * script.dimension
    if does == "too few":
        found.pop()
    if does == "one twice":
        found[-1]["index"] = found[0]["index"]
    told = json.dumps({"data": found[::-1]}).encode()
    _send(handler, 200, b"<html>" if does == "a page" else told)


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    handler.send_response(status)
    if status in {429, 503}:
        handler.send_header("Retry-After", "7")
    if status in {301, 307}:
        handler.send_header("Location", "http://192.0.2.1/v1/embeddings")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
