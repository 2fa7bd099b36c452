"""Answers are counted by what they are worth, so that a page can show their shares."""

from __future__ import annotations

from prometheus_client import REGISTRY

from workers.runtime import worker_metrics


def counted(status: str, grade: str) -> float:
    labels = {"status": status, "grade": grade}
    return REGISTRY.get_sample_value("logchord_answers_total", labels) or 0.0


def test_an_answer_is_counted_by_status_and_grade() -> None:
    before = counted("grounded", "A"), counted("clarify", "D")
    worker_metrics.answered("grounded", "A")
    assert (counted("grounded", "A"), counted("clarify", "D")) == (
        before[0] + 1,
        before[1],
    )
