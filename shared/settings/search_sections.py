"""The sections of `logchord.yaml` that say how hits are found and put in order.

The k of fusion, and how many candidates and terms there are, stand in `settings.py`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from shared.entry_fields import Kind
from shared.settings.sections import Section

MAX_WEIGHT = 10


class SearchSettings(Section):
    """Defaults of a search that names none of its own."""

    default_method: Literal["vector", "keyword", "hybrid"] = "hybrid"
    """Method of `POST /search` when none is named."""
    min_relevance_score: float = Field(0.5, ge=0, le=1)
    """Calibrated score below which `POST /search` cuts; elsewhere only after a
    cross-encoder."""
    source_share: float = Field(0.8, gt=0, le=1)
    """Largest share of a page for one source while others have hits; 1: all."""
    max_exports: int = Field(2, ge=1)
    """Exports at once in one API process; more get 429."""
    share_per_key: float = Field(0.8, gt=0, le=1)
    """Largest share of searches, of waiting ones and of exports for one key; 1: all."""
    acl_honesty: bool = False
    """Tell callers how many entries match that they may not see."""
    confidence_high: float = Field(0.8, ge=0, le=1)
    """Calibrated score of `high` confidence."""
    confidence_medium: float = Field(0.5, ge=0, le=1)
    """Calibrated score of `medium` confidence; `strict` leaves out what has less."""
    confidence_low: float = Field(0.25, ge=0, le=1)
    """Calibrated score of `low` confidence."""

    @model_validator(mode="after")
    def _descending(self) -> Self:
        steps = (self.confidence_low, self.confidence_medium, self.confidence_high)
        if list(steps) != sorted(steps):
            raise ValueError("confidence_low, _medium and _high must not descend")
        return self


class KeywordSettings(Section):
    """How words are matched."""

    algorithm: Literal["bm25"] = "bm25"
    """How OpenSearch scores words."""
    operator: Literal["and", "or"] = "or"
    """How plain words are joined beside another branch, and in `POST /search`; `and`:
    any word is enough only where no entry has all of them."""
    fuzzy: bool = True
    """Whether a word that no entry has is taken for those spelt nearly so, where
    nothing else is found."""
    fuzzy_threshold: float = Field(0.3, ge=0, le=1)
    """Trigram similarity that admits a misspelling."""


class FusionSettings(Section):
    """How the branches of a search become one list."""

    method: Literal["rrf"] = Field("rrf", description="Reciprocal rank fusion.")
    weights: dict[str, float] = Field({})
    """A module's weight where no hit is reranked; 1, of evidence .5."""
    weigh_by_best: bool = False
    """There, a list weighs as much as its best hit scores, too."""

    @field_validator("weights")
    @classmethod
    def _within(cls, value: dict[str, float]) -> dict[str, float]:
        if not all(0 <= weight <= MAX_WEIGHT for weight in value.values()):
            raise ValueError(f"a weight is 0 to {MAX_WEIGHT}")
        return value


class RerankingSettings(Section):
    """The second look at the fused list: each hit weighed, or read by a model."""

    enabled: bool = Field(default=True, description="Off: hits keep the fused order.")
    feedback: float = Field(0.4, ge=0, le=1)
    """How far a question's vector moves towards the mean of its first three hits before
    all are weighed; 0: not at all."""
    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    """The cross-encoder: a folder (`onnx:/path`), or `PROVIDER:NAME` of
    `api.providers`; `late`: late interaction, by all-MiniLM-L6-v2; what is none of
    these is not installed."""
    window: int = Field(50, ge=1, le=200)
    """So many of the best are read by the model."""
    temperature: float = Field(1.0, gt=0, le=100)
    """T of its scores: sigmoid(logit / T) is shown."""
    timeout_ms: int = Field(1000, ge=10, le=60_000)
    """The model's time; of the deadline a part."""
    endpoint_scores: Literal["probability", "logit"] = "probability"
    """What an endpoint's `relevance_score` is."""


class AgenticSettings(Section):
    """The rule-based agentic search."""

    validation_threshold: float = Field(0.25, ge=0, le=1)
    """Cosine to the whole question that is kept."""


class WeightingSettings(Section):
    """Factors of a hit's score; 1 changes nothing."""

    domain: float = Field(1.0, ge=0.5, le=1.5)
    """Of a domain that the words ask for."""
    intent: float = Field(1.0, ge=0.5, le=1.5)
    """Of a domain that fits the intent: incidents for `why`."""
    entity: float = Field(1.2, ge=0.5, le=1.5)
    """Names a thing that the question names."""
    role: float = Field(1.0, ge=0.5, le=1.5)
    """Of a domain of the caller's groups, by `role_domains`."""
    machine: float = Field(0.7, ge=0.5, le=1.5, description="Written by a machine.")
    scope: float = Field(1.2, ge=0.5, le=1.5)
    """Within the `scope` of the page that asks."""
    session: float = Field(1.1, ge=0.5, le=1.5)
    """Names what the session asked before, or what the page shows."""


class FederationSettings(Section):
    """Other back-ends as branches of a search."""

    enabled: bool = Field(default=False, description="Ask them at all.")


class GravityBoostSettings(Section):
    """The pull of strong neighbours in threads and device graph."""

    enabled: bool = Field(default=True, description="Apply it.")
    max_factor: float = Field(1.2, ge=1, le=1.5, description="At most.")


class FreshnessSettings(Section):
    """How much the age of an entry lowers its score."""

    half_life_days: dict[Kind, Annotated[float, Field(gt=0)]] = Field({})
    """By domain: an entry so old counts 0.75, a very old one 0.5; none given: age costs
    nothing."""


class OverflowSettings(Section):
    """Which hits beyond the `scope` of a page are shown beside it."""

    band: float = Field(0.05, ge=0, le=1)
    """Those that score so near to the best within the scope, relative to it."""
    clear_lead: float = Field(0.15, ge=0, le=1)
    """None where the best within the scope leads by so much."""


class IngestionSettings(Section):
    """What unified search takes in."""

    enabled: bool = Field(default=True, description="Take in new entries.")


class UnifiedSearchSettings(Section):
    """Search over all kinds of entries at once."""

    enabled: bool = Field(default=True, description="Off: its routes answer 422.")
    base_domain_weights: dict[Kind, float] = Field({})
    """Factor of a domain's hits; 1.0 where none is given."""
    role_domains: dict[str, list[Kind]] = Field({})
    """By group of a key: the domains that its callers work with."""
    weighting: WeightingSettings = WeightingSettings()
    federation: FederationSettings = FederationSettings()
    gravity_boost: GravityBoostSettings = GravityBoostSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    overflow: OverflowSettings = OverflowSettings()
    ingestion: IngestionSettings = IngestionSettings()
