"""A web socket (RFC 6455) on a connection that was asked for as every other is."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import httpcore
import httpx

from shared.errors import IngestionError, SourceUnreachableError
from shared.http import bounded_response, failures
from shared.http.connections import Patience
from shared.http.request import Asker, HTTPRequest

# After so long without a byte the other side is asked whether it is still there.
IDLE_SECONDS = 30.0
MAX_MESSAGE_BYTES = 1 << 20
SWITCHED = 101

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _CLOSE, _PING, _PONG = 0, 1, 8, 9, 10
_FINAL, _OPCODE, _MASKED, _LENGTH = 0x80, 0x0F, 0x80, 0x7F
_TWO_BYTES, _EIGHT_BYTES = 126, 127


@contextmanager
def opened(
    asker: Asker, url: httpx.URL, patience: Patience, protocol: str | None
) -> Iterator[WebSocket]:
    """Shake hands, and hang up at the end."""
    key = base64.b64encode(os.urandom(16)).decode("ascii")
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        **({"Sec-WebSocket-Protocol": protocol} if protocol else {}),
    }
    question = HTTPRequest("GET", url, headers, allow=frozenset({SWITCHED}))
    answer = asker.ask(question, patience)
    try:
        said = bounded_response.join_headers(answer.response.headers).get(
            "sec-websocket-accept"
        )
        digest = hashlib.sha1(f"{key}{_MAGIC}".encode(), usedforsecurity=False).digest()
        if said != base64.b64encode(digest).decode("ascii"):
            message = "The source opens no web socket, though it says so."
            raise IngestionError(message, reason="unexpected_shape")
        stream = answer.response.extensions["network_stream"]
        yield WebSocket(cast("httpcore.NetworkStream", stream), answer.url)
    finally:
        answer.response.close()


class WebSocket:
    """Texts in both directions; whoever is gone is noticed within two idle times."""

    def __init__(self, stream: httpcore.NetworkStream, url: httpx.URL) -> None:
        self._stream = stream
        self._url = url
        self._buffer = bytearray()
        self._has_asked = False

    def send(self, text: str) -> None:
        """Send one text."""
        with failures.translate_network_errors(self._url):
            self._write(_TEXT, text.encode())

    def receive(self) -> str:
        """Return the next text, answering what only asks whether we are here."""
        whole = bytearray()
        with failures.translate_network_errors(self._url):
            while True:
                opcode, is_final, data = self._frame()
                if opcode == _CLOSE:
                    message = "The source has closed its web socket."
                    raise SourceUnreachableError(message, reason="no_connection")
                if opcode == _PING:
                    self._write(_PONG, data)
                if opcode >= _CLOSE:
                    continue
                whole += data
                if len(whole) > MAX_MESSAGE_BYTES:
                    raise _too_large()
                if is_final:
                    return whole.decode("utf-8", "replace")

    def _frame(self) -> tuple[int, bool, bytes]:
        first, second = self._take(2)
        length = second & _LENGTH
        if length in {_TWO_BYTES, _EIGHT_BYTES}:
            length = int.from_bytes(self._take(2 if length == _TWO_BYTES else 8))
        if length > MAX_MESSAGE_BYTES:
            raise _too_large()
        # Only a client masks what it sends; but nothing is lost by understanding it.
        mask = self._take(4) if second & _MASKED else bytes(4)
        data = _masked(self._take(length), mask)
        return first & _OPCODE, bool(first & _FINAL), data

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._buffer += self._read()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _read(self) -> bytes:
        """Wait for some bytes; after one silence ask, after the second give up."""
        while True:
            try:
                data = self._stream.read(1 << 16)
            except httpcore.ReadTimeout:
                if self._has_asked:
                    raise
                self._has_asked = True
                self._write(_PING, b"")
                continue
            if not data:
                raise httpcore.RemoteProtocolError("the web socket was cut off")
            self._has_asked = False
            return data

    def _write(self, opcode: int, data: bytes) -> None:
        head = bytes([_FINAL | opcode])
        if len(data) < _TWO_BYTES:
            head += bytes([_MASKED | len(data)])
        else:
            head += bytes([_MASKED | _EIGHT_BYTES]) + len(data).to_bytes(8)
        mask = os.urandom(4)
        self._stream.write(head + mask + _masked(data, mask))


def _masked(data: bytes, mask: bytes) -> bytes:
    if not any(mask):
        return data
    return bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))


def _too_large() -> IngestionError:
    message = f"A message of the source is larger than {MAX_MESSAGE_BYTES} bytes."
    return IngestionError(message, reason="too_large")
