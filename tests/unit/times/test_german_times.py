"""Times in German questions: read as the same words in English are."""

from dataclasses import replace
from datetime import date

import pytest

from shared.search.query.language import tree_text
from shared.times import shifts
from shared.times.operating_periods import Period
from shared.times.shifts import Shift
from tests.unit.times.test_date_expressions import ZONE
from tests.unit.times.test_time_phrases import CLOCK, plan_of, told

PLAN = shifts.plan(
    [
        Shift(name="Nacht", begins="22:00"),
        Shift(name="Fr\u00fch", begins="06:00"),
        Shift(name="Sp\u00e4tschicht", begins="14:00"),
    ],
    ZONE,
)
STOP = Period(
    name="Juli Abschaltung",
    kind="abschaltung",
    begins=date(2023, 7, 3),
    ends=date(2023, 7, 30),
)
GERMAN = replace(CLOCK, shifts=PLAN, periods=(STOP,))
# The question, its English fellow, and what is left of both.
TABLE = [
    ("Pumpe gestern", "Pumpe yesterday", "Pumpe"),
    ("Pumpe vorgestern", "Pumpe day before yesterday", "Pumpe"),
    ("Pumpe Nachtschicht vom 9. Juni", "Pumpe night shift of 9 June", "Pumpe"),
    ("Pumpe in der Nacht zum 9. Juni", "Pumpe in the night before 9 June", "Pumpe"),
    ("Pumpe letzte Woche", "Pumpe last week", "Pumpe"),
    ("Pumpe im Juli", "Pumpe in July", "Pumpe"),
    ("Pumpe seit Montag", "Pumpe since Monday", "Pumpe"),
    ("Pumpe am 10. Juni", "Pumpe on 10 June", "Pumpe"),
    ("Pumpe vor 3 Tagen", "Pumpe 3 days ago", "Pumpe"),
    ("Pumpe vor zwei Tagen", "Pumpe two days ago", "Pumpe"),
    ("Pumpe letzte drei Stunden", "Pumpe last three hours", "Pumpe"),
    ("Pumpe seit 2 Wochen", "Pumpe last 2 weeks", "Pumpe"),
    ("Pumpe bis zum Montag", "Pumpe until Monday", "Pumpe"),
    ("Pumpe vor einer Woche", "Pumpe a week ago", "Pumpe"),
    ("Pumpe in den letzten 3 Stunden", "Pumpe in the last 3 hours", "Pumpe"),
    ("Pumpe heute morgen", "Pumpe this morning", "Pumpe"),
    ("Pumpe heute fr\u00fch", "Pumpe this morning", "Pumpe"),
    ("Pumpe gestern fr\u00fch", "Pumpe yesterday morning", "Pumpe"),
    ("Pumpe gestern abend", "Pumpe yesterday evening", "Pumpe"),
    ("Pumpe am letzten Wochenende", "Pumpe on the last weekend", "Pumpe"),
    ("Pumpe seit der letzten Schicht", "Pumpe since the last shift", "Pumpe"),
    ("Pumpe gegen 06:45 Uhr \u00b110 min", "Pumpe around 06:45 \u00b110 min", "Pumpe"),
    ("Pumpe seit 06:45 Uhr", "Pumpe since 06:45", "Pumpe"),
    (
        "zwischen Montag und gestern Pumpe",
        "between Monday and yesterday Pumpe",
        "Pumpe",
    ),
]
UNTOUCHED = [
    *("Pumpe vor dem Ventil", "Temperatur nach der Pumpe", "Druck im Tank"),
    *("Nachtschicht", "die Pumpe", "transistor die", "am Ventil", "5 Uhr"),
]


@pytest.mark.parametrize(("query", "english", "left"), TABLE)
def test_a_german_time_is_the_same_in_english(query, english, left) -> None:
    plan, other = plan_of(query), plan_of(english)
    assert told(plan) == told(other) != []
    assert plan.time.written[0].confidence == other.time.written[0].confidence
    assert tree_text.text_of(plan.tree) == left
    # The answer echoes the words that were typed.
    assert plan.time.written[0].expression in query


@pytest.mark.parametrize(
    ("query", "interval"),
    [
        ("Pumpe Nachtschicht gestern", "2024-06-11 20:00 to 2024-06-12 04:00"),
        ("Pumpe Nachtschicht vom 9. Juni", "2024-06-09 20:00 to 2024-06-10 04:00"),
        ("Pumpe Fr\u00fchschicht vom 9. Juni", "2024-06-09 04:00 to 2024-06-09 12:00"),
        ("Pumpe Montag Fr\u00fchschicht", "2024-06-10 04:00 to 2024-06-10 12:00"),
        ("Sp\u00e4tschicht gestern Pumpe", "2024-06-11 12:00 to 2024-06-11 20:00"),
        ("Pumpe in der Juli Abschaltung", "2023-07-02 22:00 to 2023-07-30 22:00"),
        ("Pumpe seit der letzten Abschaltung", "2023-07-02 22:00 to"),
        ("Pumpe letzte Nacht", "2024-06-11 20:00 to 2024-06-12 04:00"),
        (
            "Pumpe w\u00e4hrend der letzten Sp\u00e4tschicht",
            "2024-06-11 12:00 to 2024-06-11 20:00",
        ),
    ],
)
def test_shifts_and_shutdowns_have_the_names_of_the_facility(query, interval) -> None:
    plan = plan_of(query, GERMAN)
    assert told(plan) == [interval]
    assert tree_text.text_of(plan.tree) == "Pumpe"


@pytest.mark.parametrize("query", UNTOUCHED)
def test_german_words_that_are_no_time_are_searched(query: str) -> None:
    plan = plan_of(query, GERMAN)
    assert plan.time.written == ()
    assert tree_text.text_of(plan.tree) == query


def test_a_shift_with_a_name_that_nobody_can_say_harms_no_question() -> None:
    odd = shifts.plan([Shift(name="?", begins="10:00")], ZONE)
    plan = plan_of("Pumpe gestern", replace(CLOCK, shifts=odd))
    assert tree_text.text_of(plan.tree) == "Pumpe"
