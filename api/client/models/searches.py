"""What the API tells of whole searches, made from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from api.client.models.model import Model
from api.client.models.search import *
from api.client.models.server import *


class AlertOut(Model):
    """How its owner is told."""

    enabled: bool
    webhook_url: str | None
    digest: str
    quiet_hours: QuietHours | None
    one_per_thread: bool
    since: str | None
    signing_secret: str


class AlertPage(Model):
    """Alerts, the newest first."""

    items: list[SentAlert]
    next_cursor: str | None


class Capabilities(Model):
    """Modes, modules, filters, limits, encoder and version."""

    modes: list[ModeInfo]
    default_mode: str
    shared_parameters: list[Parameter]
    modules: list[ModuleInfo]
    filters: list[str]
    limits: dict[str, int]
    encoder: str
    version: str


class Classified(Model):
    """What a planner makes of a question."""

    capability: str
    matches: bool
    reason: str
    plan: list[str]
    context_key: str | None
    time_range: NamedTime | None


class ContextAnswer(Model):
    """A verdict on an answer, or on an empty page, in words and codes."""

    status: str
    code: str
    summary: str
    reason: str
    grade: str
    evidence: list[EvidenceSentence]
    citations: list[str]
    questions: list[str]
    unsupported: list[str]
    slots: dict[str, Any]


class Coverage(Model):
    """What was searched, over what time, and what of that is unknown."""

    domains: list[Domain]
    sources: list[SearchedSource]
    entries_in_window: int | None
    counted_seconds_ago: float | None = None
    waiting: int | None
    unknown: list[UnknownTime]
    nearest: list[NearMiss]


class Facet(Model):
    """What all that match are counted by: values, or buckets of time."""

    exact: bool
    values: list[FacetValue] | None = None
    more: bool | None = None
    interval: str | None = None
    zone: str | None = None
    buckets: list[FacetBucket] | None = None


class FilterOptions(Model):
    """The commonest values of a field."""

    field: str
    options: list[FilterOption]
    exact: bool


class Job(Model):
    """A submitted or finished search."""

    job_id: str
    state: str
    cancelled: bool
    queue_position: int | None
    created_at: str
    deadline_at: str
    ended_at: str | None
    request: dict[str, Any]
    branches: list[BranchOutcome]
    response: SearchResponse | None
    error: dict[str, Any] | None
    replay: Replay | None = None
    turns: list[TracedTurn] | None = None


class JobAccepted(Model):
    """A search that has not ended yet."""

    job_id: str
    state: str
    deadline_at: str
    links: JobLinks


class JobPage(Model):
    """One's own jobs, the newest first, without their answers."""

    items: list[Job]
    next_cursor: str | None


class JobResults(Model):
    """A page of a job's one ranked window."""

    job_id: str
    state: str
    items: list[SearchHit]
    cut: ResultsCut
    removed: int
    next_cursor: str | None
    error: dict[str, Any] | None


class ModeInfo(Model):
    """One way to search."""

    name: str
    label: str
    description: str
    category: str
    enabled: bool
    deadline_ms: int
    parameters: list[Parameter]


class ModuleInfo(Model):
    """One search module, of ours or of another package."""

    name: str
    description: str
    search_mode: str
    enabled: bool
    needs_embedder: bool
    fallback: str | None
    parameters: list[Parameter]
    arguments: dict[str, Any]


class OverflowHits(Model):
    """Hits beside the page: what was asked for, and not quite so."""

    items: list[SearchHit]
    reason: str
    band: float | None
    nearest: str | None
    time: dict[str, str] | None


class PlainResponse(Model):
    """What was found, and what it says in a few sentences."""

    results: list[PlainResult]
    query: str
    method_used: str
    total_results: int
    synthesis: str | None
    citations: list[str]


class PreviewOut(Model):
    """The alerts that there would have been."""

    would_have_fired: int
    samples: list[PreviewSample]


class QualityAlerts(Model):
    """The alerts of a window, the latest first."""

    items: list[QualityAlertOut]


