"""Ranges of metadata in a question: what the filter with `gte` and `lte` asks for."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.search.query.filters import filters
from shared.search.query.filters.fact_filters import QuantityBounds
from shared.search.query.filters.filters import Filters
from shared.search.query.language import grammar, required_fields, tree
from shared.search.query.language.tree import Field, Node, Not, Or
from shared.search.query.language.tree_text import text_of
from shared.times.calendar import Clock

NOW = datetime(2024, 6, 12, 12, tzinfo=UTC)
CLOCK = Clock(NOW, "Europe/Zurich")
NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, allow_subnormal=False)
)


def asked(question: str) -> Filters:
    return required_fields.lift(grammar.parse(question, CLOCK).tree, Filters()).filters


def filtered(**ends: object) -> Filters:
    return filters.parse({"metadata.run": ends}, max_values=1, clock=CLOCK)


def passes(value: float, bounds: QuantityBounds) -> bool:
    is_enough = bounds.least is None or value >= bounds.least
    return is_enough and (bounds.most is None or value <= bounds.most)


@pytest.mark.requirement("S0-22", "S1-09")
@pytest.mark.parametrize(
    ("value", "ends"),
    [
        (">=42", {"gte": 42}),
        ("\u226542", {"gte": 42}),
        ("<=-1.5e3", {"lte": -1500}),
        ("\u2264 7", {"lte": 7}),
        ("=42.0", {"gte": 42, "lte": 42}),
        ("40..50", {"gte": 40, "lte": 50}),
        ("40..", {"gte": 40}),
        ("..50", {"lte": 50}),
        ("-5..-1", {"gte": -5, "lte": -1}),
        ("2023..2024", {"gte": 2023, "lte": 2024}),
        (">=2024-06", {"gte": "2024-06"}),
        ("<=2024-06-10", {"lte": "2024-06-10"}),
        ("2024-01..2024-03", {"gte": "2024-01", "lte": "2024-03"}),
        ("..yesterday", {"lte": "yesterday"}),
        (">=2023-06-01 10:00", {"gte": "2023-06-01 10:00"}),
        ("2024-01 .. last week", {"gte": "2024-01", "lte": "last week"}),
    ],
)
def test_a_range_is_the_filter_with_its_ends(value, ends) -> None:
    expected = filtered(**ends)
    for written in (value, f'"{value}"', f'" {value} "'):
        question = f"metadata.run:{written}"
        assert asked(question) == expected, question
        # As it could be typed, whatever stands behind it.
        again = text_of(grammar.parse(question, CLOCK).tree)
        assert asked(f"{again} june 2024") == expected, again


@given(NUMBERS, NUMBERS)
@example(0, 0.0)
def test_any_two_numbers_are_the_ends_that_a_filter_has(one, other) -> None:
    low, high = sorted((one, other))
    assert asked(f"metadata.run:{low}..{high}") == filtered(gte=low, lte=high)
    assert asked(f"metadata.run:>={low}") == filtered(gte=low)
    assert asked(f"metadata.run:<={high}") == filtered(lte=high)


@given(NUMBERS, NUMBERS)
@example(42, 42)
@example(0, -0.0)
@example(0, 5e-324)
def test_a_number_is_past_an_end_where_the_end_lets_it_not_pass(end, number) -> None:
    for past, not_past in ((">", "<="), ("<", ">=")):
        (beyond,) = asked(f"metadata.run:{past}{end}").ranges
        (other,) = asked(f"metadata.run:{not_past}{end}").ranges
        assert passes(number, beyond) != passes(number, other)
    assert passes(number, asked(f"metadata.run:>{end}").ranges[0]) == (number > end)


def test_past_a_date_is_past_all_of_it() -> None:
    day = datetime(2024, 6, 9, 22, tzinfo=UTC).timestamp()
    (after,) = asked("metadata.run:>2024-06-10").ranges
    (before,) = asked("metadata.run:<2024-06-10").ranges
    assert after.dimension == before.dimension == "metadata.run=date"
    for at, is_after in ((day - 1, False), (day, False), (day + 86_400, True)):
        assert passes(at, after) == is_after
        assert passes(at, before) == (at < day)


@pytest.mark.parametrize(
    "value",
    [
        *(">", ">=", ">5mA", "> 5 mA", "5mA..10mA", "40..x", "50..40", ">>4"),
        *("1..2..3", ">40..50", ">last", ">1e999", ">007", ">1,000", "<2024-02-30"),
        *("2024-03..2024-01", "=on", ">2023..2024-02", "=>4"),
        # Past the last number there is none, and JSON has no infinity.
        *(">1.7976931348623157e308", "<-1.7976931348623157e308"),
    ],
)
def test_what_is_no_number_and_no_date_is_text_and_said_with_its_place(value) -> None:
    for written in (value, f'"{value}"'):
        parsed = grammar.parse(f"pump metadata.run:{written} off", CLOCK)
        assert list(tree.fields(parsed.tree or Or(()))) == []
        (note,) = parsed.diagnostics
        assert (note.code, note.level) == ("field_unreadable", "warning")
        assert " at character 6 cannot be read as a field" in note.message
        assert note.message.endswith("the lower is first.")


@pytest.mark.parametrize(
    "value",
    ["42", "<none>", "<a@b.org>", "../plots", "a..b", "5-10", "->x", "etc...", ".."],
)
def test_a_value_that_only_looks_like_a_range_is_a_value(value: str) -> None:
    for written in (value, f'"{value}"'):
        parsed = grammar.parse(f"metadata.run:{written} off", CLOCK)
        found = required_fields.lift(parsed.tree, Filters()).filters
        assert [one.any_of for one in found.facts] == [(value,)]
        assert (found.ranges, parsed.diagnostics) == ((), ())


def test_ranges_stand_under_or_and_not_and_travel_with_their_plan() -> None:
    found = grammar.parse("(metadata.run:>4 OR -metadata.a.b:..3) beam", CLOCK).tree
    assert found is not None
    assert tree.from_values(tree.to_values(found)) == found
    told = [one.ranges[0].dimension for one in tree.fields(found)]
    assert told == ["metadata.run", "metadata.a.b"]


def test_ranges_side_by_side_all_hold() -> None:
    found = asked("metadata.run:>=40 metadata.run:<=50 beam")
    assert found.ranges == (*filtered(gte=40).ranges, *filtered(lte=50).ranges)


@given(
    st.text(alphabet='<>=\u2264\u2265-.,:"( )12e5 mAmetadata.run:NOT', max_size=40),
    st.sampled_from(["", "metadata.run:", "-metadata.a:", "metadata.run:2024-06"]),
)
@example("> 5 june 2024", "metadata.run:")
def test_any_question_with_a_range_typed_again_is_understood_alike(text, before):
    first = grammar.parse(before + text, CLOCK).tree
    again = grammar.parse(text_of(first), CLOCK).tree
    assert _meant(again) == _meant(first)


def _meant(node: Node | None) -> list[Filters]:
    return [] if node is None else [*tree.fields(node)]


def test_a_question_of_nothing_but_ranges_is_read_in_no_time() -> None:
    parsed = grammar.parse("metadata.run:>4 " * 600 + "metadata.run:>x " * 600, CLOCK)
    assert len(parsed.diagnostics) == grammar.MAX_NOTES
    assert len(_meant(parsed.tree)) == 600
    assert not isinstance(parsed.tree, Field | Not)
