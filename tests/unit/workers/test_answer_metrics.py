"""Answers are counted by what they are worth, so that a page can show their shares."""

from pathlib import Path

import pytest
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from shared.search.response.answer import ModelShare
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


def sampled(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, {"model": "here:metered", **labels}) or 0.0


def samples() -> dict[str, float]:
    return {
        "ok": sampled("logchord_llm_calls_total", status="ok"),
        "timeout": sampled("logchord_llm_calls_total", status="timeout"),
        "quota": sampled("logchord_llm_calls_total", status="quota"),
        "in": sampled("logchord_llm_tokens_total", direction="in"),
        "out": sampled("logchord_llm_tokens_total", direction="out"),
        "first": sampled("logchord_llm_first_chunk_seconds_count"),
        "seconds": sampled("logchord_llm_first_chunk_seconds_sum"),
        "removed": sampled("logchord_llm_sentences_removed_total"),
    }


@pytest.mark.parametrize(
    ("share", "more"),
    [
        (
            {
                "status": "ok",
                "tokens_in": 900,
                "tokens_out": 30,
                "first_ms": 250.0,
                "removed": 2,
            },
            {"ok": 1, "in": 900, "out": 30, "first": 1, "seconds": 0.25, "removed": 2},
        ),
        # What an endpoint does not count is counted by nobody.
        ({"status": "ok"}, {"ok": 1}),
        # Why it has no part says more than that it has none.
        ({"status": "unavailable", "reason": "timeout"}, {"timeout": 1}),
        ({"status": "quota"}, {"quota": 1}),
    ],
)
def test_what_a_model_had_to_do_with_an_answer_is_counted(share, more) -> None:
    before = samples()
    worker_metrics.model_asked(ModelShare(model="here:metered", **share))
    after = samples()
    grown = {name: after[name] - before[name] for name in after}
    assert {name: count for name, count in grown.items() if count} == more


def test_an_agents_turns_calls_and_ends_are_counted() -> None:
    def counts() -> list[float]:
        return [
            REGISTRY.get_sample_value(name, labels) or 0.0
            for name, labels in (
                ("logchord_agent_turns_total", {"state": "done"}),
                (
                    "logchord_agent_calls_total",
                    {"tool": "keyword_search", "status": "ok"},
                ),
                ("logchord_agent_ends_total", {"exit_reason": "max_turns"}),
            )
        ]

    before = counts()
    worker_metrics.AGENT_TURNS.labels("done").inc()
    worker_metrics.AGENT_CALLS.labels("keyword_search", "ok").inc()
    worker_metrics.AGENT_ENDS.labels("max_turns").inc()
    assert counts() == [one + 1 for one in before]


def test_a_child_that_begins_to_count_keeps_no_figures_of_others_back(
    tmp_path: Path,
) -> None:
    written = MmapedDict(str(tmp_path / "counter_1.db"))
    written.write_value(mmap_key("runs", "runs_total", [], [], "Runs."), 3.0, 0.0)
    written.close()
    # Made, and not yet of any size.
    (tmp_path / "counter_2.db").touch()
    registry = CollectorRegistry()
    worker_metrics.SharedFigures(str(tmp_path), registry)

    assert registry.get_sample_value("runs_total") == 3.0
