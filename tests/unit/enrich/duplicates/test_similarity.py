"""What makes two texts copies of one another, and what makes a series."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.enrich.duplicates.similarity import (
    ALIKE,
    MIN_RUNS,
    Shape,
    are_alike,
    in_common,
    pattern_of,
    shape_of,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [f"w{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS[:3]]


def text(rng: random.Random, terms: int) -> list[str]:
    return rng.choices(WORDS, k=terms)


def shape(terms: list[str]) -> Shape:
    found = shape_of(" ".join(terms))
    assert found is not None
    return found


def test_a_short_text_is_nobodys_copy():
    rng = random.Random(1)

    assert shape_of(" ".join(text(rng, MIN_RUNS + 1))) is None
    assert shape_of(" ".join(text(rng, MIN_RUNS + 2))) is not None
    assert shape_of("") is None
    assert shape_of("rf trip " * 100) is None


def test_no_run_goes_from_one_section_to_the_next():
    rng = random.Random(2)
    one, other = text(rng, 20), text(rng, 20)

    together = shape_of(f"{' '.join(one)}\n{' '.join(other)}")

    assert together is not None
    assert set(together.runs) == {*shape(one).runs, *shape(other).runs}


def test_what_a_shape_is_does_not_hang_on_the_process():
    """Golden: written by another process, they are compared with those of this one."""
    said = shape_of(" ".join(WORDS[:20]))

    assert said is not None
    assert said.digest.hex() == "229c981fe6d4d278202a9743ed44296a"
    assert said.bands[:2] == [4967871106522290955, -5870574971159186235]


def test_a_form_filled_in_for_another_device_is_no_copy():
    form = "checked {0} at {1} flow is {2} l/min pressure {3} bar all within limits"
    first = shape(form.format("hcm-03", "08:10", "4.2", "5.1").split())
    same = shape(f"{form.format('hcm-03', '08:10', '4.2', '5.1')} as agreed".split())
    other = shape(form.format("hcm-04", "09:20", "3.9", "5.0").split())

    assert are_alike(first, same)
    assert not are_alike(first, other)


@given(st.lists(st.sampled_from(WORDS[:50]), min_size=30, max_size=80), st.data())
def test_what_two_texts_have_in_common_is_counted_exactly(terms, data):
    cut = data.draw(st.integers(15, len(terms)))
    one, other = shape_of(" ".join(terms)), shape_of(" ".join(terms[:cut]))
    if one is None or other is None:
        return
    runs = {tuple(terms[at : at + 3]) for at in range(len(terms) - 2)}
    fewer = {tuple(terms[at : at + 3]) for at in range(cut - 2)}

    assert in_common(one, other) == pytest.approx(len(fewer) / len(runs))
    assert in_common(one, one) == 1


@pytest.mark.parametrize("terms", [20, 60, 250])
def test_copies_share_a_band_and_others_do_not(terms):
    """At the bound nearly all are found, and unlike texts cost no comparison."""
    rng = random.Random(terms)
    missed = pairs = strangers = 0
    for _ in range(300):
        one = text(rng, terms)
        other, of_one = list(one), shape(one)
        while in_common(of_one, of_other := shape(other)) > ALIKE + 0.12:
            other[rng.randrange(terms)] = rng.choice(WORDS)
        if in_common(of_one, of_other) >= ALIKE:
            pairs += 1
            missed += not {*of_one.bands} & {*of_other.bands}
        strangers += bool({*of_one.bands} & {*shape(text(rng, terms)).bands})

    assert pairs > 100
    assert missed <= 0.03 * pairs
    assert strangers == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("vacuum 3.2e-9 mbar at 14:32", "vacuum 4e-10 mbar at 09:10:05", True),
        ("pressure -3.5 2024-05-03", "pressure 12 2024-05-04", True),
        ("sr:c01 trip", "sr:c02 trip", False),
        ("hcm3 trip", "hcm4 trip", False),
        ("trip 3", "trip", True),
    ],
)
def test_a_pattern_leaves_numbers_and_times_out_and_keeps_names(one, other, same):
    assert (pattern_of(one) == pattern_of(other)) is same


def test_numbers_alone_are_no_pattern():
    assert pattern_of("12 14:32") is None
    assert pattern_of("") is None


RUNS = st.sets(st.integers(0, 40), min_size=1, max_size=30)


@given(RUNS, RUNS)
def test_two_texts_are_judged_by_what_they_share_however_long_they_are(one, more):
    short, long = (Shape(tuple(sorted(runs)), ()) for runs in (one, one | more))

    expected = in_common(short, long) >= ALIKE
    assert are_alike(short, long) == are_alike(long, short) == expected
