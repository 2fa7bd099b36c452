"""A number counts what is asked for only where it stands before that."""

import pytest

from shared.answers.question.counts import find_counted
from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN
from tests.support.linear_cost import assert_linear

TIMES = "How many times did unit 2 trip in May?"
OFTEN = "How often did unit 2 trip in May?"
REPLACED = "how many times was the bucket tooth replaced"
HOSES = "How many hydraulic hoses were replaced?"
SEEDS = "How many I-125 seeds were lost?"


def counts(question: str, sentence: str) -> bool:
    asked = read_part(question, question, PLAIN)
    return asked.is_answered_by(sentence, "en", frozenset())


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (TIMES, "Unit 2 tripped three times."),
        (TIMES, "On 3 occasions the unit was lost."),
        (TIMES, "It tripped twice that night."),
        (TIMES, "It tripped for the third time."),
        (TIMES, "It tripped only once."),
        (TIMES, "It has never tripped."),
        (TIMES, "Unit 2 had 4 trips."),
        (TIMES, "Two more unexplained trips of unit 2."),
        (OFTEN, "Unit 2 had 4 trips."),
        ("Wie oft fiel sie aus?", "Sie fiel zweimal aus."),
        (REPLACED, "After 5 replacements we stopped."),
        ("Wie viele Male fiel sie aus?", "Sie fiel zweimal aus."),
        (HOSES, "Replaced 3 hoses."),
        (HOSES, "REPLACE 2 X BROKEN HYD HOSES"),
        (HOSES, "2x hoses at the boom, burst"),
        (HOSES, "Hoses: 4"),
        (HOSES, "One hose was replaced."),
        (SEEDS, "80 seeds of I-125 were delivered."),
        (SEEDS, "It was noted that three seeds remained."),
        (SEEDS, "A single I-125 radioactive seed was lost."),
        ("How many data sets came out?", "1,312 complete data sets came out."),
        ("Wie viele Pumpen fielen aus?", "Es fielen 3 Pumpen aus."),
        ("How many people were hurt?", "Nobody was hurt."),
    ],
)
def test_a_number_before_what_is_asked_for_counts_it(question, sentence) -> None:
    assert counts(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (TIMES, "Unit 2 tripped on low level."),
        (TIMES, "Unit 2 trips on low level."),
        (OFTEN, "Unit 2 trips on low level."),
        (TIMES, "It tripped on 3 May 1999 at 02:30."),
        (TIMES, "It tripped at 92 degrees."),
        (TIMES, "The level was 3 times higher."),
        (TIMES, "Each unit has been in Modes 1 and 2 many times."),
        (REPLACED, "REPLACE #2 R/H BUCKET TOOTH"),
        (REPLACED, "REPLACE 2 BUCKET TEETH"),
        (HOSES, "Replaced the hoses of pump 3."),
        (HOSES, "Main pump no. 3 hoses leak."),
        (HOSES, "NO 3 PUMP HOSES LEAKING"),
        (HOSES, "After 20 minutes hoses burst."),
        (HOSES, "Burst at 12.5 bar."),
        (HOSES, "Hoses of HC-7 replaced on 3/4."),
        ("How many trips were there?", "Beam loss on cavity 2 reflected power trip."),
        (SEEDS, "LOST I-125 SEEDS"),
        (SEEDS, "Incident #99-6: lost seeds."),
    ],
)
def test_a_number_of_something_else_counts_nothing(question, sentence) -> None:
    assert not counts(question, sentence)


def test_a_long_word_in_a_question_is_read_once() -> None:
    assert_linear(find_counted, f"how many times a {'x' * 4_000}%")
