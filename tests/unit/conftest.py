"""Unit tests reach no network: a socket that is opened fails the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket


@pytest.fixture(autouse=True)
def _no_sockets() -> Iterator[None]:
    # A socket pair inside the process is how asyncio wakes its own loop.
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working folder of this test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGCHORD_HOME", str(tmp_path))
    return tmp_path
