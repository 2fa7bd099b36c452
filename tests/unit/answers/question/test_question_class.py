"""Which questions an orchestrator sends to the logbook: golden ones, and ours."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

import pytest

from shared.answers.question.question_class import classify_question
from shared.times.calendar import Clock

CLOCK = Clock(zone="Europe/Berlin", now=datetime(2026, 3, 5, 9, tzinfo=UTC))
# The wording of the reference, and what each comes to.
GOLDEN = [
    pytest.param(
        "What happened last time the injector failed?",
        True,
        marks=pytest.mark.requirement("S2-32"),
    ),
    pytest.param(
        "Find entries about BTS chicane alignment",
        True,
        marks=pytest.mark.requirement("S2-33"),
    ),
    pytest.param(
        "What is the current beam energy?",
        False,
        marks=pytest.mark.requirement("S2-34"),
    ),
    pytest.param(
        "How do we typically handle RF trips?",
        True,
        marks=pytest.mark.requirement("S2-35"),
    ),
    pytest.param(
        "Set the quadrupole current to 5A",
        False,
        marks=pytest.mark.requirement("S2-36"),
    ),
    pytest.param(
        "Show me beam loss events from January",
        True,
        marks=pytest.mark.requirement("S2-37"),
    ),
    pytest.param(
        "What did the night shift report about the vacuum issue?",
        True,
        marks=pytest.mark.requirement("S2-38"),
    ),
    pytest.param(
        "How does the accelerator work?", False, marks=pytest.mark.requirement("S2-39")
    ),
]
TRUE = (
    "Why did gate valve 8 close with beam in the machine?",
    "When was klystron 2 replaced?",
    "Who bridged the tilt switch of ID07?",
    "rf trip last night",
    "Has the cryoplant stopped before?",
    "What was the beam current when the vacuum burst happened?",
    "Summarize the last shift",
    "Write a summary of what happened on the night shift",
    "Any notes on the BPM firmware update?",
    "kicker 3 late",
    "How was the ground fault of the sextupole supply found?",
    "What is the recommended minimum gap of ID05?",
    "Explain why the beam was lost on Tuesday",
    "Did anyone change the set point of the gun heater in February?",
    "show entries by Ruiz about arcs",
    "How long does the electron gun need after a heater dropout?",
    "Warum klemmt der Durchflusswächter FS-27?",
    "Wann wurde die Sperre LOTO-2026-0117 entfernt?",
    "What must be read before resetting a top-up interlock?",
    "Is there a procedure for restarting the cold box?",
    "Which problems recur with RFC2?",
    "set screw of the tuner",
    "Can you find the entry on the mains dip?",
    "What did we do about the water leak at sector 9?",
)
FALSE = (
    "What is the beam energy right now?",
    "How much current is stored at the moment?",
    "Is the beam on?",
    "Is gate valve 8 open now?",
    "Show me the vacuum pressure currently",
    "Turn on the sextupoles",
    "Please open the front end shutter",
    "Could you ramp the dipole current to 120 A?",
    "Reset the RF interlock",
    "Move the collimator by 2 mm",
    "What is a quadrupole?",
    "How does a free electron laser work?",
    "What is synchrotron radiation?",
    "What's the difference between a cyclotron and a synchrotron?",
    "Explain the physics of beam cooling",
    "What does RF stand for?",
    "Write a poem about electrons",
    "Translate this sentence into German",
    "Calculate the Larmor radius at 3 GeV",
    "Plot the temperature of the last ten minutes",
    "What is the weather forecast for tomorrow?",
    "Schalte die Pumpe ein",
)


@pytest.mark.parametrize(("text", "matches"), GOLDEN)
def test_the_questions_of_the_reference_are_told_apart(text, matches):
    found = classify_question(text, CLOCK)
    assert found.matches is matches
    assert found.reason
    assert ("logbook_search" in found.plan) is matches


def test_of_our_own_questions_at_least_95_in_100_are_told_apart():
    expected = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)
    assert len(expected) >= 40
    wrong = [
        text
        for text, matches in expected.items()
        if classify_question(text, CLOCK).matches is not matches
    ]
    assert len(wrong) <= 0.05 * len(expected), wrong


@pytest.mark.requirement("S2-26")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Search logbook for injector failures", "ls_injector_failures"),
        ("How do we typically handle RF trips?", "ls_rf_trips"),
        ("Find entries about BTS chicane alignment", "ls_bts_chicane_alignment"),
        ("Show me beam loss events from January", "ls_beam_loss"),
        (
            "Warum klemmt der Durchflusswächter FS-27?",
            "ls_klemmt_durchflusswachter_fs_27",
        ),
        ("what happened yesterday", "ls_entries"),
        ("What is the current beam energy?", None),
    ],
)
def test_a_result_is_called_after_its_topic(text: str, key: str | None):
    assert classify_question(text, CLOCK).context_key == key


@pytest.mark.requirement("S2-27", "S2-03")
def test_a_time_is_parsed_before_only_where_the_question_names_one():
    timed = classify_question("Show me beam loss events from January", CLOCK)
    assert timed.plan == ("time_range_parsing", "logbook_search", "respond")
    assert timed.time_range is not None
    since, until = (datetime.fromisoformat(one or "") for one in timed.time_range)
    assert (since, until) == (
        datetime(2025, 12, 31, 23, tzinfo=UTC),
        datetime(2026, 1, 31, 23, tzinfo=UTC),
    )
    untimed = classify_question("How do we typically handle RF trips?", CLOCK)
    assert untimed.plan == ("logbook_search", "respond")
    assert untimed.time_range is None


def test_nothing_asked_is_nothing_for_the_logbook():
    assert not classify_question("  ", CLOCK).matches


@pytest.mark.alone
def test_a_question_is_told_apart_within_two_milliseconds():
    texts = [*TRUE, *FALSE, *(str(one.values[0]) for one in GOLDEN)]
    took = []
    for _ in range(5):
        for text in texts:
            began = time.perf_counter()
            classify_question(text, CLOCK)
            took.append(time.perf_counter() - began)
    assert statistics.median(took) < 0.002