class QueryPlan(Model):
    """A search's plan, made without searching."""

    query: str
    intent: str
    mode: str
    reasoning: str
    branches: list[str]
    sub_queries: list[str]
    decomposed_by: str | None
    limit: int
    window: int
    deadline_ms: int
    rrf_k: int
    rerank: str
    feedback: float
    domain_weights: dict[str, float]
    branch_weights: dict[str, float]
    weigh_by_best: bool
    context_boosts: dict[str, float]
    time: SearchTime
    entities: list[PlanEntity] | None = None
    terms: list[dict[str, Any]] | None = None
    phrases: list[dict[str, Any]] | None = None
    tsquery: list[dict[str, Any]] | None = None
    opensearch_query: dict[str, Any] | None = None
    engines: list[PlanEngine]
    diagnostics: list[Diagnostic]
    expected_ms: float | None


class Replay(Model):
    """How a search that was asked again compares with the first time."""

    of: str
    same: bool | None
    old_hash: str | None
    new_hash: str | None
    changed: list[Changed]


class SavedSearchOut(Model):
    """A saved search of yours."""

    id: str
    name: str
    request: SavedRequest
    semantic: bool
    similarity_threshold: float | None
    alert: AlertOut
    created_at: str
    updated_at: str


class SavedSearchPage(Model):
    """Your saved searches, the newest first."""

    items: list[SavedSearchOut]
    next_cursor: str | None


class SearchCard(Model):
    """A thing or a thread that the question is about, or that its best hits share."""

    card_id: str
    type: str
    title: str
    aliases: list[str]
    why: str
    score: float
    top_entry_id: str | None
    entry_ids: list[str]
    count: int
    per_month: float | None
    facets: dict[str, dict[str, int]]
    state: str
    first_time: str | None
    last_time: str | None
    lines: list[SearchCardLine]


class SearchResponse(Model):
    """The hits of a search, its branches, its coverage and its freshness."""

    job_id: str | None
    state: str
    query: str
    mode: str
    method_used: str
    search_modes_used: list[str]
    results: list[SearchHit]
    total_candidates: TotalCandidates
    window_complete: bool
    complete: bool
    next_cursor: str | None
    sub_queries: list[str]
    decomposed: bool
    meta: SearchMeta
    time: SearchTime
    time_range_applied: bool
    branches: list[BranchOutcome]
    degraded: bool
    as_of: str | None
    sources_behind: list[dict[str, Any]]
    reasoning: str
    diagnostics: list[Diagnostic]
    timings_ms: dict[str, float]
    search_duration_ms: float
    suppressed: Suppressed
    thresholds_applied: dict[str, float]
    stability_hash: str
    config_hash: str
    replayable: bool
    deterministic: bool
    reranked: bool
    vector_model: str | None
    coverage: Coverage | None
    relaxation: Relaxation | None
    context_answer: ContextAnswer | None
    facets: dict[str, Facet]
    answer: str | None
    answer_source: str | None
    sources: list[str]
    citations: list[Citation]
    citation_mode: str
    synthesis_duration_ms: float
    llm_status: str | None = None
    llm_model: str | None = None
    grounding_score: float | None = None
    hallucinated_citations: int | None = None
    context_truncated: bool | None = None
    plan: dict[str, Any] | None = None
    score_trace: list[dict[str, Any]] | None = None
    hidden_count: int | None = None
    agent: dict[str, Any] | None = None
    overflow: OverflowHits | None = None
    cards: list[SearchCard] | None = None
    total_results: int
    cut: ResultsCut
    degraded_recall: bool


class SearchTime(Model):
    """What the question and the filters say of the time."""

    applied: list[TimeApplied] | None = None
    inferred: bool | None = None


class SimilarEntries(Model):
    """What is like an entry, best first, and by which ways that was told."""

    entry_id: str
    results: list[SearchHit]
    cut: ResultsCut
    total_results: int
    branches: list[BranchOutcome]


class SuggestionsOut(Model):
    """The questions in their order, and what there is to be found by kind."""

    items: list[SuggestionOut]
    coverage: Coverage


class TermOut(Model):
    """A term, and what may be said for it."""

    term: str
    expansions: list[str]
    state: str
    entries: int
    evidence: list[EvidenceOut]


class TermPage(Model):
    """Terms by their letters."""

    items: list[TermOut]
    next_cursor: str | None


class WhyNot(Model):
    """The first gate that an entry did not pass."""

    entry_id: str | None
    returned: bool
    rank: int | None
    gate: str
    value: float | str | None
    limit: float | str | None
    explanation: str
    branches: list[WhyNotBranch]
