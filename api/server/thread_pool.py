"""The threads that coroutines of one API process send their steps to."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from shared.postgres import request_deadline

T = TypeVar("T")
P = ParamSpec("P")


class Threads(ThreadPoolExecutor):
    """A pool in which waiting for a thread is part of what a request may wait for.

    Routes that are no coroutines have threads of the framework's.
    """

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Run a function in a thread; the wait for a thread counts as request time."""
        return super().submit(request_deadline.counted(fn), *args, **kwargs)


async def run_step(step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run one step of a long request, with the time of a whole request.

    The wait for a thread is part of it, as it is of a request's.
    """
    request_deadline.begin()
    return await asyncio.to_thread(step, *args, **kwargs)
