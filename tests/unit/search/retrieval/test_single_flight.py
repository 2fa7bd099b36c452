"""Equal branches in flight: one search, and nobody waits beyond their own time."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from shared.errors import LogchordError
from shared.search.jobs.outcome import Outcome, make_overdue
from shared.search.retrieval.branch import single_flight
from shared.search.retrieval.branch.single_flight import InFlight

FOUND = (Outcome("semantic", "ok", "cosine"),)
SECONDS = 10.0


class Slow:
    """A branch that ends when it is told to, and counts how often it is run."""

    def __init__(self, *ends: tuple[Outcome, ...]) -> None:
        self.runs = 0
        self._ends = list(ends)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> tuple[Outcome, ...]:
        self.runs += 1
        end = self._ends.pop(0)
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        return end


class Asking:
    """Threads that ask together."""

    def __init__(self, pool: ThreadPoolExecutor, branch: Slow) -> None:
        self._pool, self._branch = pool, branch
        self._together = InFlight()

    def ask(self, key: str, seconds: float = SECONDS) -> Future[Sequence[Outcome]]:
        return self._pool.submit(self._together.once, key, self._branch, seconds)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Count those who have found another's branch under way, and wait for it."""
    counted, hear = threading.Semaphore(0), single_flight._heard

    def heard(theirs: Future[Any], seconds: float) -> Any:
        counted.release()
        return hear(theirs, seconds)

    monkeypatch.setattr(single_flight, "_heard", heard)
    return counted


@pytest.mark.requirement("I17")
def test_equal_branches_in_flight_are_run_once(pool, joined):
    branch = Slow(FOUND)
    asking = Asking(pool, branch)
    first = asking.ask("a")
    assert branch.begun.wait(SECONDS)
    others = [asking.ask("a") for _ in range(3)]
    assert all(joined.acquire(timeout=SECONDS) for _ in others)
    branch.may_end.set()
    assert [one.result(SECONDS) for one in (first, *others)] == [FOUND] * 4
    assert branch.runs == 1


def test_who_comes_after_the_end_searches_anew():
    together, branch = InFlight(), Slow(FOUND, ())
    branch.may_end.set()
    assert together.once("a", branch, SECONDS) == FOUND
    assert together.once("a", branch, SECONDS) == ()
    assert branch.runs == 2


def test_unlike_branches_do_not_wait_for_each_other(pool):
    branch = Slow(FOUND, FOUND)
    asking = Asking(pool, branch)
    both = []
    for key in ("a", "b"):
        both.append(asking.ask(key))
        assert branch.begun.wait(SECONDS)
        branch.begun.clear()
    branch.may_end.set()
    assert [one.result(SECONDS) for one in both] == [FOUND, FOUND]


def test_a_failure_is_not_shared(pool, joined):
    failed = (make_overdue("semantic", "cosine"),)
    branch = Slow(failed, FOUND)
    asking = Asking(pool, branch)
    first = asking.ask("a")
    assert branch.begun.wait(SECONDS)
    second = asking.ask("a")
    assert joined.acquire(timeout=SECONDS)
    branch.may_end.set()
    assert first.result(SECONDS) == failed
    assert second.result(SECONDS) == FOUND


def test_nobody_waits_for_another_beyond_their_own_time(pool):
    branch = Slow(FOUND, FOUND)
    asking = Asking(pool, branch)
    first = asking.ask("a")
    assert branch.begun.wait(SECONDS)
    branch.begun.clear()
    second = asking.ask("a", seconds=0.0)
    # It does not wait: it runs its own.
    assert branch.begun.wait(SECONDS)
    branch.may_end.set()
    assert [first.result(SECONDS), second.result(SECONDS)] == [FOUND, FOUND]
    assert branch.runs == 2


def test_what_raises_holds_nobody_up():
    together = InFlight()

    def raises() -> tuple[Outcome, ...]:
        raise LogchordError("The branch broke.", code="branch_timeout")

    for _ in range(2):
        with pytest.raises(LogchordError):
            together.once("a", raises, SECONDS)
    assert together.once("a", lambda: FOUND, SECONDS) == FOUND
