"""Which sentences of an entry an answer may be made of."""

from __future__ import annotations

import pytest

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
def test_two_words_are_a_sentence_where_it_ends(
    text: str, sentences: list[str]
) -> None:
    found = [one.text for one in entry(text).candidates() if one.start is not None]
    assert found == sentences
