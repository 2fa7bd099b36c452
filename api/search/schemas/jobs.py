"""Searches as jobs, as the contract words them."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from api.search.schemas.branches import BranchOutcome
from api.search.schemas.hits import ResultsCut, SearchHit
from api.search.schemas.search import SearchResponse
from api.server.body_model import Body
from shared.agents.agent_trace import TracedTurn


class JobLinks(BaseModel):
    """Where to look after a job, and where to end it (DELETE)."""

    self: str
    events: str
    cancel: str


class JobAccepted(BaseModel):
    """A search that has not ended yet."""

    job_id: str
    state: Literal["queued", "running"]
    deadline_at: str
    links: JobLinks


class Changed(BaseModel):
    """An input of a search that is not what it was."""

    input: Literal["config", "model", "index_watermark", "entry", "deadline"]
    before: str | None = Field(alias="from")
    to: str | None


class Replay(BaseModel):
    """How a search that was asked again compares with the first time."""

    of: str
    same: bool | None = Field(description="Null while either is not known.")
    old_hash: str | None
    new_hash: str | None
    changed: list[Changed]


class WhyNotBranch(BaseModel):
    """What one branch made of an entry; without a gate it found it."""

    name: str
    gate: str | None
    value: float | None
    limit: float | None
    explanation: str


class WhyNot(BaseModel):
    """The first gate that an entry did not pass."""

    entry_id: str | None
    returned: bool
    rank: int | None
    gate: str
    value: float | str | None
    limit: float | str | None
    explanation: str
    branches: list[WhyNotBranch]


class Job(Body):
    """A submitted or finished search."""

    job_id: str
    state: Literal["queued", "running", "done", "partial", "failed"]
    cancelled: bool
    queue_position: int | None
    """How many of the facility's were submitted before it and have not ended; null once
    a branch is in, and in lists."""
    created_at: str
    deadline_at: str
    ended_at: str | None
    request: dict[str, Any]
    branches: list[BranchOutcome]
    response: SearchResponse | None
    error: dict[str, Any] | None
    replay: Replay | None = Field(None, description="Where it was asked again.")
    turns: list[TracedTurn] = Field([], description="Of an agent: what it did.")


class JobPage(BaseModel):
    """One's own jobs, the newest first, without their answers."""

    items: list[Job]
    next_cursor: str | None


class JobResults(BaseModel):
    """A page of a job's one ranked window."""

    job_id: str
    state: Literal["running", "done", "partial", "failed"]
    items: list[SearchHit]
    cut: ResultsCut
    removed: int = Field(description="Hits of this page that are gone since.")
    next_cursor: str | None
    error: dict[str, Any] | None
