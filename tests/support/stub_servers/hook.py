"""A webhook that really listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from shared.watch import webhook
from tests.support.stub_servers.json_server import answering, send


@dataclass
class Hook:
    """A webhook that keeps what it is sent, and answers with these statuses in turn."""

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    came: list[dict[str, Any]] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the end of the block."""
        with answering(self._answer) as self.port:
            yield self

    def _answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.came.append(body)
        self.signed.append(handler.headers.get(webhook.SIGNATURE, ""))
        status = self.statuses.pop(0) if self.statuses else 204
        headers = {"Location": f"{self.url}/elsewhere"} if status == 307 else {}
        send(handler, status, b"", headers)
