"""A number that nobody wrote is no part of what happened."""

from __future__ import annotations

import pytest

from shared.access.scope import Scope
from shared.answers.choice.asked_number import find_unsaid_number
from shared.answers.question.question import read_question
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.text.facility.facility import PLAIN
from shared.times.calendar import Clock
from tests.unit.answers.worded.test_check_sentence import entry


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("Why did TC118 read 92 degrees?", "TC118 read 92 degrees again.", None),
        ("Why did TC118 read 92 degrees?", "TC118 read 29 degrees again.", "92"),
        ("Why was there a step at 67:58?", "The step came at 02:58.", "67:58"),
        ("What happened in the night of 96 February?", "It rained on the 9th.", "96"),
        ("Why were 12 monitors dead?", "Twelve monitors lost their supply.", None),
        ("Why did it count 1,200 turns?", "It counted 1200 turns.", None),
        # Times are filters; sizes are looked for in their units; names are gates.
        ("What happened on 4 February?", "It rained.", None),
        ("Why was it off at 02:58?", "It was off at 3.", None),
        ("Why did it stick at 18.4 mm?", "It stuck.", None),
        ("Why did gate valve 81 close?", "It closed.", None),
        ("Why did HCM-12 creep?", "It crept.", None),
        # One digit is written in too many ways.
        ("Why were there 3 trips?", "It tripped again and again.", None),
    ],
)
def test_a_number_of_a_question_is_looked_for_in_what_is_cited(
    question: str, text: str, unsaid: str | None
) -> None:
    plan = make_plan(
        SearchQuery(question),
        Scope("default", "anna"),
        PlanLimits(opensearch=False),
        Clock(),
    )
    asked = read_question(plan, PLAIN)
    assert find_unsaid_number(asked, [entry(text)]) == unsaid
