"""Admission: so many searches or files at once, a queue, a share for each key."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from shared.access.scope import Scope
from shared.errors import CapacityError

TOO_MANY = "too_many_searches"


def caller_of(scope: Scope) -> str:
    """Return whose share of places a search takes: a key's, or a person's."""
    return f"{scope.tenant}/{scope.caller}"


def own_share(places: int, share: float) -> int:
    """Return how many of some places one key may hold; one, however few they are."""
    return min(places, max(1, int(places * share)))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The message when no place gets free, and how long to wait."""

    message: str
    retry_after_seconds: int


OF_SEARCHES = Refusal("Too many searches at once; try again in a second.", 1)


@dataclass(slots=True, eq=False)
class _Waiting:
    """A search that waits for its turn, and whose it is."""

    who: str
    begins: asyncio.Future[None]


class AdmittedPlace:
    """One of the places, held until it is given back; twice is once."""

    def __init__(self, admission: Admission, who: str) -> None:
        self._admission: Admission | None = admission
        self._who = who

    def give_back(self) -> None:
        """Give the place back, and let the next search in."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.leave(self._who)


class Admission:
    """Lets searches in by turns; who waits too long is told to come again.

    No key holds more than its share, so that another always finds a place. All of it
    belongs to the event loop: a thread gives a place back through that.
    """

    def __init__(
        self,
        at_once: int,
        may_wait: int,
        wait_seconds: float,
        share: float = 1.0,
        refusal: Refusal = OF_SEARCHES,
    ) -> None:
        self._free = at_once
        self._own_places = own_share(at_once, share)
        self._may_wait = may_wait
        self._own_waiting = own_share(may_wait, share)
        self._wait_seconds = wait_seconds
        self._refusal = refusal
        self._held: Counter[str] = Counter()
        # In the order in which they came.
        self._queue: list[_Waiting] = []

    @contextlib.asynccontextmanager
    async def turn(self, who: str, seconds: float = math.inf) -> AsyncIterator[None]:
        """Hold a place for a search; 429 `too_many_searches` when none gets free."""
        place = await self.enter(who, seconds)
        try:
            yield
        finally:
            place.give_back()

    async def enter(self, who: str, seconds: float = math.inf) -> AdmittedPlace:
        """Return a place, which the caller must give back.

        Who has fewer seconds left than all may wait is told so when these are over.
        """
        if self._may_begin(who):
            self._take(who)
            return AdmittedPlace(self, who)
        own = sum(one.who == who for one in self._queue)
        if len(self._queue) >= self._may_wait or own >= self._own_waiting:
            raise self._refused()
        one = _Waiting(who, asyncio.get_running_loop().create_future())
        self._queue.append(one)
        await self._waited(one, min(seconds, self._wait_seconds))
        return AdmittedPlace(self, who)

    def leave(self, who: str) -> None:
        """Take a place back, and let in the first who may have it."""
        self._free += 1
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]
        for one in list(self._queue):
            if not self._free:
                return
            if self._may_begin(one.who):
                self._queue.remove(one)
                self._take(one.who)
                one.begins.set_result(None)

    async def _waited(self, one: _Waiting, seconds: float) -> None:
        is_in = False
        try:
            await asyncio.wait([one.begins], timeout=max(0.0, seconds))
            is_in = one.begins.done()
        finally:
            if not one.begins.done():
                self._queue.remove(one)
            elif not is_in:
                # Its caller is gone, and it was let in at that very moment.
                self.leave(one.who)
        if not is_in:
            raise self._refused()

    def _may_begin(self, who: str) -> bool:
        return self._free > 0 and self._held[who] < self._own_places

    def _take(self, who: str) -> None:
        self._free -= 1
        self._held[who] += 1

    def _refused(self) -> CapacityError:
        return CapacityError(
            self._refusal.message,
            code=TOO_MANY,
            retry_after_seconds=self._refusal.retry_after_seconds,
        )
