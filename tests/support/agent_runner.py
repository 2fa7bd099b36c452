"""An agent whose every turn is taken in this process, with a scripted model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import redis

from shared.agents import end_agent, turn_rows
from shared.agents.agent_answer import AskedModel
from shared.agents.ask_model import AgentProcess
from shared.agents.bounds import Bounds
from shared.agents.run_call import run_call
from shared.agents.take_turn import Ending, take_turn
from shared.agents.turn_rows import TurnRow
from shared.entries.draft import EntryDraft
from shared.ids import uuid7
from shared.language_models.chat_client import ChatClient
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.query import modes
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response import job_answer
from shared.search.response.end_search import EndedSearch, no_cards
from shared.search.response.search import make_job
from shared.settings.sections import ProviderSettings
from tests.support.fixtures.asking import ANNA, CLOCK, Asking
from tests.support.stub_servers.chat_server import (
    ChatScript,
    Reply,
    part,
    streams,
    usage,
)
from workers.runtime.task import attempt

QUESTION = "why did the klystron trip"
PIPELINES = (modes.make_agent_mode(("keyword", "semantic"), 120_000),)
ENTRIES = (
    EntryDraft("api", "trip", "The klystron tripped because its window was cracked."),
    EntryDraft("api", "window", "The window was replaced on Monday morning."),
    EntryDraft("api", "closed", "The klystron was sabotaged.", readers=("ben",)),
)


def call(name: str, *, place: int = 0, **arguments: Any) -> dict[str, Any]:
    return {
        "index": place,
        "id": f"call_{place}",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def calls(*wanted: dict[str, Any], tokens: tuple[int, int] = (30, 10)) -> Reply:
    """Return a reply that calls tools, as OpenAI's endpoint streams it."""
    return streams(
        part(tool_calls=list(wanted)), part(finish="tool_calls"), usage(*tokens)
    )


@dataclass
class Runner:
    """Takes every turn in this process, as workers would, one step at a time."""

    asking: Asking
    redis: redis.Redis
    script: ChatScript
    bounds: Bounds = field(default_factory=Bounds)
    plan: Plan = field(init=False)
    sent: list[tuple[list[int], int]] = field(default_factory=list)
    ran: list[int] = field(default_factory=list)
    checkpoint: Callable[[str, UUID], None] = lambda *_: None
    take_answer: Callable[[str], bool] = lambda _: True
    excluded: frozenset[str] = frozenset()
    deadline_seconds: float = 60.0
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        limits = PlanLimits(opensearch=False, pipelines=PIPELINES)
        asked = SearchQuery(QUESTION, mode="agent")
        self.plan = make_plan(asked, ANNA, limits, CLOCK)

    @property
    def process(self) -> AgentProcess:
        given = ProviderSettings(
            base_url=self.script.url, timeout_seconds=self.timeout_seconds
        )
        client = ChatClient("here", given, "tiny")
        return AgentProcess(
            pool=self.asking.pool,
            redis=self.redis,
            context=self.asking.context,
            now=time.time,
            model=lambda: client,
            bounds=self.bounds,
            max_tokens=400,
            temperature=0.1,
            send=self,
            take_answer=self.take_answer,
            excluded=self.excluded,
            checkpoint=self.checkpoint,
        )

    def calls(self, job: Job, numbers: Sequence[int], turn_no: int) -> None:
        assert job.submitted
        self.sent.append((list(numbers), turn_no))

    def open(self) -> Job:
        plan = replace(self.plan, deadline_ms=int(self.deadline_seconds * 1000))
        job = make_job(plan, uuid7(), time.time(), submitted=True)
        job = replace(job, branches=1, ends_in_chord=True)
        with connection(self.asking.pool) as conn:
            jobs.submit_job(conn, job)
        jobs.open_job(self.redis, job)
        return job

    def run_calls(self, job: Job) -> int | None:
        """Carry out what was sent; return the turn that follows."""
        if not self.sent:
            return None
        numbers, turn_no = self.sent.pop(0)
        for number in numbers:
            self.ran.append(number)
            run_call(
                self.process,
                job,
                self.plan,
                number,
                CLOCK,
                attempt,
                int(job.deadline) + 60,
            )
        return turn_no

    def turns(self, job: Job) -> list[TurnRow]:
        with connection(self.asking.pool) as conn:
            return turn_rows.list_turns(conn, job.job_id, job.tenant)

    def run(self, job: Job | None = None, turn_no: int = 1) -> Ended:
        """Take turns until the job has ended."""
        job = job or self.open()
        following: int | None = turn_no
        while following is not None:
            ending = take_turn(self.process, job.job_id, following)
            if ending is not None:
                return self.end(job, ending)
            following = self.run_calls(job)
        message = "no turn follows, and none has ended the job"
        raise AssertionError(message)

    def end(self, job: Job, ending: Ending) -> Ended:
        ended = end_agent.end_agent(
            self.asking.context,
            ending.job,
            ending.plan,
            ending.turns,
            ending.reason,
            no_cards,
            AskedModel("here:tiny", self.excluded),
        )
        end_agent.store(self.asking.pool, job, ended, ending.reason, 60_000)
        return Ended(job, ended, ending.reason, self.turns(job))

    def read(self, ended: Ended) -> dict[str, Any]:
        """Return what a job says to whoever asks for it later."""
        with connection(self.asking.pool) as conn:
            stored = jobs.find_own_job(conn, ANNA, ended.job.job_id)
        reader = job_answer.JobReader(self.asking.context, ANNA)
        answer = job_answer.read_answer(reader, stored)
        assert answer is not None
        return answer.to_json()


@dataclass
class Ended:
    job: Job
    search: EndedSearch
    reason: str
    turns: list[TurnRow]

    @property
    def body(self) -> dict[str, Any]:
        assert self.search.answer is not None
        return self.search.answer.to_json()

    @property
    def found(self) -> set[str]:
        return {hit["external_id"] for hit in self.body["results"]}


def scripted(runner: Runner, *replies: Reply) -> None:
    runner.script.replies[:] = list(replies)
