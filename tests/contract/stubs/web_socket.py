"""The server's end of web sockets, one thread each, for stubs that speak up."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from socket import SHUT_RDWR, socket

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUED, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10


class ServerSocket:
    """One open web socket: what the client says goes to a function."""

    def __init__(self, connection: socket, incoming: BufferedIOBase) -> None:
        self._connection = connection
        self._incoming = incoming
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.pongs = 0

    def say(self, text: str) -> None:
        """Send a text in one frame."""
        self.frame(TEXT, text.encode())

    def frame(self, opcode: int, data: bytes, *, final: bool = True) -> None:
        """Send any frame, unmasked as servers do."""
        size = len(data)
        if size < 126:
            length = bytes([size])
        elif size < 1 << 16:
            length = bytes([126]) + size.to_bytes(2)
        else:
            length = bytes([127]) + size.to_bytes(8)
        with self._lock:
            self._connection.sendall(bytes([0x80 * final | opcode]) + length + data)

    def is_open(self) -> bool:
        """Tell whether the client is still there."""
        return not self._ended.is_set()

    def drop(self) -> None:
        """Be gone without a word."""
        try:
            self._connection.shutdown(SHUT_RDWR)
        except OSError:
            # The client was faster.
            return

    def listen(self, heard: Callable[[ServerSocket, str], None]) -> None:
        """Hand on every text until the client is gone."""
        try:
            while not self._is_gone(heard):
                continue
        finally:
            self._ended.set()

    def _is_gone(self, heard: Callable[[ServerSocket, str], None]) -> bool:
        head = self._incoming.read(2)
        if len(head) < 2:
            return True
        size = head[1] & 0x7F
        if size >= 126:
            size = int.from_bytes(self._incoming.read(2 if size == 126 else 8))
        assert head[1] & 0x80, "what a client sends is masked"
        mask = self._incoming.read(4)
        sent = self._incoming.read(size)
        data = bytes(one ^ mask[place % 4] for place, one in enumerate(sent))
        opcode = head[0] & 0x0F
        if opcode == TEXT:
            heard(self, data.decode())
        elif opcode == PING:
            self.frame(PONG, data)
        elif opcode == PONG:
            self.pongs += 1
        return opcode == CLOSE


def accept(
    handler: BaseHTTPRequestHandler,
    heard: Callable[[ServerSocket, str], None],
    *,
    kind: type[ServerSocket] = ServerSocket,
) -> None:
    """Shake hands on a request's connection and listen to the client until it goes."""
    key = handler.headers["Sec-WebSocket-Key"]
    digest = hashlib.sha1(f"{key}{_MAGIC}".encode(), usedforsecurity=False).digest()
    handler.close_connection = True
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
    handler.end_headers()
    handler.wfile.flush()
    kind(handler.connection, handler.rfile).listen(heard)
