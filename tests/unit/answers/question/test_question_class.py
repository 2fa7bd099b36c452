"""Which questions an orchestrator sends to the logbook: golden ones, and ours."""

import statistics
import time
from datetime import UTC, datetime

import pytest

from shared.answers.question.question_class import classify_question
from shared.times.calendar import Clock
from tests.support.classified_questions import FALSE, GOLDEN, TRUE

CLOCK = Clock(zone="Europe/Berlin", now=datetime(2026, 3, 5, 9, tzinfo=UTC))


@pytest.mark.requirement("S2-32", "S2-33", "S2-34", "S2-35")
@pytest.mark.requirement("S2-36", "S2-37", "S2-38", "S2-39")
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
    texts = [*TRUE, *FALSE, *(text for text, _ in GOLDEN)]
    took = []
    for _ in range(5):
        for text in texts:
            began = time.perf_counter()
            classify_question(text, CLOCK)
            took.append(time.perf_counter() - began)
    assert statistics.median(took) < 0.002
