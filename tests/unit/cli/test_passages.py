"""What a hit says in a terminal: as wide as it is, and harmless."""

import html

import click
from hypothesis import given
from hypothesis import strategies as st

from api.cli.render.text_layout import cells, joined
from api.cli.search.hit import marked_lines


def test_what_was_asked_for_is_bold_also_where_a_line_ends() -> None:
    told = ["the RF <b>cavity</b> 3 <b>tripped &amp; tripped</b>"]
    lines = marked_lines(told, "", 20)
    assert [click.unstyle(line) for line in lines] == [
        "the RF cavity 3",
        "tripped & tripped",
    ]
    assert lines[0] == f"the RF {click.style('cavity', bold=True)} 3"
    assert lines[1] == click.style("tripped & tripped", bold=True)


def test_parts_of_a_long_text_stand_apart() -> None:
    (line,) = marked_lines(["<b>one</b> a", "b <b>two</b>"], "", 80)
    assert click.unstyle(line) == "one a ... b two"


def test_without_marks_the_passage_is_shown() -> None:
    assert marked_lines([], "a  passage\nof text", 80) == ["a passage of text"]


def test_facts_that_do_not_fit_begin_a_new_line() -> None:
    assert joined(["2026-03-02", "api/E-1", "anna"], 20) == [
        "2026-03-02 · api/E-1",
        "anna",
    ]


@given(
    st.lists(st.lists(st.text(max_size=40), max_size=4), min_size=1, max_size=3),
    st.integers(20, 90),
)
def test_no_line_is_wider_than_the_terminal_nor_moves_its_cursor(parts, width) -> None:
    told = [
        "".join(f"{html.escape(one)}<b>{html.escape(one)}</b>" for one in part)
        for part in parts
    ]
    for line in marked_lines(told, "", width):
        shown = click.unstyle(line)
        assert cells(shown) <= width
        assert shown.isprintable()
