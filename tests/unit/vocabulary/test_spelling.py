"""How far apart spellings are, held against the plainest definition of it."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.vocabulary import spelling

WORDS = st.text("abc", max_size=7)


@cache
def apart(one: str, other: str) -> int:
    """The distance as it is defined: the cheapest way to make one of the other."""
    if not one or not other:
        return len(one) + len(other)
    swapped = one[1::-1] == other[:2] and len(one) > 1
    return min(
        apart(one[1:], other) + 1,
        apart(one, other[1:]) + 1,
        apart(one[1:], other[1:]) + (one[0] != other[0]),
        *([apart(one[2:], other[2:]) + 1] if swapped else []),
    )


@settings(deadline=None)
@given(WORDS, WORDS, st.integers(0, 3))
def test_the_distance_is_the_cheapest_way(one: str, other: str, most: int):
    expected = apart(one, other)
    found = spelling.distance(one, other, most)
    assert found == (expected if expected <= most else None)


@pytest.mark.parametrize(
    ("word", "tolerated"), [("beam", 1), ("fault", 1), ("cavity", 2), ("klystron", 2)]
)
def test_a_short_word_is_forgiven_less(word: str, tolerated: int):
    assert spelling.tolerance(word) == tolerated


def test_neighbours_are_swapped_at_each_place_of_no_abbreviation():
    assert spelling.swap_neighbours("trpi") == ["rtpi", "tpri", "trip"]
    assert spelling.swap_neighbours("feed") == ["efed", "fede"]
    assert spelling.swap_neighbours("bmp") == []


@pytest.mark.parametrize("text", ["", "'", "hcm03", "3.5", "sr:c01", "2024", "a b"])
def test_what_is_no_word_is_not_misspelt(text: str):
    assert not spelling.is_word(text)
