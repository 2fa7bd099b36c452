"""The threads that coroutines of one API process send their steps to."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from shared import patience

T = TypeVar("T")
P = ParamSpec("P")


class Threads(ThreadPoolExecutor):
    """A pool in which waiting for a thread is part of what a request may wait for.

    Routes that are no coroutines have threads of the framework's.
    """

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Run it in a thread; until one is free the caller's time goes on."""
        return super().submit(patience.counted(fn), *args, **kwargs)
