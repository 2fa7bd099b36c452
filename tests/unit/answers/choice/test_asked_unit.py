"""Who asks for volts is not answered in litres."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.answers.choice.asked_unit import find_unsaid_unit
from shared.answers.compose_answer import list_questions, say_refusal
from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN
from tests.unit.answers.choice.test_answer_status import WHOLE, judge
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("How many volts did the stop cost?", "It cost 90 litres.", "volts"),
        ("How many litres did the stop cost?", "It cost 90 litres.", None),
        ("How many litres did the stop cost?", "It cost ninety litres.", None),
        ("Wie viele Liter fehlten?", "Es fehlten 3 bar.", "Liter"),
        ("How many volts are on the gun?", "The gun stands at 60 kV.", None),
        ("What is the temperature of the dump?", "It rose to 45 deg C.", None),
        ("What was the voltage at the stop?", "The stop cost 90 litres.", "voltage"),
        ("What was the vacuum pressure?", "It was at 3e-9 mbar.", None),
        # What is no unit is counted in whatever there is.
        ("How many data sets came out?", "1,312 came out.", None),
        ("How many hours were lost?", "60 hours were lost.", None),
        ("Why did it stick at 18.4 bar?", "It stuck at 18.4 mm.", "18.4 bar"),
        ("Why did it stick at 18.4 mm?", "It stuck at 18.4 mm.", None),
        ("Why does it read 61 mA?", "It reads 4 mA.", "61 mA"),
        # Whoever rounds, or has the number from elsewhere, is not contradicted.
        ("Why did it stick at 18 mm?", "It stuck at 18.4 mm.", None),
        ("Why did the beam drop to 200 mA?", "It dropped to 200.", None),
        ("Why is it at 0.3 A?", "It stands at 300 mA.", None),
        # What is reckoned from what is told.
        ("Why did it rise by 5 mA?", "It rose from 200 to 205 mA.", None),
        ("Why was it off for 3 hours?", "It was off from 4:00 to 7:00.", None),
        ("What is the price of a cathode?", "It was exchanged twice.", "price"),
        ("What is the price of a cathode?", "It is 4,000 dollars.", None),
        ("Was kostet die Kathode?", "Die Kathode kommt auf 4.000 \u20ac.", None),
        ("How much did the switch cost?", "It cost two hours of beam.", "cost"),
        ("How much time did the trip cost?", "It cost two hours.", None),
        ("Why did the voltage sag?", "The dryer leaked.", None),
        # Who names a measure without a size has not told it.
        ("What is the price of a cathode?", "At the price of its life.", "price"),
        ("What is the price of a cathode?", "Its price is 4,000.", None),
        # The same number in another unit is not the one that was asked for.
        ("Why at 18.4 bar?", "It stuck at 18.4 mm. Grease lay at 18.4.", "18.4 bar"),
    ],
)
def test_what_is_counted_is_looked_for_in_its_unit(
    question: str, text: str, unsaid: str | None
) -> None:
    asked = read_part(question, question, PLAIN)
    assert find_unsaid_unit(asked, [entry(text)]) == unsaid


def test_it_is_told_and_nothing_is_asked_back_without_it() -> None:
    text = "How many volts did the stop cost?"
    judgement = judge(replace(WHOLE, unsaid=("volts",)))
    asked = read_part(text, text, PLAIN)
    assert say_refusal(asked, judgement, (), ()) == (
        "No entry that was found says \u201cvolts\u201d."
    )
    assert list_questions(asked, judgement, (), ()) == []
