"""Where sentences begin and end: whoever broke the lines, and whatever comes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.evidence.sentences import MAX_CHARACTERS, split_sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Beam lost. Reset it! Why? Nobody knows", 4),
        ("HCM-03 at 5.0.2 is off, p = 1e-9 mbar, see 12.5 h", 1),
        ("Pump no. 3 failed, i.e. Valve 2 as well. Closed it.", 2),
        ("Fan swapped\nFilter cleaned\nDoor shut", 3),
        ("- first point\n- second point", 2),
        ("", 0),
        (" \n \n", 0),
    ],
)
def test_a_text_has_so_many_sentences(text: str, said: int) -> None:
    assert len(split(text)) == said


def test_lines_that_an_editor_broke_are_one_sentence() -> None:
    text = (
        "The licensee declared the pump inoperable after the oil level was found\n"
        "to be low, and entered a limiting condition of fourteen days. The cause\n"
        "was a leaking seal."
    )
    first, second = split(text)
    assert first.endswith("fourteen days.")
    assert second == "The cause\nwas a leaking seal."


def test_a_sentence_without_end_is_cut_between_words() -> None:
    pieces = split("beam " * 200)
    assert len(pieces) > 2
    assert all(len(one) <= MAX_CHARACTERS for one in pieces)
    assert all(one.endswith("beam") for one in pieces)


@given(st.text(alphabet="aB .!?\n-1)\u00e4", max_size=400))
def test_sentences_stand_in_the_text_in_order_and_lose_nothing_but_blanks(
    text: str,
) -> None:
    spans = list(split_sentences(text))
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())
