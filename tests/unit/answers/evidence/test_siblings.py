"""What is named in place of a name that no entry has."""

import pytest

from shared.answers.evidence.siblings import find_siblings
from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.mark.parametrize(
    ("question", "texts", "found"),
    [
        (
            "How long was the compressor HC-7 down?",
            ["HC2 hums, HC-2 stopped.", "HC-02 runs.", "HC-100 leaks, HC10 too."],
            [("HC-2", 2), ("HC-100", 1), ("HC10", 1)],
        ),
        ("Why did RFC7 trip?", ["RFC 07 tripped.", "RFC 2 tripped."], [("RFC 2", 1)]),
        ("Why did turbine 5 stop?", ["Turbine 02, turbine 2."], [("turbine 2", 1)]),
        # Which of the letters there are is not looked for.
        ("Why did B RHR stop?", ["RHR B 2 and RHR A run."], []),
    ],
)
def test_spellings_of_one_name_are_one(question, texts, found) -> None:
    asked = read_part(question, question, PLAIN)
    entries = [entry(text, number) for number, text in enumerate(texts, 1)]
    assert find_siblings(asked.called[0], entries) == found
