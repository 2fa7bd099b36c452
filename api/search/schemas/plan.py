"""The plan of a search as it is told before anything of it is carried out."""

from typing import Any, Literal

from pydantic import Field

from api.search.schemas.times import SearchTime
from api.server.body_model import Body
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.intent import Intent


class PlanEntity(Body):
    """A thing that the question names."""

    kind: str
    """`device`, `system`, `person`, `source`, `entry`, `thread`, `quantity`, or the
    kind of a name (`pv`, `beamline`, `document`, a pattern of the facility)."""
    name: str = Field(description="As it is written.")
    canonical: str = Field(description="As it is compared.")
    start: int | None
    """Where in the query; null in a field or a filter."""
    end: int | None


class PlanEngine(Body):
    """Whom a branch would ask."""

    branch: str
    engine: Literal["opensearch", "postgres", "package"]
    """`package`: whatever a module of another package, or a pipeline, asks."""
    fallback: str | None = Field(description="The module that takes over if it fails.")
    circuit: Literal["open", "closed"] | None
    """Whether your facility's last search of this minute that asked it found its
    circuit open; null: none did."""


class QueryPlan(Body):
    """A search's plan, made without searching; the answer's `plan` says the same."""

    query: str
    intent: Intent = Field(description="What the question is for, by its words.")
    mode: str = Field(description="The mode that is used.")
    reasoning: str
    branches: list[str]
    sub_queries: list[str]
    decomposed_by: str | None
    """The rule that found its parts; null: it has none."""
    limit: int
    window: int
    deadline_ms: int
    rrf_k: int
    rerank: Literal["late", "model", "linear", "none"]
    feedback: float
    domain_weights: dict[str, float]
    branch_weights: dict[str, float]
    weigh_by_best: bool
    context_boosts: dict[str, float]
    time: SearchTime
    entities: list[PlanEntity] = Field([])
    """Of lists and patterns, never of what entries hold."""
    terms: list[dict[str, Any]] | None = None
    """What each word becomes, by language. Of a pattern `terms` and `idents` are null:
    they are looked up by the search."""
    phrases: list[dict[str, Any]] | None = None
    """Null where a pattern stands in one."""
    tsquery: list[dict[str, Any]] | None = None
    """What Postgres compares; null where there are patterns."""
    opensearch_query: dict[str, Any] | None = None
    """Null where it is not asked, or there are patterns."""
    engines: list[PlanEngine]
    diagnostics: list[Diagnostic]
    expected_ms: float | None
    """The median of the last 100 searches of this mode that this process of the API has
    answered; null: there was none yet."""
