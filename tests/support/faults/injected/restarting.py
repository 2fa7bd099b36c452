"""Workers that end by themselves are started again, as whatever runs them does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.fixtures.system import System


@contextmanager
def started_again(
    system: System, names: tuple[str, ...], faulty: dict[str, Any]
) -> Iterator[None]:
    """Start workers of vectors again whenever they end, for as long as it lasts."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for name in names:
                if system.has_ended(name):
                    system.start(name, command="embed", faulty=faulty)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(timeout=10)
