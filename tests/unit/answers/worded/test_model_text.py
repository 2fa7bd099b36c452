"""What a model wrote, read: its sentences, and what each of their marks names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.worded.model_text import Mark, read_sentences
from tests.unit.answers.worded.test_check_sentence import entry

SHORT, LONG, DASHED = (
    entry("It tripped again.", number, external_id=name)
    for number, name in enumerate(("12", "1234", "a-b/c.d"), 1)
)
MARKS = {
    "#12": Mark(SHORT),
    "#1234": Mark(LONG),
    "#a-b/c.d": Mark(DASHED),
    "1.1": Mark(SHORT, next(SHORT.candidates())),
    "1": Mark(LONG),
}


@pytest.mark.requirement("S0-59", "C20")
@pytest.mark.parametrize(
    ("text", "labels", "unknown"),
    [
        ("It tripped [#12].", ["12"], 0),
        ("It tripped [#1234].", ["1234"], 0),
        # No prefix of a label is that label.
        ("It tripped [#123].", [], 1),
        ("It tripped [#12345].", [], 1),
        ("It tripped [#a-b/c.d].", ["a-b/c.d"], 0),
        ("It tripped [#a-b].", [], 1),
        ("It tripped [#12@3].", ["12"], 0),
        ("It tripped [1.1].", ["12"], 0),
        ("It tripped [9.9].", [], 1),
        # In the order in which they come, each once.
        ("It tripped [#1234][#12].", ["1234", "12"], 0),
        ("It tripped [#1234, #12].", ["1234", "12"], 0),
        ("It tripped [#12] again [#12].", ["12"], 0),
        ("It [#1234] tripped [#12] [#1234] [#99].", ["1234", "12"], 1),
        ("It tripped.", [], 0),
    ],
)
def test_a_mark_names_what_it_was_given_for_and_nothing_like_it(text, labels, unknown):
    (sentence,) = read_sentences(text, MARKS)
    assert [one.entry.row.external_id for one in sentence.marks] == labels
    assert sentence.unknown == unknown
    assert "[" not in sentence.text


def test_a_mark_behind_the_full_stop_belongs_before_it() -> None:
    first, second = read_sentences("It tripped. [#12] It was reset [#1234].", MARKS)
    assert [one.entry for one in first.marks] == [SHORT]
    assert [one.entry for one in second.marks] == [LONG]
    assert (first.text, second.text) == ("It tripped.", "It was reset.")


@pytest.mark.parametrize("line", ["[1.1] {}", "{} [1.1]", "{} [1.1]."])
def test_what_was_a_sentence_stays_one_whatever_follows(line: str) -> None:
    said = [
        "The cavity tripped on an arc in the coupler",
        "It was reset by hand at noon",
    ]
    said.append(f"Then {'it ran and ' * 9}ran")
    lines = [line.format(one) for one in said]
    for count in range(1, 4):
        told = read_sentences("\n".join(lines[:count]), MARKS)
        assert [one.text.rstrip(".") for one in told] == said[:count]


def test_lists_and_emphasis_are_no_part_of_a_sentence() -> None:
    text = "## Why\n- **It tripped** [#12].\n2. `It` was reset [#1234]."
    told = [one.text for one in read_sentences(text, MARKS)]
    assert told == ["Why", "It tripped.", "It was reset."]


@given(st.lists(st.sampled_from([*MARKS, "#99", "7.7"]), max_size=6))
def test_marks_are_unique_and_in_order_of_first_appearance(names: list[str]) -> None:
    text = "It tripped " + " ".join(f"[{one}]" for one in names) + "."
    (sentence,) = read_sentences(text, MARKS)
    known = [MARKS[one] for one in names if one in MARKS]
    assert list(sentence.marks) == list(dict.fromkeys(known))
    assert sentence.unknown == len(names) - len(known)
