"""The fault proxy does what it is told, and nothing else."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.fixtures.fault_proxy import MakeProxy, Proxy
from tests.support.waiting import until

PATIENCE_SECONDS = 5.0
# What certainly has arrived by then on loopback, where nothing holds it back.
SOON_SECONDS = 0.3


class Echo:
    """A server that sends back what it gets, and tells how its links ended."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.ends: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        with link:
            try:
                while chunk := link.recv(65_536):
                    self.received.append(chunk)
                    link.sendall(chunk)
            except ConnectionResetError:
                self.ends.append("reset")
            else:
                self.ends.append("closed")


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo, make_proxy: MakeProxy) -> Proxy:
    return make_proxy(echo.url)


@pytest.fixture
def link(proxy: Proxy) -> Iterator[socket.socket]:
    with connected(proxy) as made:
        assert asked(made, b"hello") == b"hello"
        yield made


def connected(proxy: Proxy) -> socket.socket:
    """A new link through the proxy."""
    address = ("127.0.0.1", proxy.port)
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def read(link: socket.socket, size: int) -> bytes:
    """As many bytes as asked for, fewer when the other side ends before."""
    found = b""
    while len(found) < size and (chunk := link.recv(size - len(found))):
        found += chunk
    return found


def asked(link: socket.socket, text: bytes) -> bytes:
    """What comes back for a text."""
    link.sendall(text)
    return read(link, len(text))


def test_bytes_pass_unchanged_in_both_directions(link):
    text = bytes(range(256)) * 2000
    sender = threading.Thread(target=link.sendall, args=(text,))
    sender.start()

    assert read(link, len(text)) == text
    sender.join()


def test_a_cut_resets_both_sides(echo, proxy, link):
    proxy.cut()

    with pytest.raises(ConnectionResetError):
        link.recv(1)
    assert until(lambda: echo.ends, within_seconds=PATIENCE_SECONDS) == ["reset"]
    assert until(lambda: proxy.links() == 0, within_seconds=PATIENCE_SECONDS)
    with connected(proxy) as again:
        assert asked(again, b"and on") == b"and on"


def test_what_the_server_sends_vanishes_while_the_socket_stays_open(echo, proxy, link):
    proxy.drop_s2c(on=True)
    link.sendall(b"lost")
    until(lambda: b"lost" in echo.received, within_seconds=PATIENCE_SECONDS)
    link.settimeout(SOON_SECONDS)
    with pytest.raises(TimeoutError):
        link.recv(1)
    proxy.drop_s2c(on=False)
    link.settimeout(PATIENCE_SECONDS)

    assert asked(link, b"back") == b"back"


def test_what_the_client_sends_vanishes(echo, proxy, link):
    proxy.drop_c2s(on=True)
    link.sendall(b"lost")
    link.settimeout(SOON_SECONDS)
    with pytest.raises(TimeoutError):
        link.recv(1)
    proxy.drop_c2s(on=False)
    link.settimeout(PATIENCE_SECONDS)

    assert asked(link, b"back") == b"back"
    assert b"lost" not in echo.received


def test_new_links_are_refused_while_others_go_on(proxy, link):
    proxy.refuse(on=True)

    with pytest.raises(ConnectionError), connected(proxy) as refused:
        assert asked(refused, b"no") == b""
    assert asked(link, b"yes") == b"yes"
    proxy.refuse(on=False)
    with connected(proxy) as again:
        assert asked(again, b"yes") == b"yes"


def test_the_deaf_accept_nobody_until_they_hear_again(proxy):
    proxy.deaf(on=True)
    with connected(proxy) as waiting:
        waiting.sendall(b"hello")
        waiting.settimeout(SOON_SECONDS)
        with pytest.raises(TimeoutError):
            waiting.recv(1)
        proxy.deaf(on=False)
        waiting.settimeout(PATIENCE_SECONDS)

        assert read(waiting, 5) == b"hello"


def test_a_chunk_is_held_back_once_in_each_direction(proxy, link):
    proxy.hold_back(0.2)
    began = time.monotonic()

    assert asked(link, b"slow") == b"slow"
    assert 0.4 <= time.monotonic() - began < 2


def test_bytes_pass_a_few_at_a_time(echo, proxy, link):
    proxy.slice(1)
    echo.received.clear()

    # Enough of them that no busy machine hands all over at once.
    assert asked(link, b"in slices" * 500) == b"in slices" * 500
    assert len(echo.received) > 1


def test_bandwidth_is_bounded(proxy, link):
    proxy.bandwidth(20_000)
    began = time.monotonic()

    assert asked(link, b"x" * 5000) == b"x" * 5000
    assert 0.25 <= time.monotonic() - began < 3


def test_a_link_ends_after_so_many_bytes_to_its_client(echo, proxy, link):
    proxy.limit(3)
    link.sendall(b"abcdef")

    assert read_until_reset(link) in (b"abc", b"")
    assert b"abcdef" in echo.received
    proxy.limit(-1)
    with connected(proxy) as again:
        assert asked(again, b"abcdef") == b"abcdef"


def test_the_reply_to_a_word_is_lost_and_the_word_is_not(echo, proxy, link):
    proxy.limit(0, after="COMMIT")
    assert asked(link, b"BEGIN") == b"BEGIN"
    link.sendall(b"COMMIT")

    assert read_until_reset(link) == b""
    assert b"COMMIT" in echo.received


def test_the_end_of_one_side_comes_late_to_the_other(echo, proxy, link):
    proxy.slow_close(0.5)
    link.shutdown(socket.SHUT_WR)
    began = time.monotonic()

    until(lambda: echo.ends, within_seconds=PATIENCE_SECONDS)
    assert time.monotonic() - began >= 0.5


def test_a_server_that_is_away_resets_its_clients(make_proxy):
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"redis://:secret@127.0.0.1:{gone.getsockname()[1]}/0"
    proxy = make_proxy(url)

    assert proxy.url == f"redis://:secret@127.0.0.1:{proxy.port}/0"
    with pytest.raises(ConnectionError), connected(proxy) as link:
        assert asked(link, b"anyone?") == b""


def test_what_is_no_command_is_said_so(proxy):
    with pytest.raises(AssertionError, match="error"):
        proxy._say("explode 1")


def read_until_reset(link: socket.socket) -> bytes:
    """What arrives before the link is reset."""
    found = b""
    try:
        while chunk := link.recv(100):
            found += chunk
    except ConnectionResetError:
        return found
    pytest.fail("the link was closed politely")
