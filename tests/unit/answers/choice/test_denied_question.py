"""Of what did not happen nobody tells why, unless an entry says so as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.answers.choice.answer_status import Judgement
from shared.answers.choice.denied_question import find_unsaid_denial
from tests.unit.answers.choice.test_answer_status import WHOLE, judge
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("Why did klystron 2 not trip?", "Klystron 2 tripped on arc.", "not trip"),
        ("Why did klystron 2 not trip?", "Nobody knows why it tripped.", "not trip"),
        ("Why didn't klystron 2 trip?", "Klystron 2 tripped on arc.", "not trip"),
        ("Why did klystron 2 trip?", "Klystron 2 tripped on arc.", None),
        ("Why would klystron 2 not stay on?", "Klystron 2 will not stay on.", None),
        ("Why did the shutter not open?", "The shutter failed to open.", None),
        ("Why didn't the shutter open?", "It opened at last, not before.", None),
        (
            "Wie lange wurde TSP-03 nicht gefeuert?",
            "TSP-03 wurde seit Monaten nicht mehr gefeuert.",
            None,
        ),
        # Where no verb stands behind it, nothing is looked for.
        ("Warum schloss das Ventil nicht?", "Das Ventil ist zu.", None),
    ],
)
def test_a_denial_is_looked_for_beside_its_verb(
    question: str, text: str, unsaid: str | None
) -> None:
    assert find_unsaid_denial(question, [entry(text)]) == unsaid


def test_a_denial_that_no_entry_makes_refuses_whatever_is_alike() -> None:
    support = replace(WHOLE, unsaid=("not trip",))
    assert judge(support) == Judgement(
        "clarify", "unsupported_words", "D", ("not trip",), ("not trip",)
    )
