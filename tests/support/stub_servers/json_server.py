"""A small HTTP server that reads JSON, for stand-ins of what answers over HTTP."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = Callable[[BaseHTTPRequestHandler, Any], None]


@dataclass(kw_only=True)
class ScriptedServer:
    """What a model's endpoint was asked, and where it is; what hangs is released."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/v1"

    @contextmanager
    def serving(self, answer: Answer) -> Iterator[Self]:
        """Serve until the end of the block."""

        def note_and_answer(handler: BaseHTTPRequestHandler, body: Any) -> None:
            self.asked.append(body)
            self.keys.append(handler.headers["Authorization"])
            answer(handler, body)

        with answering(note_and_answer) as self.port:
            try:
                yield self
            finally:
                self.released.set()


@contextmanager
def answering(answer: Answer) -> Iterator[int]:
    """Serve until the end of the block; give the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            answer(self, json.loads(self.rfile.read(length)))

        def do_GET(self) -> None:
            answer(self, None)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
