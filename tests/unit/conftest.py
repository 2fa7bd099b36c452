"""Unit tests reach no network: a socket that is opened fails the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import pytest_socket


@pytest.fixture(autouse=True)
def _no_sockets() -> Iterator[None]:
    # A socket pair inside the process is how asyncio wakes its own loop.
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()
