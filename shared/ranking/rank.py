"""Rank what the branches found: pure, the same wherever and whenever it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shared.jobs.outcome import Candidate, Outcome
from shared.query.plan import Plan

SCORE_DECIMALS = 12


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

    @property
    def found_by(self) -> list[str]:
        """Name the branches that found it."""
        return list(self.ranks)


def rank(branches: Sequence[Outcome], plan: Plan) -> list[Ranked]:
    """Fuse by reciprocal rank over entries; never sees text, never does I/O."""
    searched = [outcome for outcome in branches if outcome.status in {"ok", "empty"}]
    found: dict[str, dict[str, tuple[int, Candidate]]] = {}
    units = {outcome.name: outcome.unit for outcome in searched}
    for outcome in searched:
        for place, hit in enumerate(best_chunks(outcome.hits), start=1):
            found.setdefault(hit.entry_id, {})[outcome.name] = (place, hit)
    # Rank 1 in every list that was searched is 1.0.
    ceiling = len(searched) / (plan.rrf_k + 1)
    fused = [_fused(hits, units, plan.rrf_k, ceiling) for hits in found.values()]
    fused.sort(key=_order)
    return fused[: plan.window]


def best_chunks(hits: Iterable[Candidate]) -> list[Candidate]:
    """Return one hit an entry, its best, in the total order."""
    best: dict[str, Candidate] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.chunk_id)):
        best.setdefault(hit.entry_id, hit)
    return list(best.values())


def _fused(
    hits: Mapping[str, tuple[int, Candidate]],
    units: Mapping[str, str],
    k: int,
    ceiling: float,
) -> Ranked:
    contrib = {name: 1 / (k + place) for name, (place, _) in hits.items()}
    # Sorted before the sum: in which order branches arrived must not show.
    total = sum(sorted(contrib.values()))
    # A branch that knows the passage names the chunk; lexical hits rank as chunk 0.
    candidates = [hit for _, hit in hits.values()]
    shown = next((hit for hit in candidates if hit.span), candidates[0])
    return Ranked(
        entry_id=shown.entry_id,
        chunk_id=shown.chunk_id,
        kind=shown.kind,
        revision=shown.revision,
        relevance_score=round(min(total / ceiling, 1.0), SCORE_DECIMALS),
        rrf=total,
        ranks={name: place for name, (place, _) in hits.items()},
        contrib=contrib,
        scores={units[name]: hit.score for name, (_, hit) in hits.items()},
        span=shown.span,
    )


def _order(item: Ranked) -> tuple[float, str, str]:
    return -item.relevance_score, item.kind, item.chunk_id
