"""What the soak draws, and how it tells memory that grows from memory that differs."""

from itertools import islice

import pytest

from tests.faults.soak import draw
from tests.support.faults.injected.faults import Fault
from tests.support.faults.soak_memory import slope

MIB = 1024 * 1024


def line(start: float, size: float, per_minute: float) -> list[tuple[float, float]]:
    """Ten minutes of one life that grows by so much."""
    return [(start + 5 * n, MIB * (size + per_minute * 5 * n / 60)) for n in range(120)]


def test_the_same_seed_draws_the_same_faults_in_the_same_order():
    first, again, other = (list(islice(draw(seed), 200)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_each_fault_is_drawn_once_before_any_comes_again():
    count = len(Fault)
    drawn = list(islice(draw(7), 3 * count))
    for start in range(0, 3 * count, count):
        assert set(drawn[start : start + count]) == set(Fault)


def test_lives_of_one_kind_are_judged_each_from_its_own_level():
    assert slope([line(0, 100, 2), line(700, 300, 2)]) == pytest.approx(2)
    # The second began higher: that is no growth.
    assert slope([line(0, 100, 0), line(700, 300, 0)]) == pytest.approx(0)


def test_too_short_a_look_says_nothing_about_growth():
    assert slope([line(0, 100, 5)[:20]]) is None
    assert slope([]) is None
