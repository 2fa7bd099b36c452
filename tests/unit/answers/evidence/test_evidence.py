"""Which sentences of an entry an answer may be made of."""

import pytest

from shared.answers.evidence.evidence import MAX_CHARACTERS
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hall ventilated. Nobody hurt.", ["Hall ventilated.", "Nobody hurt."]),
        ("Vacuum group\nThe valve leaked.", ["The valve leaked."]),
        ("Event text:\nThe valve leaked.", ["The valve leaked."]),
        ("Valve leaks!\nDone.", ["Valve leaks!"]),
    ],
)
def test_two_words_are_a_sentence_where_it_ends(text, sentences) -> None:
    found = [one.text for one in entry(text).candidates() if one.start is not None]
    assert found == sentences


def test_where_reading_ends_a_sentence_is_cut_between_words_and_goes_on() -> None:
    begun = "Interlock channel 193 of the second"
    space = MAX_CHARACTERS - len(begun)
    told = "The valve leaked. " * (space // 18) + " " * (space % 18)
    text = f"{told}{begun}floor rack tripped."
    *_, before, last = entry(text).candidates()
    assert (last.text, last.goes_on) == ("Interlock channel 193 of the", True)
    assert (before.text, before.goes_on) == ("The valve leaked.", False)
