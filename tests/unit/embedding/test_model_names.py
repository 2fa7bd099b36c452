"""A cosine by one model, told as the cosine by another that is worth as much."""

import pytest

from shared.embedding.models.model_names import (
    BGE,
    EQUAL_COSINES,
    MINILM,
    SECOND,
    equal_cosine,
)


@pytest.mark.parametrize("other", [BGE, MINILM])
def test_what_stands_out_as_far_is_equal(other: str) -> None:
    for own, same in zip(EQUAL_COSINES[SECOND], EQUAL_COSINES[other], strict=True):
        assert equal_cosine(own, SECOND, other) == pytest.approx(same)
        assert equal_cosine(same, other, SECOND) == pytest.approx(own)


def test_the_order_stays_and_so_do_the_ends() -> None:
    steps = [number / 100 for number in range(-100, 101)]
    told = [equal_cosine(one, SECOND, BGE) for one in steps]
    assert told == sorted(set(told))
    assert (told[0], told[-1]) == (-1.0, 1.0)
    # Rounding in a table of halves may go beyond.
    assert equal_cosine(1.0002, SECOND, BGE) == 1.0


def test_of_a_model_of_which_nothing_is_known_it_stays() -> None:
    assert equal_cosine(0.4, SECOND, "here:tiny") == 0.4
    assert equal_cosine(0.4, "here:tiny", BGE) == 0.4
