"""The fault proxy as tests use it: a process before each server to misbehave."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.faults import proxy
from tests.fix_servers import Reap

_ANSWER_SECONDS = 10.0


class Proxy:
    """One server's links; each method is in force when it returns."""

    def __init__(self, upstream: str, reap: Reap) -> None:
        parts = urlsplit(upstream)
        assert parts.hostname is not None
        assert parts.port is not None
        self._process = subprocess.Popen(
            [sys.executable, "-SE", proxy.__file__, parts.hostname, str(parts.port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=Path(proxy.__file__).parent,
            start_new_session=True,
        )
        reap(self._process.pid)
        assert self._process.stdout is not None
        self.port, control = map(int, self._process.stdout.readline().split())
        login = parts.netloc.rpartition("@")[0]
        netloc = f"{login}@{proxy.HOST}" if login else proxy.HOST
        self.url = urlunsplit(parts._replace(netloc=f"{netloc}:{self.port}"))
        self._control = socket.create_connection(
            (proxy.HOST, control), timeout=_ANSWER_SECONDS
        )
        self._answers = self._control.makefile("r")
        self._turn = threading.Lock()

    def close(self) -> None:
        """End the proxy and all of its links."""
        self._answers.close()
        self._control.close()
        self._process.kill()
        self._process.wait(timeout=_ANSWER_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def cut(self, *, mended: bool = False) -> None:
        """End every link with RST, on both sides.

        With `mended`, no fault is left for who comes again, however soon.
        """
        self._say("cut mended" if mended else "cut")

    def drop_s2c(self, *, on: bool) -> None:
        """Let what the server sends vanish, with the sockets open."""
        self._say(f"drop_s2c {on:d}")

    def drop_c2s(self, *, on: bool) -> None:
        """Let what the client sends vanish, with the sockets open."""
        self._say(f"drop_c2s {on:d}")

    def refuse(self, *, on: bool) -> None:
        """Answer new links with RST; those that stand go on (see `cut`)."""
        self._say(f"refuse {on:d}")

    def deaf(self, *, on: bool) -> None:
        """Listen, and accept nobody."""
        self._say(f"deaf {on:d}")

    def hold_back(self, seconds: float) -> None:
        """Hold every chunk back, in both directions."""
        self._say(f"delay {seconds}")

    def slice(self, size: int) -> None:
        """Pass on so many bytes at a time; 0: as they come."""
        self._say(f"slice {size}")

    def bandwidth(self, bytes_per_second: int) -> None:
        """Pass on so many bytes a second in each direction; 0: as fast as it goes."""
        self._say(f"bandwidth {bytes_per_second}")

    def limit(self, size: int, *, after: str = "") -> None:
        """End a link after so many bytes to its client, from now or from a word on.

        With `after`, the count begins once the client has sent that word: 0 bytes
        after `COMMIT` lose the reply to a commit. -1: never.
        """
        self._say(f"limit {size} {after}".rstrip())

    def slow_close(self, seconds: float) -> None:
        """Pass the end of one side on later."""
        self._say(f"slow_close {seconds}")

    def reset(self) -> None:
        """Be a good proxy again; links that stand are kept."""
        self._say("reset")

    def links(self) -> int:
        """Return how many links there are."""
        return int(self._say("links").split()[1])

    def _say(self, command: str) -> str:
        with self._turn:
            self._control.sendall(f"{command}\n".encode())
            answer = self._answers.readline().strip()
        if not answer.startswith("ok"):
            message = f"the proxy answered {answer!r} to {command!r}"
            raise AssertionError(message)
        return answer


MakeProxy = Callable[[str], Proxy]


@pytest.fixture
def make_proxy(reap: Reap) -> Iterator[MakeProxy]:
    """Put a fault proxy before the server of an address; ends with the test."""
    with ExitStack() as endings:

        def make(upstream: str) -> Proxy:
            made = Proxy(upstream, reap)
            endings.callback(made.close)
            return made

        yield make
