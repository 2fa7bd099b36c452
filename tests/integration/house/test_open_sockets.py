"""A socket that a test leaves open is told of with whoever opened it."""

import socket
from pathlib import Path

from tests.support.open_sockets import openers


def test_whoever_opened_a_socket_that_was_left_open_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        (told,) = openers(f"ResourceWarning: unclosed {one!r}")
        number = one.fileno()
    assert told.startswith(f"fd={number} ")
    assert "test_whoever_opened_a_socket_that_was_left_open_is_named" in told
    assert f"tests/integration/house/{Path(__file__).name}:" in told
    assert openers("a socket, and nothing unclosed") == []
