"""Who opened a socket that nobody closed: its warning comes in a later test's time.

Python warns when it collects such a socket, and names its number and addresses alone.
While it is open no other socket has that number: whoever had it last has left it open.
"""

import functools
import os
import re
import socket
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = f"{Path(__file__).parents[2]}{os.sep}"
INSTALLED = f"{ROOT}.venv{os.sep}"
FRAMES = 6
_UNCLOSED = re.compile(r"unclosed <socket\.socket fd=(\d+),")

# By number: the test, and the lines of ours on the way to it.
_opened: dict[int, str] = {}


def openers(text: str) -> list[str]:
    """Return who opened the sockets that a text says are unclosed."""
    numbers = {int(found) for found in _UNCLOSED.findall(text)}
    return [f"fd={number} {_opened[number]}" for number in sorted(numbers & {*_opened})]


def pytest_configure() -> None:
    """Note every socket as it is made; the class itself stays what it is."""
    made = socket.socket.__init__

    @functools.wraps(made)
    def noted(self: socket.socket, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        _opened[self.fileno()] = f"{_test()}: {' < '.join(_lines())}"

    socket.socket.__init__ = noted  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[
    None, pytest.TestReport, pytest.TestReport
]:
    """Name them beside the failure of a test that, as a rule, did not open them."""
    report = yield
    if report.failed and (told := openers(str(report.longrepr))):
        report.sections.append(("sockets that were left open", "\n".join(told)))
    return report


def _test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "between tests")


def _lines() -> Iterator[str]:
    frame: FrameType | None = sys._getframe(2)
    left = FRAMES
    while frame is not None and left:
        name = frame.f_code.co_filename
        if name.startswith(ROOT) and not name.startswith(INSTALLED):
            yield f"{name.removeprefix(ROOT)}:{frame.f_lineno}"
            left -= 1
        frame = frame.f_back
