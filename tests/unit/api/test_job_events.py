"""What the stream of a job sends, from whichever event on: pure."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from api.search import job_events
from api.search.event_watch import JobWatch
from api.search.job_events import JobEvent, JobSnapshot, events_after
from api.search.schemas.branches import BranchOutcome
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.jobs.progress import ENDED as ENDED_MARK
from shared.search.jobs.progress import Progress, ProgressEvent
from shared.search.response.answer_events import suggest_actions
from shared.search.response.job_answer import JobReader, job_body
from tests.support.ended_searches import unasked

NOW = datetime(2026, 3, 2, 5, 31, tzinfo=UTC)
JOB = StoredJob(
    id=UUID(int=1),
    tenant="default",
    subject="anna",
    state="queued",
    request={},
    plan={
        "method": "hybrid",
        "reasoning": "asked",
        "branches": ["os_bm25", "semantic"],
        "query": "beam",
    },
    branches=None,
    ranked=None,
    cancelled=False,
    error=None,
    created_at=NOW,
    deadline_at=NOW,
    ended_at=None,
)
ENDED = replace(JOB, state="done", ended_at=NOW)
TOLD = [
    ProgressEvent("branch_started", {"name": "semantic"}),
    ProgressEvent("branch_started", {"name": "os_bm25"}),
    ProgressEvent("branch_done", {"name": "os_bm25", "status": "ok"}),
    ProgressEvent("branch_done", {"name": "semantic", "status": "empty"}),
]
CITED = {"label": "OPS-1", "entry_id": "1", "permalink": "/e/api/OPS-1", "revision": 2}
RESPONSE: dict[str, Any] = {
    "degraded": True,
    "stability_hash": "9f2c",
    "results": [{"entry_id": "1", "thread_id": "7"}],
    "answer": "The beam was lost [#OPS-1@2].",
    "answer_source": "deterministic",
    "citations": [CITED],
    "citation_mode": "cited",
    "sources": ["OPS-1"],
    "context_answer": {"status": "grounded", "questions": []},
    "llm_status": None,
    "grounding_score": None,
    "hallucinated_citations": 0,
}
ANSWER = {"response": RESPONSE}
LAST = ["results", "deterministic", "actions", "done"]


def seen(stored: StoredJob, told: Sequence[ProgressEvent] | None) -> JobSnapshot:
    numbered = [one._replace(number=n) for n, one in enumerate(told or (), 1)]
    found = None if told is None else Progress(len(numbered), numbered)
    return JobSnapshot(stored, found, lambda: dict(ANSWER))


def names(events: Sequence[JobEvent]) -> list[str]:
    return [event.name for event in events]


def test_a_job_is_told_from_its_acceptance_to_its_end() -> None:
    events = events_after(seen(ENDED, TOLD), 0)
    assert names(events) == [
        "accepted",
        "planned",
        "branch_started",
        "branch_started",
        "branch_done",
        "branch_done",
        *LAST,
    ]
    numbers = [event.number for event in events]
    assert numbers == sorted(set(numbers))
    assert {event.data["job_id"] for event in events} == {str(JOB.id)}
    assert events[-1].data == {
        "job_id": str(JOB.id),
        "state": "done",
        "degraded": True,
        "stability_hash": "9f2c",
        "error": None,
    }


def test_each_part_of_a_job_is_told_with_the_question_that_it_searches() -> None:
    events = events_after(seen(ENDED, TOLD), 0)
    told = [one.data for one in events if one.name.startswith("branch_")]
    assert [one["sub_query"] for one in told] == ["beam"] * len(TOLD)
    assert [one["name"] for one in told] == [one.says["name"] for one in TOLD]


def test_a_job_names_of_each_part_the_question_that_it_searches() -> None:
    reader = JobReader(unasked(), Scope("default", "anna"))
    (one,) = job_body(reader, JOB, [Outcome("semantic", "empty", "cosine")])["branches"]
    assert (one["name"], one["sub_query"]) == ("semantic", "beam")
    assert one.keys() == BranchOutcome.model_fields.keys()


def test_whoever_resumes_anywhere_gets_the_rest_and_nothing_twice() -> None:
    whole = events_after(seen(ENDED, TOLD), 0)
    for place, event in enumerate(whole):
        assert events_after(seen(ENDED, TOLD), event.number) == whole[place + 1 :]


def test_what_is_told_while_a_job_runs_has_the_same_ids_afterwards() -> None:
    whole = events_after(seen(ENDED, TOLD), 0)
    for count in range(len(TOLD) + 1):
        running = events_after(seen(JOB, TOLD[:count]), 0)
        assert running == whole[: 2 + count]


@pytest.mark.parametrize(
    ("told", "after"), [(None, 0), ([], 0), (TOLD[:1], 0), ([], 4)], ids=repr
)
def test_where_events_are_lost_the_whole_job_comes_first(told, after) -> None:
    events = events_after(seen(ENDED, told), after)
    assert names(events) == ["snapshot", *LAST]
    assert events[0].data["response"] == ANSWER["response"]


def test_a_running_job_whose_events_are_lost_goes_on_with_its_end() -> None:
    (snapshot,) = events_after(seen(JOB, []), 4)
    assert snapshot.name == "snapshot"
    assert events_after(seen(JOB, []), snapshot.number) == []
    rest = events_after(seen(ENDED, []), snapshot.number)
    assert names(rest) == LAST


def test_a_failed_job_has_no_results_and_says_why() -> None:
    failed = replace(ENDED, state="failed", error={"code": "search_failed"})
    told = seen(failed, TOLD).told
    events = events_after(JobSnapshot(failed, told, lambda: {"response": None}), 6)
    assert names(events) == ["done"]
    assert events[0].data["error"] == {"code": "search_failed"}


def test_after_the_end_there_is_nothing() -> None:
    (*_, done) = events_after(seen(ENDED, TOLD), 0)
    assert events_after(seen(ENDED, TOLD), done.number) == []


def test_an_event_is_three_lines_and_a_blank_one() -> None:
    assert JobEvent(3, "done", {"a": "x\ny"}).wire() == (
        b'event: done\ndata: {"a":"x\\ny"}\nid: 3\n\n'
    )


class Watched(JobWatch):
    """A watch on which these are told; then nothing is, for no time at all."""

    def __init__(self, *told: ProgressEvent) -> None:
        super().__init__(JOB.id, 0)
        for number, one in enumerate(told, 1):
            self.told.put_nowait(one._replace(number=number))

    async def next(self, seconds: float) -> ProgressEvent | None:
        return await super().next(min(seconds, 0.001))


async def _all(look: Any, *told: ProgressEvent) -> list[str]:
    stream = job_events.stream(lambda _: look(), Watched(*told), 0)
    return [text.decode() async for text in stream]


def test_a_stream_looks_until_the_job_has_ended() -> None:
    looks = iter([seen(JOB, []), seen(JOB, TOLD[:2]), seen(ENDED, TOLD)])
    sent = asyncio.run(_all(lambda: next(looks)))
    assert "".join(sent).count("event: branch_started") == 2
    assert sent[-1].startswith("event: done\n")
    assert sent[-1].endswith("\nid: 1000009\n\n")


ANSWERED = [
    *TOLD,
    ProgressEvent("agent_turn", {"turn": 1}),
    ProgressEvent("results", {"results": [{"text": "Since deleted"}]}),
    ProgressEvent("deterministic", {"answer": "Since deleted"}),
    ProgressEvent("llm_chunk", {"text": "Since"}),
    ProgressEvent("actions", {"actions": []}),
    ProgressEvent(ENDED_MARK, {"answered": True}),
]


def test_text_of_a_job_that_ended_is_read_again_and_its_steps_are_told() -> None:
    sent = asyncio.run(_all(lambda: seen(ENDED, ANSWERED)))

    assert "Since" not in "".join(sent)
    named = [text.split("\n")[0].removeprefix("event: ") for text in sent]
    steps = [one.name for one in [*TOLD, ANSWERED[len(TOLD)]]]
    assert named == ["accepted", "planned", *steps, *LAST]


def test_whoever_was_told_the_whole_text_is_told_the_end_alone() -> None:
    job = seen(ENDED, ANSWERED)
    assert job.told is not None
    behind = job.told._replace(events=job.told.events[-1:])
    after = 2 + len(ANSWERED) - 1
    stream = job_events.stream(lambda _: replace(job, told=behind), Watched(), after)

    async def read() -> list[str]:
        return [text.decode() async for text in stream]

    (done,) = asyncio.run(read())
    assert "event: done" in done


@pytest.mark.requirement("S4-59", "S4-30")
def test_what_workers_tell_is_sent_as_it_comes_and_once() -> None:
    told = [
        *TOLD,
        ProgressEvent("results", {"results": []}),
        ProgressEvent("deterministic", {"answer": "A"}),
        ProgressEvent("llm_chunk", {"text": "Wor"}),
        ProgressEvent("llm_status", {"status": "ok"}),
        ProgressEvent("actions", {"actions": []}),
        ProgressEvent(ENDED_MARK, {"answered": True}),
    ]
    # The second look comes when the stream has said that the job has ended.
    looks = iter([seen(JOB, TOLD[:2]), seen(ENDED, told)])

    sent = asyncio.run(_all(lambda: next(looks), *told))

    named = [text.split("\n")[0].removeprefix("event: ") for text in sent]
    assert named == [*("accepted", "planned", *(one.name for one in told[:-1]), "done")]


@pytest.mark.requirement("S4-33")
def test_what_may_be_done_next_is_links_and_queries_and_three_at_most() -> None:
    worth = {"status": "clarify", "questions": ["Why turbine 1?", "Why turbine 2?"]}
    offered = suggest_actions({**RESPONSE, "context_answer": worth})
    assert offered == [
        {"label": "Open OPS-1", "href": "/e/api/OPS-1@2"},
        {"label": "Read the thread", "href": "/v1/threads/7"},
        {"label": "Ask instead", "query": "Why turbine 1?"},
    ]


def test_a_look_that_fails_ends_the_stream_for_the_client_to_come_again() -> None:
    looks = iter([seen(JOB, TOLD[:1])])

    def look() -> JobSnapshot:
        found = next(looks, None)
        if found is None:
            raise DatabaseConnectionError
        return found

    sent = asyncio.run(_all(look))
    assert [text.split("\n")[2] for text in sent] == ["id: 1", "id: 2", "id: 3"]


def test_a_silent_stream_has_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_events, "HEARTBEAT_SECONDS", 0.0)
    looks = iter([seen(JOB, []), seen(JOB, []), seen(ENDED, TOLD)])
    sent = asyncio.run(_all(lambda: next(looks)))
    assert ": still there\n\n" in sent
