"""How long one request may wait for Postgres in all, whatever makes it slow.

The server's own time-outs bound a statement; they know nothing of a link on which every
answer takes seconds, nor of several statements that are each just fast enough.
"""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import psycopg
from psycopg import Connection

# With what comes before and after it, an answer is out within 6 s.
REQUEST_SECONDS = 4.5
_LOOK_SECONDS = 0.25

T = TypeVar("T")
P = ParamSpec("P")


@dataclass
class _Patience:
    """The rest of a request's time, and when it ends while it is running."""

    seconds: float
    ends: float = math.inf


_of_this_request: ContextVar[_Patience | None] = ContextVar("patience", default=None)
_for_a_link: ContextVar[float] = ContextVar("for_a_link", default=math.inf)


def begin(seconds: float = REQUEST_SECONDS) -> None:
    """Limit the time that this context spends on Postgres from now on, waits included.

    Where it never begins, as in a worker, there is no end either.
    """
    _of_this_request.set(_Patience(seconds))


def at_most(seconds: float) -> float:
    """Return how long may be waited for a connection."""
    seconds = min(seconds, _for_a_link.get())
    left = _of_this_request.get()
    return seconds if left is None else max(0.0, min(seconds, left.seconds))


@contextmanager
def hurried(seconds: float) -> Iterator[None]:
    """Wait at most so long for a connection within this block, for optional work."""
    token = _for_a_link.set(seconds)
    try:
        yield
    finally:
        _for_a_link.reset(token)


@contextmanager
def spend() -> Iterator[None]:
    """Count the time until the end of this block."""
    left = _of_this_request.get()
    if left is None:
        yield
        return
    left.ends = time.monotonic() + left.seconds
    try:
        yield
    finally:
        left.seconds = max(0.0, left.ends - time.monotonic())


def counted(step: Callable[P, T]) -> Callable[P, T]:
    """Return a step that also counts the time until it begins."""
    left = _of_this_request.get()
    if left is None:
        return step
    since = time.monotonic()

    def begun(*args: P.args, **kwargs: P.kwargs) -> T:
        left.seconds = max(0.0, left.seconds - (time.monotonic() - since))
        return step(*args, **kwargs)

    return begun


@contextmanager
def watched(conn: Connection) -> Iterator[None]:
    """Cut the connection when the time is over, so that waiting ends with an error."""
    left = _of_this_request.get()
    if left is None:
        yield
        return
    _watch.add(conn, left.ends)
    try:
        yield
    finally:
        _watch.remove(conn)


class _Watch:
    """One thread for all links that somebody waits on."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[float, Connection]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, conn: Connection, ends: float) -> None:
        """Watch a link; the thread is woken only from having nothing to watch."""
        with self._changed:
            idle = not self._ends
            self._ends[id(conn)] = ends, conn
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="patience", daemon=True
                )
                self._thread.start()
            elif idle:
                self._changed.notify()

    def remove(self, conn: Connection) -> None:
        """Stop watching a link: from here on, it may be another request's."""
        with self._changed:
            self._ends.pop(id(conn), None)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._ends:
                    self._changed.wait()
                now = time.monotonic()
                ended = [one for one in self._ends.values() if one[0] <= now]
                for _, conn in ended:
                    _shut(conn)
                    del self._ends[id(conn)]
            threading.Event().wait(_LOOK_SECONDS)


def _shut(conn: Connection) -> None:
    """End the link below libpq, which another thread waits in."""
    # It may have ended by itself just now.
    with (
        suppress(OSError, psycopg.OperationalError),
        socket.fromfd(conn.fileno(), socket.AF_UNSPEC, socket.SOCK_STREAM) as link,
    ):
        link.shutdown(socket.SHUT_RDWR)


_watch = _Watch()
