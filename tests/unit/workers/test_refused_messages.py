"""What is told of messages that no task can be made of is bounded, and counted."""

from collections import Counter

import pytest
from structlog.testing import capture_logs

from workers.runtime import refused_messages

QUEUE = "enhance.embed"
WHY = "names an unknown task"


@pytest.fixture(autouse=True)
def nothing_refused(monkeypatch):
    monkeypatch.setattr(refused_messages, "_times", Counter())


@pytest.mark.requirement("B17")
def test_a_thousand_of_a_kind_are_ten_lines_each_with_the_number_so_far():
    with capture_logs() as lines:
        for number in range(1000):
            refused_messages.count_refusal(QUEUE, "no.such", f"id {number}", WHY)
        refused_messages.count_refusal("search", "no.such", "another", WHY)

    told = [(one["queue"], one["times"], one["message_id"]) for one in lines]
    assert told == [
        *((QUEUE, 2**power, f"id {2**power - 1}") for power in range(10)),
        ("search", 1, "another"),
    ]


def test_kinds_without_end_are_counted_as_others(monkeypatch):
    monkeypatch.setattr(refused_messages, "MAX_KINDS", 3)
    with capture_logs() as lines:
        for number in range(8):
            refused_messages.count_refusal(QUEUE, f"task {number}", "", WHY)
        refused_messages.count_refusal(QUEUE, "task 1", "", WHY)

    assert [(one["task_name"], one["times"]) for one in lines] == [
        *((f"task {number}", 1) for number in range(3)),
        *(("others", 1), ("others", 2), ("others", 4)),
        ("task 1", 2),
    ]


def test_names_of_strangers_are_made_printable():
    with capture_logs() as lines:
        refused_messages.count_refusal(None, ["no name"], "\ud800\x1b" + "x" * 900, WHY)

    (line,) = lines
    assert (line["queue"], line["task_name"]) == ("unknown", "no task")
    assert line["message_id"] == "\ufffd\ufffd" + "x" * 198
