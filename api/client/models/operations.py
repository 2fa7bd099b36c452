"""What the API tells of operations, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.client.models.model import Model


class Alive(Model):
    """The process runs."""

    status: str


class ChoreOut(Model):
    """A chore that is under way."""

    kind: str
    state: str


class Collection(Model):
    """One vector table."""

    name: str


class EmbedModelOut(Model):
    """A model, and how much of what there is it has a vector of."""

    model: str
    state: str
    active: bool
    dimension: int
    table: str
    rows: int
    entries: int
    missing: int
    similarity_floor: float
    languages: list[str]
    created_at: str


class EmbedModelsOut(Model):
    """Every model that has a table."""

    models: list[EmbedModelOut]


class Health(Model):
    """The shape of the reference, for ever."""

    status: str
    vector_db: VectorDb
    keyword_engine: str


class IndexOut(Model):
    """How many entries the search index has as they are."""

    entries: int
    indexed: int | None
    watermark: datetime
    drift: int | None
    compared_at: datetime | None


class KnowledgeQueuedOut(Model):
    """A chore that is due, as routes below `/v1/advisory-ai/` spell it."""

    maintenance_id: str = Field(alias="maintenanceId")


class LagOut(Model):
    """How far each stage is behind, from Postgres."""

    as_of: datetime
    sources: list[dict[str, Any]]
    stages: list[StageOut]
    index: IndexOut
    workers: list[QueueOut]
    locks: list[LockOut]
    problems: list[str]


class LockOut(Model):
    """Who holds the lock of a loop of upkeep just now."""

    name: str
    holder: str | None


class MaintenanceOut(Model):
    """How far a chore of the installation has come."""

    maintenance_id: str
    kind: str
    state: str
    phase: str | None
    done: int
    total: int | None
    per_minute: float | None
    eta_seconds: float | None
    attempts: int
    error: dict[str, Any] | None
    result: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class PausedOut(Model):
    """Why a stage rests."""

    code: str
    since: datetime
    until: datetime | None
    message: str


class PlannedOut(Model):
    """What a re-embedding would do."""

    model: str
    missing: int


class Precondition(Model):
    """One thing that a search by meaning stands on."""

    ok: bool


class QuarantinePage(Model):
    """A page of what was quarantined, the newest first."""

    items: list[QuarantinedOut]
    next_cursor: str | None


class QuarantinedOut(Model):
    """An entry's stage that could not be done, or a message nobody could read."""

    quarantine_id: str
    entry_id: str | None
    source: str | None
    external_id: str | None
    stage: str
    revision: int | None
    attempts: int
    error: dict[str, Any]
    first_at: datetime
    last_at: datetime
    excerpt: str | None
    times: int


class QueueOut(Model):
    """The workers of one queue."""

    queue: str
    alive: int
    stale: int


class QueuedOut(Model):
    """A chore that is due."""

    maintenance_id: str


class Ready(Model):
    """Whether requests should be sent here."""

    ready: bool
    checks: dict[str, str]


class ReleasedOut(Model):
    """What became of a release."""

    released: int
    resumed: list[str]
    still_quarantined: int
    complete: bool
    next_cursor: str | None


class SemanticOut(Model):
    """Whether searches by meaning can work: each precondition apart."""

    provider: Precondition
    pgvector: Precondition
    table: Precondition
    share: float | None
    entries: int | None
    embedded: int | None


class StageOut(Model):
    """One stage of enrichment."""

    stage: str
    due: int
    bulk: int
    overdue: int
    oldest_seconds: float
    leased: int
    quarantined: int
    per_minute: int
    watermark: datetime
    paused: PausedOut | None


class StatusOut(Model):
    """Components, workers and loops."""

    version: str
    components: dict[str, Any]
    semantic: SemanticOut
    migrations: dict[str, list[str]]
    entries: int
    index: IndexOut
    sources: list[dict[str, Any]]
    workers: list[dict[str, Any]]
    upkeep: list[dict[str, Any]]
    chores: list[ChoreOut]
    paused: list[dict[str, Any]]
    quarantine_budget_spent: list[str]
    not_embedded: dict[str, int] | None
    problems: list[str]


class VectorDb(Model):
    """The vector tables."""

    collections: list[Collection]
