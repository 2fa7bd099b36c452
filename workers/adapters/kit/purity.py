"""What a pure function must do without: the network, the clock, chance."""

import random
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, datetime
from types import ModuleType
from typing import Any, NoReturn
from unittest import mock

_CLOCKS = ("time", "time_ns", "localtime", "gmtime", "ctime", "asctime")
_CHANCE = ("random", "randint", "choice", "randrange", "uniform", "shuffle")


class ImpureError(AssertionError):
    """What is said to be pure has looked at the world."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ImpureError("`parse` opens no socket, asks no clock and rolls no dice")


class _Stopped(datetime):
    """A datetime without a present."""

    # Their signatures are not repeated: whatever is asked, there is no answer.
    now = today = utcnow = _refuse


class _StoppedDate(date):
    today = _refuse


@contextmanager
def nothing_but_arguments(modules: Iterator[ModuleType]) -> Iterator[None]:
    """Take clock, sockets and chance away, also where a module has imported them."""
    with ExitStack() as stack:
        put = stack.enter_context
        put(mock.patch.object(socket, "socket", _refuse))
        put(mock.patch.object(socket, "getaddrinfo", _refuse))
        for name in _CHANCE:
            put(mock.patch.object(random, name, _refuse))
        for module in list(modules):
            for name, value in list(vars(module).items()):
                if value is datetime:
                    put(mock.patch.object(module, name, _Stopped))
                elif value is date:
                    put(mock.patch.object(module, name, _StoppedDate))
        for name in _CLOCKS:
            put(mock.patch.object(time, name, _refuse))
        yield


def loaded(prefixes: tuple[str, ...]) -> Iterator[ModuleType]:
    """Yield the modules that are loaded below these names."""
    for name, module in list(sys.modules.items()):
        if any(name == one or name.startswith(f"{one}.") for one in prefixes):
            yield module
