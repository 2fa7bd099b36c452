"""What the stream of a job sends, from whichever event on: pure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from api.search import job_events
from api.search.job_events import Event, JobSnapshot, events_after
from api.search.schemas.branches import BranchOutcome
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.jobs.progress import ProgressEvent
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
ANSWER = {"response": {"degraded": True, "stability_hash": "9f2c"}}


def seen(stored: StoredJob, told: Sequence[ProgressEvent] | None) -> JobSnapshot:
    return JobSnapshot(stored, told, lambda: dict(ANSWER))


def names(events: Sequence[Event]) -> list[str]:
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
        "results",
        "done",
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
def test_where_events_are_lost_the_whole_job_comes_first(
    told: Sequence[ProgressEvent] | None, after: int
) -> None:
    events = events_after(seen(ENDED, told), after)
    assert names(events) == ["snapshot", "results", "done"]
    assert events[0].data["response"] == ANSWER["response"]


def test_a_running_job_whose_events_are_lost_goes_on_with_its_end() -> None:
    (snapshot,) = events_after(seen(JOB, []), 4)
    assert snapshot.name == "snapshot"
    assert events_after(seen(JOB, []), snapshot.number) == []
    rest = events_after(seen(ENDED, []), snapshot.number)
    assert names(rest) == ["results", "done"]


def test_a_failed_job_has_no_results_and_says_why() -> None:
    failed = replace(ENDED, state="failed", error={"code": "search_failed"})
    events = events_after(JobSnapshot(failed, TOLD, lambda: {"response": None}), 6)
    assert names(events) == ["done"]
    assert events[0].data["error"] == {"code": "search_failed"}


def test_after_the_end_there_is_nothing() -> None:
    (*_, done) = events_after(seen(ENDED, TOLD), 0)
    assert events_after(seen(ENDED, TOLD), done.number) == []


def test_an_event_is_three_lines_and_a_blank_one() -> None:
    assert Event(3, "done", {"a": "x\ny"}).wire() == (
        'id: 3\nevent: done\ndata: {"a":"x\\ny"}\n\n'
    )


async def _all(look: Any) -> list[str]:
    return [text async for text in job_events.stream(look, 0)]


def test_a_stream_looks_until_the_job_has_ended() -> None:
    looks = iter([seen(JOB, []), seen(JOB, TOLD[:2]), seen(ENDED, TOLD)])
    sent = asyncio.run(_all(lambda: next(looks)))
    assert "".join(sent).count("event: branch_started") == 2
    assert sent[-1].startswith("id: 1000002\nevent: done\n")


def test_a_look_that_fails_ends_the_stream_for_the_client_to_come_again() -> None:
    looks = iter([seen(JOB, TOLD[:1])])

    def look() -> JobSnapshot:
        found = next(looks, None)
        if found is None:
            raise DatabaseConnectionError
        return found

    sent = asyncio.run(_all(look))
    assert [text.split("\n")[0] for text in sent] == ["id: 1", "id: 2", "id: 3"]


def test_a_silent_stream_has_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_events, "HEARTBEAT_SECONDS", 0.0)
    looks = iter([seen(JOB, []), seen(JOB, []), seen(ENDED, TOLD)])
    sent = asyncio.run(_all(lambda: next(looks)))
    assert ": still there\n\n" in sent
