"""What goes on in a thread beside a test, for as long as a block lasts."""

import threading
from abc import ABC, abstractmethod
from typing import Self


class BackgroundThread(ABC):
    """Runs `_run` from the block's beginning; it returns once `_ended` is set."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(timeout=30)

    @abstractmethod
    def _run(self) -> None: ...
