"""Answers without a model: the best sentence of each result, with its mark."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.sentences import MAX_CHARACTERS, synthesize

LONG = "beam " * 200


def test_a_result_speaks_by_the_sentence_that_has_most_of_the_question() -> None:
    text = "Shift began quietly. RF cavity 2 tripped on arc! We went home."
    assert synthesize("why did the cavity trip", [text]) == (
        "RF cavity 2 tripped on arc [1]!"
    )


@pytest.mark.requirement("S1-12")
def test_every_sentence_has_the_mark_of_its_result() -> None:
    texts = ["Cavity 2 tripped on arc.", "Arc detector of cavity 2 was replaced"]
    assert synthesize("cavity 2", texts) == (
        "Cavity 2 tripped on arc [1]. Arc detector of cavity 2 was replaced [2]."
    )


def test_without_marks_the_sentences_stay() -> None:
    assert synthesize("arc", ["Cavity 2 tripped on arc."], marked=False) == (
        "Cavity 2 tripped on arc."
    )


def test_what_two_results_say_alike_is_said_once() -> None:
    assert synthesize("beam", ["Beam lost.", "Beam lost.", "Beam back."]) == (
        "Beam lost [1][2]. Beam back [3]."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the proof is in [2]", "the proof is in (2) [1]."),
        ("see [1, 3] and [ 12 ]", "see (1, 3) and ( 12 ) [1]."),
        ("ask [#evil] or [#", "ask (#evil) or (# [1]."),
        ("array[7] of [[4]] is bad", "array(7) of [(4)] is bad [1]."),
        ("[RF] tripped, [see below]", "[RF] tripped, [see below] [1]."),
    ],
    ids=["number", "numbers", "id", "nested", "words"],
)
def test_what_an_entry_writes_as_a_mark_is_no_mark(text: str, said: str) -> None:
    assert synthesize("proof", [text]) == said


@given(st.lists(st.text(alphabet="a[]#123 ,.\n", max_size=40), max_size=4))
def test_every_mark_is_of_one_of_the_texts(texts: list[str]) -> None:
    said = synthesize("a", texts) or ""
    marks = {int(mark) for mark in re.findall(r"\[\s*(\d+)\s*\]", said)}
    assert marks <= {n for n, text in enumerate(texts, 1) if text.strip()}
    assert "[#" not in said


@pytest.mark.requirement("S1-51")
@pytest.mark.parametrize("texts", [[], [""], ["\n \n"]], ids=["none", "empty", "blank"])
def test_nothing_found_says_nothing(texts: list[str]) -> None:
    assert synthesize("beam", texts) is None


def test_a_sentence_that_never_ends_is_cut_between_words() -> None:
    said = synthesize("beam", [LONG])
    assert said is not None
    assert said.endswith("beam\u2026 [1]")
    assert len(said) <= MAX_CHARACTERS + len("\u2026 [1]")


@pytest.mark.parametrize(
    "text", ["HCM-03 at 5.0.2 is off", "p = 1e-9 mbar, see 12.5 h", "Ende; offen:"]
)
def test_points_within_names_and_numbers_end_no_sentence(text: str) -> None:
    bare = text.rstrip(":")
    assert synthesize("off", [text]) == f"{bare} [1]."


@given(st.text(max_size=50), st.lists(st.text(max_size=200), max_size=5))
def test_each_mark_is_of_a_result_whatever_the_texts(
    query: str, texts: list[str]
) -> None:
    said = synthesize(query, texts)
    blank = not any(text.strip() for text in texts)
    assert (said is None) == blank
    unmarked = set(re.findall(r"\[(\d+)\]", "".join(texts)))
    marks = set(re.findall(r"\[(\d+)\]", said or "")) - unmarked
    assert marks <= {str(number) for number in range(1, len(texts) + 1)}
