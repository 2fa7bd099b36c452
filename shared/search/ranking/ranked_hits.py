"""Hits in their places: ids, scores and how they came about, never text."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.search.jobs.outcome import Diagnostic
from shared.search.ranking.calibration import Calibration, Confidence


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry in its place, with what each branch contributed."""

    entry_id: str
    chunk_id: str
    kind: str
    revision: int
    relevance_score: float
    rrf: float
    # By branch name.
    ranks: dict[str, int]
    contrib: dict[str, float]
    # By unit: bm25, ts_rank, cosine.
    scores: dict[str, float]
    span: tuple[int, int] | None
    # Below here: absent in what an older release has stored.
    source: str = ""
    calibration: Calibration = "none"
    confidence: Confidence = "none"
    factors: dict[str, float] = field(default_factory=dict)
    # The score that the factors multiply, before it is calibrated.
    fused: float = 0.0
    group_id: str | None = None
    series_id: str | None = None
    # Only where threads are shown by one entry each.
    thread_id: str | None = None
    # Of a question of several parts: which of them found it, and its cosine to the
    # whole; None: nobody compared.
    sub_queries: tuple[str, ...] = ()
    validation_score: float | None = None

    @property
    def found_by(self) -> list[str]:
        """Name the sub-queries that found it; of a single one, the branches."""
        return list(self.sub_queries or self.ranks)


@dataclass(frozen=True, slots=True)
class Beyond:
    """One entry that was found and stands in no window: what kept it out of it."""

    entry_id: str
    relevance_score: float
    confidence: Confidence
    # Behind the window, or among all where its score left it out; None: its like stand
    # in the window for it.
    place: int | None = None
    # Whether a model has read others, and not this one.
    unread: bool = False
    # Its cosine to the whole question, where that left it out.
    validation_score: float | None = None


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What was found and left out because its score was too low."""

    count: int = 0
    best_score: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """Hits, best first, and how they came to stand so."""

    items: tuple[Ranked, ...] = ()
    reranked: bool = False
    suppressed: Suppressed = Suppressed()
    notes: tuple[Diagnostic, ...] = ()
    # The best of what was left out.
    missed: tuple[Ranked, ...] = ()
    # Everything else that was found; nothing of a list by time.
    beyond: tuple[Beyond, ...] = ()
    # Of several parts: entries found at all, those compared with the whole question and
    # kept, and those left out.
    found: int = 0
    validated: int = 0
    rejected: int = 0
