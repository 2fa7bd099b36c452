"""How the work stands, as REST and the command line tell it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import Field

from api.server.body_model import ResponseBody, dump_fields
from shared.embedding.vectors.semantic_preconditions import Preconditions
from shared.times.rfc3339 import timestamp
from shared.work import diagnosis
from shared.work.chore_records import Maintenance
from shared.work.lag import ANY_TENANT, StageLag
from shared.work.live_processes import Process
from shared.work.stage_pauses import BUDGET_SPENT, Pause
from shared.work.upkeep_loops import LoopState
from shared.work.work_overview import Overview


class PausedOut(ResponseBody):
    """Why a stage rests."""

    code: str = Field(examples=[BUDGET_SPENT, "opensearch_unavailable"])
    since: datetime
    until: datetime | None
    """When it is tried again; null: once it is released."""
    message: str


class StageOut(ResponseBody):
    """One stage of enrichment."""

    stage: str
    due: int = Field(description="Live work still to be done.")
    bulk: int = Field(description="Bulk work still to be done.")
    overdue: int = Field(description="Due for over 10 s, in nobody's hands.")
    oldest_seconds: float
    leased: int = Field(description="In somebody's hands.")
    quarantined: int = Field(description="Quarantined: it cannot be done.")
    per_minute: int = Field(description="Ended within the last minute, of everybody.")
    watermark: datetime
    paused: PausedOut | None


class IndexOut(ResponseBody):
    """How many entries the search index has as they are."""

    entries: int
    indexed: int | None = Field(description="Null while there is no search index.")
    watermark: datetime
    drift: int | None
    """Documents that differed from Postgres, or were left over, when last compared;
    they are put right. Null: never compared, or not yours to know."""
    compared_at: datetime | None


class QueueOut(ResponseBody):
    """The workers of one queue."""

    queue: str
    alive: int
    stale: int


class LockOut(ResponseBody):
    """Who holds the lock of a loop of upkeep just now."""

    name: str
    holder: str | None


class LagOut(ResponseBody):
    """How far each stage is behind, from Postgres."""

    as_of: datetime
    sources: list[dict[str, Any]]
    stages: list[StageOut]
    index: IndexOut
    workers: list[QueueOut]
    locks: list[LockOut]
    problems: list[str] = Field(description="What is wrong, and what to do.")


class ChoreOut(ResponseBody):
    """A chore that is under way; how far it is, for whom it is no secret."""

    kind: str
    state: str


class Precondition(ResponseBody):
    """One thing that a search by meaning stands on."""

    ok: bool


class SemanticOut(ResponseBody):
    """Whether searches by meaning can work: each precondition apart."""

    provider: Precondition = Field(description="Whoever makes the vectors answers.")
    pgvector: Precondition
    table: Precondition = Field(description="The live model's; it has vectors.")
    share: float | None
    """Of the facility's entries that have vectors; null: not counted in time."""
    entries: int | None = Field(description="Of the facility; for admins alone.")
    embedded: int | None = Field(description="Of those; for admins alone.")


class StatusOut(ResponseBody):
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
    """The stages that wait for a release."""
    not_embedded: dict[str, int] | None
    """Entries that the live model skips on purpose, by reason; of the whole facility,
    and so for admins alone: null for others."""
    problems: list[str]


def semantic_out(found: Preconditions, *, admin: bool) -> dict[str, Any]:
    """Return the preconditions of semantic search as JSON; counts for admins alone."""
    counts = found.counts
    shown = counts if admin else None
    return {
        "pgvector": {"ok": found.has_pgvector},
        "table": {"ok": found.is_filled, "model": found.model},
        "share": round(counts.share, 2) if counts else None,
        "entries": shown.entries if shown else None,
        "embedded": shown.embedded if shown else None,
    }


def stage_out(one: StageLag, zone: str) -> dict[str, Any]:
    """Return one stage."""
    return dump_fields(
        StageOut,
        one,
        oldest_seconds=round(one.oldest_seconds, 1),
        paused=paused_out(one.paused, zone) if one.paused else None,
    )


def paused_out(pause: Pause, zone: str) -> dict[str, Any]:
    """Return why a stage rests; never what the driver or an entry said."""
    return dump_fields(PausedOut, pause, message=diagnosis.pause_sentence(pause, zone))


def worker_out(one: Process) -> dict[str, Any]:
    """Return one process as it reports itself."""
    names = ("kind", "queues", "pid", "host", "version", "stale")
    told = {name: getattr(one, name) for name in names}
    return {**told, "since": timestamp(one.since)}


def loop_out(one: LoopState) -> dict[str, Any]:
    """Return one loop of upkeep, and how long ago its last turn ended."""
    quiet = one.seconds_since_turn
    return {
        "loop": one.name,
        "holder": one.holder,
        "seconds_since_turn": None if quiet is None else round(quiet, 1),
    }


def drift_out(seen: Overview) -> dict[str, Any]:
    """Return how far the index was from Postgres; the count is of everybody's."""
    at = seen.compared.ended_at if seen.compared else None
    return {
        "watermark": timestamp(seen.index_watermark),
        "drift": seen.drift if seen.tenant == ANY_TENANT else None,
        "compared_at": timestamp(at) if at else None,
    }


def chores_out(seen: Overview) -> list[dict[str, Any]]:
    """Return the chores; their counts are of everybody's entries."""
    return [_chore(one, counts=seen.tenant == ANY_TENANT) for one in seen.chores]


def _chore(one: Maintenance, *, counts: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": one.kind, "state": one.state}
    if counts:
        shown |= {"maintenance_id": str(one.id), "phase": one.phase}
        shown |= {"done": one.done, "total": one.total}
        shown |= {"per_minute": one.per_minute, "eta_seconds": one.eta_seconds}
    return shown


def paused_stages(found: Iterable[StageLag], zone: str) -> dict[str, Any]:
    """Return which stages rest, and which of them until they are released."""
    resting = [one.paused for one in found if one.paused]
    return {
        "paused": [{"stage": one.stage, **paused_out(one, zone)} for one in resting],
        "quarantine_budget_spent": [
            one.stage for one in resting if one.code == BUDGET_SPENT
        ],
    }
