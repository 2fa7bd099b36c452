"""How long a connection may say nothing: a request begins soon, and goes on."""

import asyncio
import json
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.errors import InvalidRequestError
from shared.log import get_logger

log = get_logger()

# A head that has ended is judged by the setting; one that does not end, by this, and
# so are the headers after a body in chunks.
_LONGEST_HEAD = 1_048_576


class BoundedProtocol(HttpToolsProtocol):
    """Cuts a connection whose head is not there in time, or whose body stands still.

    The parser itself keeps headers of any number for any time.
    """

    head_seconds: ClassVar[float]
    body_seconds: ClassVar[float]

    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _in_body = False
    # Since something of the body came: of a chunk's head, or of headers after the last.
    _beside_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give the first head its time."""
        super().connection_made(transport)
        self._arm(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and count what belongs to a head that has not ended."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _LONGEST_HEAD:
                self._refuse()
        elif self._in_body:
            self._beside_bytes += len(data)
            if self._beside_bytes > _LONGEST_HEAD:
                self._refuse()
            else:
                self._arm(self.body_seconds)
        elif self._timer is None and not self._is_answering():
            # Empty lines begin no request, and would keep the connection for ever.
            self._arm(self.head_seconds)

    def on_message_begin(self) -> None:
        """Give this head its time."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._arm(self.head_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, unless it comes after the body, where nobody reads it."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request on; the size of its body is limited while it is read."""
        self._in_head, self._in_body = False, True
        self._beside_bytes = 0
        self._arm(self.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count bytes beside the body anew."""
        self._beside_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing more: from here on it is for us to answer."""
        self._in_body = False
        self._disarm()
        super().on_message_complete()

    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._cut)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        # Whoever is not read from cannot send; and the head of a later request must not
        # cost an earlier one its answer.
        if self.flow.read_paused if self._in_body else self._is_answering():
            self._arm(self.body_seconds if self._in_body else self.head_seconds)
        elif not self.transport.is_closing():
            part = "body" if self._in_body else "head"
            log.info("connection_cut", part=part, head_bytes=self._head_bytes)
            self.transport.close()

    def _refuse(self) -> None:
        read = max(self._head_bytes, self._beside_bytes)
        log.info("connection_refused", head_bytes=read)
        # Inside another answer, or after its own, this would be none.
        if self._in_head and not self._is_answering():
            self._tell_too_large()
        self.transport.close()

    def _tell_too_large(self) -> None:
        message = "The headers do not end."
        error = InvalidRequestError(message, code="headers_too_large")
        body = json.dumps(error.body()).encode()
        head = (
            f"HTTP/1.1 {error.status} Request Header Fields Too Large\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)


def bounded(head_seconds: float, body_seconds: float) -> type[HttpToolsProtocol]:
    """Return the protocol of a server that waits so long for a head, and for more."""
    waits = {"head_seconds": head_seconds, "body_seconds": body_seconds}
    return type("Bounded", (BoundedProtocol,), waits)
