"""A server of raw answers on the loopback: what a well-behaved one cannot send."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

Answer = Callable[[socket.socket, bytes], None]


class RawServer:
    """Answers each request by the next of its answers, the last one for ever."""

    def __init__(self, *answers: Answer | bytes) -> None:
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self.port = self._listener.getsockname()[1]
        self.heads: list[bytes] = []
        self.connections = 0
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.ending.set()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.ending.is_set():
            with suppress(TimeoutError):
                conn, _ = self._listener.accept()
                self.connections += 1
                self._start(partial(self._serve, conn))

    def _serve(self, conn: socket.socket) -> None:
        # The client hangs up whenever it has had enough.
        with conn, suppress(OSError):
            conn.settimeout(0.2)
            while not self.ending.is_set():
                head = self._head(conn)
                if head is None:
                    return
                with self._lock:
                    self.heads.append(head)
                    many = len(self._answers) > 1
                    answer = self._answers.pop(0) if many else self._answers[0]
                conn.settimeout(5)
                if isinstance(answer, bytes):
                    conn.sendall(answer)
                else:
                    answer(conn, head)
                if b"connection: close" in str(answer).encode().lower():
                    return
                conn.settimeout(0.2)

    def _head(self, conn: socket.socket) -> bytes | None:
        head = b""
        while b"\r\n\r\n" not in head:
            if self.ending.is_set():
                return None
            with suppress(TimeoutError):
                piece = conn.recv(65_536)
                if not piece:
                    return None
                head += piece
        return head


def http(status: str, body: bytes = b"", **headers: str) -> bytes:
    """One whole answer; `Content_Length` may be given to be wrong."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("Content-Length", str(len(body)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


@contextmanager
def raw_server(*answers: Answer | bytes) -> Iterator[RawServer]:
    server = RawServer(*answers)
    try:
        yield server
    finally:
        server.close()
