"""What every stub with a server stands on: a real one, on loopback, faults included."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from ssl import SSLContext
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from workers.adapters.kit.stub import FaultMode

LOGIN_PAGE = (
    b'<html><body><form method="post"><input name=uname>'
    b"<input type=password name=upassword></form></body></html>"
)
ERROR_PAGE = b"<html><body><h1>Internal error</h1></body></html>"
_LISTING_FAULTS = ("empty_listing", "cut_listing")
# Longer than every time-out of a test; a stub that closes ends it at once.
_HANG_SECONDS = 60


@dataclass(frozen=True, slots=True)
class StubRequest:
    """One request, taken apart."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """Without the query, still quoted."""
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        """Every parameter, in order, empty ones too."""
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)


@dataclass(frozen=True, slots=True)
class StubAnswer:
    """What is sent back when nothing goes wrong."""

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    # Has the connection instead, from here on.
    takes_over: Callable[[BaseHTTPRequestHandler], None] | None = None


class StubServer:
    """Answers by a function, logs every request, and goes wrong when told to."""

    def __init__(self, answer: Callable[[StubRequest], StubAnswer]) -> None:
        self.answer = answer
        # What the header `Server` says.
        self.software = "stub"
        self.closing = threading.Event()
        self._log: list[str] = []
        # When each came and was answered; until then its end is never.
        self._spans: list[tuple[float, float]] = []
        self._faults: deque[FaultMode] = deque()
        self._lock = threading.Lock()
        self._connections: set[socket] = set()
        self._listen(0)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        """Let the next answers, or the next listings, go wrong."""
        with self._lock:
            self._faults.extend([mode] * times)

    def forget_faults(self) -> None:
        """Let answers be right again; what hangs goes on hanging."""
        with self._lock:
            self._faults.clear()

    def listing_fault(self) -> FaultMode | None:
        """Take the fault that is due on a listing, if the next one is such."""
        return self._take(listing=True)

    def requests(self) -> Sequence[str]:
        """Return method and target of every request so far."""
        with self._lock:
            return tuple(self._log)

    def spans(self) -> Sequence[tuple[float, float]]:
        """Return when each request came, and when it had been answered, by epoch."""
        with self._lock:
            return tuple(self._spans)

    def encrypt(self, context: SSLContext) -> None:
        """Speak TLS from now on; whoever does not is hung up on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def close(self) -> None:
        """Stop listening and end what hangs."""
        self.closing.set()
        if self._thread.is_alive():
            self.stop()

    def stop(self) -> None:
        """Stop listening, and hang up on whoever asks."""
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _hang_up(connection)
        self._thread.join()

    def start(self) -> None:
        """Listen again, where it has listened before."""
        self._listen(self._server.server_port)

    def _listen(self, port: int) -> None:
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            daemon=True,
        )
        self._thread.start()

    def opened(self, connection: socket) -> None:
        """Remember a connection, to end it when closing."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def reply(self, handler: _Handler, request: StubRequest) -> None:
        """Answer one request, or do what was ordered instead."""
        with self._lock:
            self._log.append(f"{request.method} {request.target}")
            place, began = len(self._spans), time.time()
            self._spans.append((began, math.inf))
        try:
            self._reply(handler, request)
        finally:
            with self._lock:
                self._spans[place] = (began, time.time())

    def _reply(self, handler: _Handler, request: StubRequest) -> None:
        mode = self._take(listing=False)
        if mode is None:
            _send(handler, self.answer(request))
        else:
            _FAULTS[mode](self, handler, request)

    def _take(self, *, listing: bool) -> FaultMode | None:
        with self._lock:
            if self._faults and (self._faults[0] in _LISTING_FAULTS) is listing:
                return self._faults.popleft()
            return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    stub: StubServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients of a faulty server hang up, and that is the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # Header and body leave in one piece, so that nothing waits for a delayed ACK.
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.stub.opened(self.connection)

    def finish(self) -> None:
        self.server.stub.closed(self.connection)
        super().finish()

    def version_string(self) -> str:
        return self.server.stub.software

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - inherited
        """Keep the output of tests quiet."""

    def _handle(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        request = StubRequest(
            method=self.command,
            target=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        self.server.stub.reply(self, request)


def _send(handler: _Handler, answer: StubAnswer, length: int | None = None) -> None:
    if answer.takes_over is not None:
        answer.takes_over(handler)
        return
    handler.send_response(answer.status)
    handler.send_header("Content-Type", answer.media_type)
    handler.send_header(
        "Content-Length", str(len(answer.body) if length is None else length)
    )
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer.body)
    handler.wfile.flush()


def _page(body: bytes, status: int = 200, **headers: str) -> StubAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StubAnswer(body, status, "text/html", named)


def _server_error(_stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    _send(handler, _page(ERROR_PAGE, 500))


def _too_many(_stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    _send(handler, _page(b"", 429, Retry_After="2"))


def _hang(stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    stub.closing.wait(_HANG_SECONDS)
    handler.close_connection = True


def _half_body(stub: StubServer, handler: _Handler, request: StubRequest) -> None:
    answer = stub.answer(request)
    half = answer.body[: len(answer.body) // 2]
    _send(
        handler,
        StubAnswer(half, answer.status, answer.media_type),
        length=len(answer.body),
    )
    _hang_up(handler.connection)
    handler.close_connection = True


def _wrong_length(stub: StubServer, handler: _Handler, request: StubRequest) -> None:
    answer = stub.answer(request)
    _send(handler, answer, length=len(answer.body) + 1000)
    _hang_up(handler.connection)
    handler.close_connection = True


def _redirect_loop(_stub: StubServer, handler: _Handler, request: StubRequest) -> None:
    _send(handler, _page(b"", 302, Location=request.target))


def _endless(stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    piece = b" " * 65_536
    while not stub.closing.is_set():
        handler.wfile.write(piece)


def _html_error(_stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    _send(handler, _page(ERROR_PAGE))


def _login(_stub: StubServer, handler: _Handler, _request: StubRequest) -> None:
    _send(handler, _page(LOGIN_PAGE))


_FAULTS: Mapping[str, Callable[[StubServer, _Handler, StubRequest], None]] = {
    "500": _server_error,
    "429": _too_many,
    "hang": _hang,
    "half_body": _half_body,
    "wrong_length": _wrong_length,
    "redirect_loop": _redirect_loop,
    "endless": _endless,
    "html_error": _html_error,
    "login_page": _login,
}


def say_nothing(handler: BaseHTTPRequestHandler) -> None:
    """Hang up without a byte."""
    _hang_up(handler.connection)
    handler.close_connection = True


def _hang_up(connection: socket) -> None:
    try:
        connection.shutdown(SHUT_RDWR)
    except OSError:
        # Already gone, which is what was wanted.
        return
