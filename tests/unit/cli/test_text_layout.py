"""Text in the cells of a terminal, of whatever alphabet."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cli.render.terminal import plain
from api.cli.render.text_layout import cells, cut, joined, labelled, padded, wrapped

WIDE = "真空計の値が上がった"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("RF trip", 7),
        (WIDE, 20),
        ("u\u0308ber", 4),
        ("Größe", 5),
        (click.style("red", fg="red"), 3),
        ("\u26a0\ufe0f", 2),
        # A woman, a joiner and a microscope are one sign.
        ("\U0001f469\u200d\U0001f52c lab", 6),
    ],
)
def test_a_text_takes_as_many_cells_as_a_terminal_gives_it(text: str, taken: int):
    assert cells(text) == taken


def test_lines_end_at_blanks_and_between_wide_signs():
    assert wrapped("the RF cavity of SR-12 tripped", 14) == [
        "the RF cavity",
        "of SR-12",
        "tripped",
    ]
    assert wrapped(f"圧力 {WIDE}", 12) == ["圧力 真空計", "の値が上がっ", "た"]
    assert wrapped("SR:C12-VA:GV15", 6) == ["SR:C12", "-VA:GV", "15"]


@given(st.text(max_size=200), st.integers(2, 60))
def test_no_line_is_too_wide_and_no_sign_is_lost(text: str, width: int):
    told = plain(text)
    lines = wrapped(told, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == told.replace(" ", "")
    assert cells(cut(told, width)) <= width


def test_what_stands_side_by_side_goes_below_each_other_where_it_must():
    facts = [f"os_bm25 {click.style('ok', fg='green')} 7", "semantic ok 50"]
    assert joined(facts, 80) == [" · ".join(facts)]
    assert joined(facts, 20) == facts
    assert labelled("branches", facts, 26).split("\n") == [
        f"branches  {facts[0]}",
        f"          {facts[1]}",
    ]


def test_a_label_too_long_for_its_column_has_a_line_of_its_own():
    assert labelled("context_boosts", "origin 0.7", 20) == (
        "context_boosts\n          origin 0.7"
    )
    assert labelled("context_boosts", "origin 0.7", 40) == "context_boosts origin 0.7"


def test_names_of_any_alphabet_stand_in_one_column():
    assert [cells(padded(name, 12)) for name in ("RF", WIDE[:4], "Müller")] == [12] * 3
    assert cut(WIDE, 7) == "真空計…"
    assert cut("\U0001f469\u200d\U0001f52c lab", 4) == "\U0001f469\u200d\U0001f52c…"
