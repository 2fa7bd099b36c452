"""One item is made ready while the one before is used."""

import contextvars
import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from shared.errors import IngestionError
from shared.sources.intake.read_page import one_ahead

WAIT_SECONDS = 10
RUN = contextvars.ContextVar("run", default="none")


def never(_: int) -> bool:
    return False


class Counting:
    """Yields numbers and says how far it is; each may be waited for."""

    def __init__(self, count: int, fails_at: int | None = None) -> None:
        self.count = count
        self.fails_at = fails_at
        self.made = [threading.Event() for _ in range(count)]
        self.threads: set[int] = set()
        self.runs: set[str] = set()
        self.is_closed = False

    def numbers(self) -> Generator[int, None, None]:
        try:
            for number, made in enumerate(self.made):
                self._note()
                if number == self.fails_at:
                    raise IngestionError("It ends here.", reason="no_file")
                made.set()
                yield number
        finally:
            self._note()
            self.is_closed = True

    def _note(self) -> None:
        self.threads.add(threading.get_ident())
        self.runs.add(RUN.get())


def test_the_next_item_is_made_while_one_is_used_and_no_more_than_that():
    counting = Counting(5)
    seen = []
    with closing(one_ahead(counting.numbers(), never)) as numbers:
        for number in numbers:
            seen.append(number)
            if number < 4:
                assert counting.made[number + 1].wait(WAIT_SECONDS)
            # Nobody may begin the one behind it before this one is done with.
            assert not any(made.is_set() for made in counting.made[number + 2 :])
    assert seen == list(range(5))
    assert counting.is_closed


def test_one_other_thread_alone_begins_asks_and_closes_it():
    RUN.set("tail")
    counting = Counting(5)
    with closing(one_ahead(counting.numbers(), never)) as numbers:
        assert next(numbers) == 0
    assert counting.is_closed
    assert len(counting.threads) == 1
    assert threading.get_ident() not in counting.threads
    assert counting.runs == {"tail"}


def test_what_it_raises_comes_behind_what_it_has_yielded():
    counting = Counting(3, fails_at=2)
    with closing(one_ahead(counting.numbers(), never)) as numbers:
        assert [next(numbers), next(numbers)] == [0, 1]
        with pytest.raises(IngestionError):
            next(numbers)
    assert counting.is_closed


def test_behind_the_last_item_nothing_is_asked_for():
    counting = Counting(5)
    found = list(one_ahead(counting.numbers(), lambda number: number == 1))
    assert found == [0, 1]
    assert counting.is_closed
    assert not counting.made[2].is_set()
