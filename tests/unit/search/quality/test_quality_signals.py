"""Alerts of synthetic streams of events whose alerts are known."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.search.quality.quality_signals import AlertRules, SessionEvent, find_alerts

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
RULES = AlertRules(timedelta(minutes=15), 3)
LATER = BEGIN + timedelta(hours=5)


def stream(
    told: str, session: str = "s1", begin: datetime = BEGIN
) -> list[SessionEvent]:
    """Return a session: F a fallback answer, G a grounded one, c click, q query.

    `_` is a minute in which nothing happens, `|` an hour.
    """
    at, events = begin, []
    for number, sign in enumerate(told):
        if sign in "_|":
            at += timedelta(minutes=1 if sign == "_" else 60)
            continue
        kind = {"F": "answer_frame", "G": "answer_frame", "c": "click", "q": "query"}
        events.append(
            SessionEvent(
                kind[sign], at, f"key{sign}", session, sign == "F", f"{session}{number}"
            )
        )
        at += timedelta(seconds=1)
    return events


@pytest.mark.requirement("S4-55", "S4-56")
@pytest.mark.parametrize(
    ("told", "loops", "abandoned"),
    [
        # Whoever was answered, or went on, has given up nothing.
        ("qG", 0, 0),
        ("qFc", 0, 0),
        ("qFqG", 0, 0),
        ("qFqFqGqF_c", 0, 0),
        ("qF", 0, 1),
        ("qF|qG", 0, 1),
        ("qFqFqF", 1, 1),
        ("qFqFqFc", 1, 0),
        ("qFqFqFqFqFc", 1, 0),
        ("qFqFqGqFqFc", 0, 0),
        # An hour later it is another visit.
        ("qFqF|qFc", 0, 1),
    ],
)
def test_a_stream_alerts_of_what_it_is_known_to(told, loops, abandoned) -> None:
    found = find_alerts(stream(told), LATER, RULES)
    counts = {one.type: one.count for one in found}
    assert counts.get("fallback_loop", 0) == loops
    assert counts.get("abandoned_fallback", 0) == abandoned


@pytest.mark.requirement("S4-56")
def test_a_session_that_may_go_on_has_given_up_nothing_yet() -> None:
    soon = BEGIN + timedelta(minutes=14)
    assert find_alerts(stream("qF"), soon, RULES) == []
    assert find_alerts(stream("qF"), soon + timedelta(minutes=2), RULES)


@pytest.mark.requirement("S4-55")
def test_loops_of_two_sessions_are_two_of_one_question_and_none_of_both() -> None:
    both = [
        *stream("qFqFqFc"),
        *stream("qFqFqFc", "s2", BEGIN + timedelta(hours=1)),
        *stream("qFqFc", "s3"),
        *stream("qFc", "s4"),
    ]
    (loop,) = find_alerts(both, LATER, RULES)
    assert (loop.type, loop.query_key, loop.count) == ("fallback_loop", "keyF", 2)
    assert loop.first_at < loop.last_at


def test_an_answer_told_by_page_and_server_counts_once() -> None:
    once = stream("qF")
    told = [*once, once[-1], once[-1]]
    assert {one.type for one in find_alerts(told, LATER, RULES)} == {
        "abandoned_fallback"
    }
