"""A server before OpenSearch, which takes a part of a bulk only.

It passes every request on. Of a bulk it answers items itself, as `refuse` says, and
forwards the others alone; what comes back is one answer, in the order of the items.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

# By the id of a document: the status and the kind of error, or None to pass it on.
Refuse = Callable[[str], tuple[int, str] | None]
# Ours to say: an answer that is read must not be packed.
_HOP_BY_HOP = frozenset(
    {"connection", "content-length", "transfer-encoding", "host", "accept-encoding"}
)


@dataclass
class Refusing:
    """What was refused, by id, each time; and where this server listens."""

    url: str
    refuse: Refuse | None = None
    # How many items were refused, by status; and who, by status.
    times: dict[int, int] = field(default_factory=dict)
    who: dict[int, set[str]] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def verdict(self, entry_id: str) -> tuple[int, str] | None:
        """Say what becomes of one item, and remember it."""
        found = self.refuse(entry_id) if self.refuse else None
        if found is not None:
            with self.turn:
                self.times[found[0]] = self.times.get(found[0], 0) + 1
                self.who.setdefault(found[0], set()).add(entry_id)
        return found


class _Handler(BaseHTTPRequestHandler):
    """One request of a client; bulks are read, all else is passed on as it is."""

    protocol_version = "HTTP/1.1"
    script: Refusing
    upstream: tuple[str, int]

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if urlsplit(self.path).path.endswith("/_bulk"):
            self._bulk(body)
        else:
            self._answer(*self._forward(body))

    def do_GET(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _bulk(self, body: bytes) -> None:
        lines = body.decode().splitlines()
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        ids = [json.loads(action)["index"]["_id"] for action, _ in pairs]
        refused = {one: told for one in ids if (told := self.script.verdict(one))}
        kept = [
            line
            for one, pair in zip(ids, pairs, strict=True)
            if one not in refused
            for line in pair
        ]
        items: Iterator[dict[str, Any]] = iter(())
        if kept:
            status, answer, kind = self._forward(("\n".join(kept) + "\n").encode())
            if status != HTTPStatus.OK:
                self._answer(status, answer, kind)
                return
            items = iter(json.loads(answer)["items"])
        answers = [
            _item(one, *refused[one]) if one in refused else next(items) for one in ids
        ]
        whole = {"took": 1, "errors": bool(refused), "items": answers}
        self._answer(HTTPStatus.OK, json.dumps(whole).encode(), "application/json")

    def _forward(self, body: bytes) -> tuple[int, bytes, str]:
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _HOP_BY_HOP
        }
        with closing(HTTPConnection(*self.upstream, timeout=60)) as link:
            link.request(self.command, self.path, body, headers)
            answer = link.getresponse()
            kind = answer.getheader("Content-Type", "application/json")
            return answer.status, answer.read(), kind

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def refusing(upstream: str) -> Iterator[Refusing]:
    """Stand before the server until the end of the block; it refuses nothing yet."""
    parts = urlsplit(upstream)
    made = Refusing("")
    given = {"script": made, "upstream": (parts.hostname, parts.port)}
    server = ThreadingHTTPServer(
        (str(parts.hostname), 0), type("Handler", (_Handler,), given)
    )
    server.daemon_threads = True
    made.url = f"http://{parts.hostname}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def _item(entry_id: str, status: int, kind: str) -> dict[str, Any]:
    error = {"type": kind, "reason": "refused by the test"}
    return {"index": {"_id": entry_id, "status": status, "error": error}}
