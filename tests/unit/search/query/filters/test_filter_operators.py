"""Quantities that a question compares: as a field, as a filter, and in plain words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query.filters import filter_operators, filters
from shared.search.query.filters.fact_filters import QuantityBounds
from shared.search.query.language import grammar, required_fields
from shared.search.query.language.tree import Words
from shared.search.query.language.tree_text import text_of

TORR = 1.33322368421e-5
NOTHING = filters.Filters()


def more(value: float) -> float:
    return math.nextafter(value, math.inf)


def less(value: float) -> float:
    return math.nextafter(value, -math.inf)


@pytest.mark.requirement("I13")
@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        (">1e-7Torr", QuantityBounds("pressure", more(TORR))),
        ("> 10^-7 Torr", QuantityBounds("pressure", more(TORR))),
        (">= 1.33322368421e-7 mbar", QuantityBounds("pressure", TORR)),
        ("\u2264 0.1 Pa", QuantityBounds("pressure", None, 0.1)),
        ("<300mA", QuantityBounds("current", None, less(0.3))),
        ("<0.3 A", QuantityBounds("current", None, less(0.3))),
        ("300 mA", QuantityBounds("current", 0.3, 0.3)),
        ("=0.3A", QuantityBounds("current", 0.3, 0.3)),
        ("5..10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("5-10mA", QuantityBounds("current", 0.005, 0.01)),
        ("5 to 10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("5 mA to 10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("500 mA..1 A", QuantityBounds("current", 0.5, 1)),
        ("between 5 and 10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("zwischen 5 und 10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("beam from 5 to 10 mA", QuantityBounds("current", 0.005, 0.01, "beam")),
        ("von 5 bis 10 mA", QuantityBounds("current", 0.005, 0.01)),
        ("between -3 and 5 kV", QuantityBounds("voltage", -3000, 5000)),
        ("> -3 kV", QuantityBounds("voltage", more(-3000))),
        ("> 3,5 mA", QuantityBounds("current", more(0.0035))),
        ("Vacuum > 1e-7 Torr", QuantityBounds("pressure", more(TORR), None, "vacuum")),
        ("beam current 300 mA", QuantityBounds("current", 0.3, 0.3, "beam current")),
        # What may be 1500 and 1.5, a bound without a unit, and what is no bound.
        *[("> 1,500 mbar", None), (">1e-7", None), ("> 5 furlong", None), ("", None)],
        *[("!=5 mA", None), ("\u2260 5 mA", None), ("<> 5 mA", None)],
        *[("10 to 5 mA", None), ("5 mA to 10 kV", None), ("> 5 to 10 mA", None)],
        *[("10-5 mA", None), ("> 5-10 mA", None), ("> x 5 mA", None), ("mA", None)],
    ],
)
def test_bounds_are_read_as_they_are_written(text, bounds) -> None:
    assert filter_operators.parse_bounds(text) == bounds
    if bounds is not None:
        parsed = filters.parse({"quantity": text}, max_values=1)
        assert parsed.quantity == bounds


@pytest.mark.requirement("I13")
@pytest.mark.parametrize(
    ("question", "bounds", "words"),
    [
        ("quantity:>1e-7Torr", QuantityBounds("pressure", more(TORR)), ""),
        ("quantity:> 1e-7 Torr leak", QuantityBounds("pressure", more(TORR)), "leak"),
        (
            'quantity:"vacuum > 1e-7 Torr" leak',
            QuantityBounds("pressure", more(TORR), None, "vacuum"),
            "leak",
        ),
        ("quantity:5..10mA", QuantityBounds("current", 0.005, 0.01), ""),
        ("vacuum > 1e-7 Torr", QuantityBounds("pressure", more(TORR)), "vacuum"),
        (
            "why vacuum>1e-7Torr?",
            QuantityBounds("pressure", more(TORR)),
            "why (vacuum)",
        ),
        (
            "beam current < 300 mA trip",
            QuantityBounds("current", None, less(0.3)),
            "beam current (trip)",
        ),
        ("gap (\u2265 5 mm) closed", QuantityBounds("length", 0.005), "gap (closed)"),
    ],
)
def test_a_question_compares_quantities(question, bounds, words) -> None:
    parsed = grammar.parse(question)
    lifted = required_fields.lift(parsed.tree, NOTHING)
    assert lifted.filters.quantity == bounds
    assert text_of(lifted.tree) == words
    # In plain words it is a guess, and said.
    is_guess = "quantity:" not in question
    assert [one.code for one in parsed.diagnostics] == ["quantity_read"] * is_guess
    # As it could be typed, it asks for the same.
    again = grammar.parse(text_of(parsed.tree))
    assert required_fields.lift(again.tree, NOTHING).filters.quantity == bounds


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ('"vacuum > 1e-7 Torr"', []),
        ("a -> 5 mA", []),
        ("a => 5 mA", []),
        ("x < y", []),
        ("<b>5 mA</b>", []),
        ("vacuum > 1e-7", ["comparison_ignored"]),
        ("vacuum >1,500 mbar", ["comparison_ignored"]),
        # Whose bound it is that is not wanted, who knows.
        ("leak -vacuum > 1e-7 Torr", ["comparison_ignored"]),
    ],
)
def test_what_compares_no_quantity_stays_words(question: str, codes: list[str]) -> None:
    parsed = grammar.parse(question)
    assert required_fields.lift(parsed.tree, NOTHING).filters == NOTHING
    assert [one.code for one in parsed.diagnostics] == codes
    assert {one.level for one in parsed.diagnostics} <= {"info"}


def test_two_bounds_both_hold() -> None:
    lifted = required_fields.lift(grammar.parse("beam >5 mA <10 mA").tree, NOTHING)
    assert lifted.filters.quantity == QuantityBounds("current", more(0.005))
    assert text_of(lifted.tree) == 'beam quantity:"<10 mA"'


@given(st.text(alphabet='<>=\u2264\u2265-.,:"( )1e5 mATorrquantity NOT', max_size=60))
def test_any_question_with_signs_is_read_and_keeps_its_words(text: str) -> None:
    parsed = grammar.parse(text)
    again = grammar.parse(text_of(parsed.tree))
    assert text_of(again.tree) == text_of(parsed.tree)


def test_a_question_of_nothing_but_signs_is_read_in_no_time() -> None:
    parsed = grammar.parse(">5 " * 3000)
    assert isinstance(parsed.tree, Words)
