"""What a text says that an abbreviation stands for, where all initials fit."""

import pytest

from shared.text.reading import abbreviations


@pytest.mark.requirement("I20")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The beam position monitor (BPM) failed", [("BPM", "beam position monitor")]),
        ("all beam position monitors (BPMs)", [("BPM", "beam position monitors")]),
        ("Radio-frequency (RF) is off", [("RF", "Radio-frequency")]),
        (
            "loss of vacuum (LOV), loss of vacuum (LV)",
            [("LOV", "loss of vacuum"), ("LV", "loss of vacuum")],
        ),
        ("Orbit\ncorrection (OC) on", [("OC", "Orbit correction")]),
        # Wrong initials, a sign between, too few words, no abbreviation.
        ("the beam profile monitor (BPM2), beam size monitor (BPM)", []),
        ("beam, position monitor (BPM)", []),
        ("position monitor (BPM)", []),
        ("sub2beam position monitor (BPM)", []),
        ("the pump (old) and (OFF) and (X)", []),
        ("(BPM)", []),
        ("", []),
    ],
)
def test_only_words_whose_initials_fit_are_taken(text, found) -> None:
    assert [(one.term, one.form) for one in abbreviations.find(text)] == found
    for one in abbreviations.find(text):
        assert " ".join(text[one.place :].split()).startswith(one.form)
