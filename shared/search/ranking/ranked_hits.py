"""Hits in their places: ids, scores and how they came about, never text."""

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
    # The entry's place by branch name.
    ranks: dict[str, int]
    contrib: dict[str, float]
    # Raw scores by unit: bm25, ts_rank, cosine.
    scores: dict[str, float]
    span: tuple[int, int] | None
    # A ranking that an older release has stored lacks the fields below.
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
    # For a question of several parts: the sub-queries that found the entry, and its
    # cosine to the whole question; None: nobody compared.
    sub_queries: tuple[str, ...] = ()
    validation_score: float | None = None

    @property
    def found_by(self) -> list[str]:
        """Name the sub-queries that found the entry; without any, the branches."""
        return list(self.sub_queries or self.ranks)


@dataclass(frozen=True, slots=True)
class Beyond:
    """An entry that was found and is in no window, with what kept it out."""

    entry_id: str
    relevance_score: float
    confidence: Confidence
    # Its place behind the window, or among all hits where its score cut it; None: its
    # like stand in the window for it.
    place: int | None = None
    # Whether a model has read other hits and not this one.
    unread: bool = False
    # Its cosine to the whole question, where it was too low.
    validation_score: float | None = None


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What was found and left out because its score was too low."""

    count: int = 0
    best_score: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits, best first, and how they came to be in this order."""

    items: tuple[Ranked, ...] = ()
    reranked: bool = False
    suppressed: Suppressed = Suppressed()
    notes: tuple[Diagnostic, ...] = ()
    # The best of the hits that were left out.
    missed: tuple[Ranked, ...] = ()
    # All other entries that were found; empty for a list by time.
    beyond: tuple[Beyond, ...] = ()
    # For a question of several parts: how many entries were found, how many of them
    # were compared with the whole question and kept, and how many were left out.
    found: int = 0
    validated: int = 0
    rejected: int = 0
    # Whether a part had more hits than are merged: no page goes on to them.
    is_short: bool = False
