"""What the API tells of server, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.client.models.model import Model


class CamelBranchOutcome(Model):
    """How one part of a search fared."""

    name: str
    sub_query: str | None = Field(None, alias="subQuery")
    status: str
    reason: str | None
    error_code: str | None = Field(alias="errorCode")
    error_category: str | None = Field(alias="errorCategory")
    severity: str | None
    retriable: bool | None
    queued_ms: float = Field(alias="queuedMs")
    took_ms: float = Field(alias="tookMs")
    attempts: int
    candidates: int | None
    kept: int | None
    index_watermark: str | None = Field(alias="indexWatermark")
    as_of: str | None = Field(alias="asOf")
    fallback_for: str | None = Field(alias="fallbackFor")


class CamelCitation(Model):
    """CamelCitation."""

    label: str
    entry_id: str = Field(alias="entryId")
    revision: int
    source_uri: str = Field(alias="sourceUri")
    permalink: str
    title: str
    quote: str
    changed_since: str | None = Field(None, alias="changedSince")
    removed_at: str | None = Field(None, alias="removedAt")


class CamelContextAnswer(Model):
    """What an answer is worth, or what an empty one means, in words."""

    status: str
    code: str
    summary: str
    reason: str
    grade: str
    evidence: list[CamelEvidenceSentence]
    citations: list[str]
    questions: list[str]
    unsupported: list[str]
    slots: dict[str, Any]


class CamelCoverage(Model):
    """What was searched, over what time, and what of that is unknown."""

    domains: list[CamelDomain]
    sources: list[CamelSearchedSource]
    entries_in_window: int | None = Field(alias="entriesInWindow")
    counted_seconds_ago: float | None = Field(None, alias="countedSecondsAgo")
    waiting: int | None
    unknown: list[CamelUnknownTime]
    nearest: list[CamelNearMiss]


class CamelDiagnostic(Model):
    """CamelDiagnostic."""

    level: str
    source: str
    code: str
    message: str
    category: str


class CamelDomain(Model):
    """One kind of entries that was searched."""

    domain: str
    entries: int | None
    candidates: int
    ready: bool


class CamelEvidenceSentence(Model):
    """A sentence that an answer rests on, and where it stands."""

    entry_id: str = Field(alias="entryId")
    revision: int
    quote: str
    score: float
    start: int | None
    end: int | None


class CamelFacet(Model):
    """What all that match are counted by: values, or buckets of time."""

    exact: bool
    values: list[CamelFacetValue] | None = None
    more: bool | None = None
    interval: str | None = None
    zone: str | None = None
    buckets: list[CamelFacetBucket] | None = None


class CamelFacetBucket(Model):
    """How many of all that match were written from one time to before another."""

    from_: str = Field(alias="from")
    to: str
    count: int


class CamelFacetValue(Model):
    """One value, and how many of all that match have it."""

    value: str
    count: int


class CamelJobAccepted(Model):
    """A search that has not ended yet."""

    job_id: str = Field(alias="jobId")
    state: str
    deadline_at: str = Field(alias="deadlineAt")
    links: CamelJobLinks


class CamelJobLinks(Model):
    """Where to look after a job, and where to end it (DELETE)."""

    self_: str = Field(alias="self")
    events: str
    cancel: str


class CamelNearMiss(Model):
    """An entry that came near, and the gate that kept it out."""

    entry_id: str = Field(alias="entryId")
    source_uri: str = Field(alias="sourceUri")
    source: str
    external_id: str = Field(alias="externalId")
    title: str
    gate: str
    value: float | None
    limit: float | None


class CamelOtherValue(Model):
    """CamelOtherValue."""

    device: str
    parameter: str
    dimension: str
    unit: str
    stated: float
    value: float
    entry_id: str = Field(alias="entryId")
    source: str
    external_id: str = Field(alias="externalId")
    permalink: str
    time: str


class CamelOverflowHits(Model):
    """Hits beside the page: what was asked for, and not quite so."""

    items: list[CamelSearchHit]
    reason: str
    band: float | None
    nearest: str | None
    time: dict[str, str] | None


class CamelQualityAlertOut(Model):
    """Something that people run into, by the key of the question."""

    type: str
    query_key: str | None = Field(alias="queryKey")
    count: int
    first_at: str = Field(alias="firstAt")
    last_at: str = Field(alias="lastAt")


class CamelQualityAlerts(Model):
    """The alerts of a window, the latest first."""

    items: list[CamelQualityAlertOut]


class CamelQualityMetrics(Model):
    """How searches fared in a window."""

    fallback_answer_rate: float = Field(alias="fallbackAnswerRate")
    clarify_rate: float = Field(alias="clarifyRate")
    insufficient_rate: float = Field(alias="insufficientRate")
    reformulation_count: int = Field(alias="reformulationCount")
    rescue_action_count: int = Field(alias="rescueActionCount")
    abandoned_fallback_count: int = Field(alias="abandonedFallbackCount")
    zero_result_rate: float = Field(alias="zeroResultRate")
    queries: int


class CamelRelaxation(Model):
    """What answers the question and is kept out: by a time among its words alone."""

    count_outside: int = Field(alias="countOutside")
    widen_to: dict[str, str | None] | None = Field(alias="widenTo")


class CamelResultsCut(Model):
    """What was left off because less text was asked for."""

    entries: int
    chars: int


class CamelSearchCard(Model):
    """A thing or a thread that the question is about, or that its best hits share."""

    card_id: str = Field(alias="cardId")
    type: str
    title: str
    aliases: list[str]
    why: str
    score: float
    top_entry_id: str | None = Field(alias="topEntryId")
    entry_ids: list[str] = Field(alias="entryIds")
    count: int
    per_month: float | None = Field(alias="perMonth")
    facets: dict[str, dict[str, int]]
    state: str
    first_time: str | None = Field(alias="firstTime")
    last_time: str | None = Field(alias="lastTime")
    lines: list[CamelSearchCardLine]


class CamelSearchCardLine(Model):
    """One thing that a card tells, and the entry that says so."""

    kind: str
    text: str
    time: str
    entry_id: str = Field(alias="entryId")
    revision: int
    permalink: str
    start: int | None
    end: int | None
    seconds: float | None = None


class CamelSearchHit(Model):
    """One entry found, in its place."""

    entry_id: str | None = Field(None, alias="entryId")
    chunk_id: str | None = Field(None, alias="chunkId")
    revision: int | None = None
    kind: str | None = None
    category: str | None = None
    title: str | None = None
    content: str | None = None
    source: str | None = None
    external_id: str | None = Field(None, alias="externalId")
    source_uri: str | None = Field(None, alias="sourceUri")
    url: str | None = None
    permalink: str | None = None
    author: str | None = None
    authors: list[str] | None = None
    entry_time: datetime | None = Field(None, alias="entryTime")
    event_time: datetime | None = Field(None, alias="eventTime")
    thread_id: str | None = Field(None, alias="threadId")
    logbooks: list[str] | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    highlights: list[str] | None = None
    relevance_score: float | None = Field(None, alias="relevanceScore")
    confidence: str | None = None
    calibration: str | None = None
    rank: int | None = None
    scores: dict[str, float] | None = None
    ranks: dict[str, int] | None = None
    contrib: dict[str, float] | None = None
    factors: dict[str, float] | None = None
    found_by: list[str] | None = Field(None, alias="foundBy")
    multi_source: bool | None = Field(None, alias="multiSource")
    validation_score: float | None = Field(None, alias="validationScore")
    validation: str | None = None
    origin: str | None = None
    source_removed: bool | None = Field(None, alias="sourceRemoved")
    similar_count: int | None = Field(None, alias="similarCount")
    superseded_by: list[CamelOtherValue] | None = Field(None, alias="supersededBy")
    replaces: list[CamelOtherValue] | None = None


class CamelSearchResponse(Model):
    """What a search found, what was searched, and how fresh it was."""

    job_id: str | None = Field(alias="jobId")
    state: str
    query: str
    mode: str
    method_used: str = Field(alias="methodUsed")
    search_modes_used: list[str] = Field(alias="searchModesUsed")
    results: list[CamelSearchHit]
    total_candidates: CamelTotalCandidates = Field(alias="totalCandidates")
    window_complete: bool = Field(alias="windowComplete")
    complete: bool
    next_cursor: str | None = Field(alias="nextCursor")
    sub_queries: list[str] = Field(alias="subQueries")
    decomposed: bool
    meta: dict[str, int]
    time: CamelSearchTime
    time_range_applied: bool = Field(alias="timeRangeApplied")
    branches: list[CamelBranchOutcome]
    degraded: bool
    as_of: str | None = Field(alias="asOf")
    sources_behind: list[dict[str, Any]] = Field(alias="sourcesBehind")
    reasoning: str
    diagnostics: list[CamelDiagnostic]
    timings_ms: dict[str, float] = Field(alias="timingsMs")
    search_duration_ms: float = Field(alias="searchDurationMs")
    suppressed: CamelSuppressed
    thresholds_applied: dict[str, float] = Field(alias="thresholdsApplied")
    stability_hash: str = Field(alias="stabilityHash")
    config_hash: str = Field(alias="configHash")
    replayable: bool
    deterministic: bool
    reranked: bool
    vector_model: str | None = Field(alias="vectorModel")
    coverage: CamelCoverage | None
    relaxation: CamelRelaxation | None
    context_answer: CamelContextAnswer | None = Field(alias="contextAnswer")
    facets: dict[str, CamelFacet]
    answer: str | None
    answer_source: str | None = Field(alias="answerSource")
    sources: list[str]
    citations: list[CamelCitation]
    citation_mode: str = Field(alias="citationMode")
    synthesis_duration_ms: float = Field(alias="synthesisDurationMs")
    plan: dict[str, Any] | None = None
    score_trace: list[dict[str, Any]] | None = Field(None, alias="scoreTrace")
    hidden_count: int | None = Field(None, alias="hiddenCount")
    agent: dict[str, Any] | None = None
    overflow: CamelOverflowHits | None = None
    cards: list[CamelSearchCard] | None = None
    total_results: int = Field(alias="totalResults")
    cut: CamelResultsCut


class CamelSearchTime(Model):
    """What the question and the filters say of the time."""

    applied: list[CamelTimeApplied] | None = None
    inferred: bool | None = None


class CamelSearchedSource(Model):
    """How far back and forth a source is complete."""

    source: str
    complete_from: str | None = Field(alias="completeFrom")
    complete_to: str | None = Field(alias="completeTo")
    lag_seconds: float | None = Field(alias="lagSeconds")
    gaps: list[dict[str, Any]]


class CamelSuggestionOut(Model):
    """What one question would come to."""

    query: str
    viable: bool
    viability_state: str = Field(alias="viabilityState")
    scope_ready: bool = Field(alias="scopeReady")
    evidence_count: int = Field(alias="evidenceCount")


class CamelSuggestionsOut(Model):
    """The questions in their order, and what there is to be found by kind."""

    items: list[CamelSuggestionOut]
    coverage: CamelCoverage


class CamelSuppressed(Model):
    """CamelSuppressed."""

    count: int | None = None
    best_score: float | None = Field(None, alias="bestScore")
    threshold: float | None = None


class CamelTimeApplied(Model):
    """An interval, from and before, in which every hit was written."""

    from_: str | None = Field(alias="from")
    to: str | None
    zone: str
    expression: str
    confidence: float
    day_ends: str | None = Field(None, alias="dayEnds")
    field: str | None = None


class CamelTotalCandidates(Model):
    """CamelTotalCandidates."""

    lower_bound: int = Field(alias="lowerBound")
    exact: bool


class CamelUnknownTime(Model):
    """A time of which it is not known whether there is anything."""

    from_: str | None = Field(alias="from")
    to: str | None
    source: str
    why: str


class Citation(Model):
    """An entry that an answer cites, in the revision that was read."""

    label: str
    entry_id: str
    revision: int
    source_uri: str
    permalink: str
    title: str
    quote: str
    changed_since: str | None = None
    removed_at: str | None = None


class Diagnostic(Model):
    """Something about a search that its reader should know."""

    level: str
    source: str
    code: str
    message: str
    category: str


class ErrorBody(Model):
    """The body of every answer that is not a success."""

    error: ErrorInfo


class ErrorInfo(Model):
    """What went wrong, and whether the same request is worth another try."""

    id: str
    code: str
    category: str
    severity: str
    retriable: bool
    message: str
    request_id: str | None
    details: dict[str, Any] | None = None


class OtherValue(Model):
    """A value that an entry states of a device, and another one that another states."""

    device: str
    parameter: str
    dimension: str
    unit: str
    stated: float
    value: float
    entry_id: str
    source: str
    external_id: str
    permalink: str
    time: str


class Suppressed(Model):
    """What was found and left out because its score was too low."""

    count: int | None = None
    best_score: float | None = None
    threshold: float | None = None


class TotalCandidates(Model):
    """How many entries were found at least."""

    lower_bound: int
    exact: bool


class TracedCall(Model):
    """One call of a tool, and how it fared."""

    tool: str
    args: dict[str, Any] | None
    status: str
    results_found: int
    took_ms: float
    repeated: bool
    error_code: str | None


class TracedTurn(Model):
    """One turn: what was called, what it cost, and why none follows."""

    turn: int
    state: str
    tool_calls: list[TracedCall]
    tokens_in: int
    tokens_out: int
    took_ms: float | None
    repeated: int
    exit_reason: str | None
