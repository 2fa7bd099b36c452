"""What the API tells of the parts of a search, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.client.models.model import Model
from api.client.models.server import *


class AnalyticsOut(Model):
    """How many of these are kept: none where telemetry is off."""

    recorded: int


class BranchOutcome(Model):
    """How one part of a search fared."""

    name: str
    sub_query: str | None = None
    status: str
    reason: str | None
    error_code: str | None
    error_category: str | None
    severity: str | None
    retriable: bool | None
    queued_ms: float
    took_ms: float
    attempts: int
    candidates: int | None
    kept: int | None
    index_watermark: str | None
    as_of: str | None
    fallback_for: str | None


class Changed(Model):
    """An input of a search that is not what it was."""

    input: str
    from_: str | None = Field(alias="from")
    to: str | None


class Domain(Model):
    """One kind of entries that was searched."""

    domain: str
    entries: int | None
    candidates: int
    ready: bool


class EvidenceOut(Model):
    """An entry that you may see, and what it says."""

    expansion: str
    entry_id: str
    source: str
    external_id: str
    quote: str


class EvidenceSentence(Model):
    """A sentence that an answer rests on, and where it stands."""

    entry_id: str
    revision: int
    quote: str
    score: float
    start: int | None
    end: int | None


class FacetBucket(Model):
    """How many of all that match were written from one time to before another."""

    from_: str = Field(alias="from")
    to: str
    count: int


class FacetValue(Model):
    """One value, and how many of all that match have it."""

    value: str
    count: int


class FilterOption(Model):
    """One value, and how many entries that the caller may see have it."""

    value: str
    label: str
    count: int


class JobLinks(Model):
    """Where to look after a job, and where to end it (DELETE)."""

    self_: str = Field(alias="self")
    events: str
    cancel: str


class NamedTime(Model):
    """The time that a question names."""

    from_: str | None = Field(alias="from")
    to: str | None


class NearMiss(Model):
    """An entry that came near, and the gate that kept it out."""

    entry_id: str
    source_uri: str
    source: str
    external_id: str
    title: str
    gate: str
    value: float | None
    limit: float | None


class Parameter(Model):
    """One control of a mode or a module."""

    name: str
    label: str
    type: str
    default: float | str | bool | None
    min: float | None
    max: float | None
    step: float | None
    options: list[str]
    options_endpoint: str | None
    placeholder: str
    section: str


class PlainResult(Model):
    """One entry found."""

    content: str
    source: str
    relevance_score: float
    rank: int
    metadata: dict[str, str]


class PlanEngine(Model):
    """Whom a branch would ask."""

    branch: str
    engine: str
    fallback: str | None
    circuit: str | None


class PlanEntity(Model):
    """A thing that the question names."""

    kind: str
    name: str
    canonical: str
    start: int | None
    end: int | None


class PreviewSample(Model):
    """An entry that would have been told of."""

    entry_id: str
    source: str
    external_id: str
    title: str
    entry_time: str
    matched_by: list[str]


class QualityAlertOut(Model):
    """Something that people run into, by the key of the question."""

    type: str
    query_key: str | None
    count: int
    first_at: str
    last_at: str


class QualityMetrics(Model):
    """How searches fared in a window."""

    fallback_answer_rate: float
    clarify_rate: float
    insufficient_rate: float
    reformulation_count: int
    rescue_action_count: int
    abandoned_fallback_count: int
    zero_result_rate: float
    queries: int


class QuietHours(Model):
    """A time of the facility's day in which nothing is sent."""

    from_: str = Field(alias="from")
    until: str


class Relaxation(Model):
    """What answers the question and is kept out: by a time among its words alone."""

    count_outside: int
    widen_to: dict[str, str | None] | None


class ResultsCut(Model):
    """What was left off because less text was asked for."""

    entries: int
    chars: int


class SavedRequest(Model):
    """What is searched for."""

    query: str
    filters: dict[str, Any]


class SearchCardLine(Model):
    """One thing that a card tells, and the entry that says so."""

    kind: str
    text: str
    time: str
    entry_id: str
    revision: int
    permalink: str
    start: int | None
    end: int | None
    seconds: float | None = None


class SearchHit(Model):
    """One entry found, in its place."""

    entry_id: str | None = None
    chunk_id: str | None = None
    revision: int | None = None
    kind: str | None = None
    category: str | None = None
    title: str | None = None
    content: str | None = None
    source: str | None = None
    external_id: str | None = None
    source_uri: str | None = None
    url: str | None = None
    permalink: str | None = None
    author: str | None = None
    authors: list[str] | None = None
    entry_time: datetime | None = None
    event_time: datetime | None = None
    thread_id: str | None = None
    logbooks: list[str] | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    highlights: list[str] | None = None
    relevance_score: float | None = None
    confidence: str | None = None
    calibration: str | None = None
    rank: int | None = None
    scores: dict[str, float] | None = None
    ranks: dict[str, int] | None = None
    contrib: dict[str, float] | None = None
    factors: dict[str, float] | None = None
    found_by: list[str] | None = None
    multi_source: bool | None = None
    validation_score: float | None = None
    validation: str | None = None
    origin: str | None = None
    source_removed: bool | None = None
    similar_count: int | None = None
    superseded_by: list[OtherValue] | None = None
    replaces: list[OtherValue] | None = None


class SearchMeta(Model):
    """How many entries were found, and what became of them."""

    total_candidates: int | None = None
    returned: int | None = None
    sub_query_count: int | None = None
    validated: int | None = None
    rejected_by_validation: int | None = None


class SearchedSource(Model):
    """How far back and forth a source is complete."""

    source: str
    complete_from: str | None
    complete_to: str | None
    is_whole: bool
    lag_seconds: float | None
    gaps: list[dict[str, Any]]


class SentAlert(Model):
    """An entry that the saved search has found as it came."""

    alert_id: str
    entry_id: str
    at: str
    matched_by: list[str]
    delivered_at: str | None
    attempts: int
    last_error: str | None


class SuggestionOut(Model):
    """What one question would come to."""

    query: str
    viable: bool
    viability_state: str
    scope_ready: bool
    evidence_count: int


class TimeApplied(Model):
    """An interval, from and before, in which every hit was written."""

    from_: str | None = Field(alias="from")
    to: str | None
    zone: str
    expression: str
    confidence: float
    day_ends: str | None = None
    field: str | None = None


class UnknownTime(Model):
    """A time of which it is not known whether there is anything."""

    from_: str | None = Field(alias="from")
    to: str | None
    source: str
    why: str


class WhyNotBranch(Model):
    """What one branch made of an entry."""

    name: str
    gate: str | None
    value: float | None
    limit: float | None
    explanation: str
