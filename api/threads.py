"""The threads of one API process: who waits for one waits on their request's time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from shared import patience

T = TypeVar("T")
P = ParamSpec("P")


class Threads(ThreadPoolExecutor):
    """A pool in which no request waits for Postgres longer than it may in all."""

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Run it in a thread; until one is free the caller's time goes on."""
        return super().submit(patience.counted(fn), *args, **kwargs)
