"""Reciprocal rank fusion over entries, each by every branch's best chunk."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.modes import EVIDENCE
from shared.search.query.ordering import Ordering
from shared.search.ranking import calibration

# A module of evidence supports a hit, and counts less than a match.
_SHIPPED = dict.fromkeys(EVIDENCE, 0.5)


class Fused(NamedTuple):
    """One entry, with its place and its best chunk in each branch."""

    # The best chunk by branch name, in the order of the plan.
    hits: Mapping[str, Candidate]
    ranks: dict[str, int]
    contrib: dict[str, float]
    # Raw scores by unit: bm25, ts_rank, cosine.
    scores: dict[str, float]
    rrf: float
    # The chunk of a branch that knows the passage; lexical hits rank as chunk 0.
    shown: Candidate


def rrf_contrib(place: int, k: int = 60, weight: float = 1.0) -> float:
    """Return the contribution of a place in one list; places count from 1."""
    return weight / (k + place)


def count_first_places(rrf: float, k: int) -> float:
    """Return a sum of contributions in first places: the first of one list is 1."""
    return rrf * (k + 1)


def weights(branches: Sequence[Outcome], ordering: Ordering) -> dict[str, float]:
    """Return the weight of each list; if so set, times the worth of its best hit.

    The worth is no share of the other lists' worth, so no list loses by what another
    one finds.
    """
    given = {
        one.name: ordering.branch_weights.get(one.name, _SHIPPED.get(one.name, 1.0))
        for one in branches
    }
    if not ordering.weigh_by_best or len(branches) == 1:
        return given
    return {one.name: given[one.name] * _best(one, ordering) for one in branches}


def fuse(
    branches: Sequence[Outcome], k: int, weights: Mapping[str, float]
) -> list[Fused]:
    """Return every entry that a branch found, once, with its fused score; unordered."""
    found: dict[str, dict[str, tuple[int, Candidate]]] = {}
    units = {outcome.name: outcome.unit for outcome in branches}
    # Sorted by name, for the order in which branches arrived must not show.
    for outcome in sorted(branches, key=lambda outcome: outcome.name):
        for place, hit in enumerate(best_chunks(outcome.hits), start=1):
            found.setdefault(hit.entry_id, {})[outcome.name] = (place, hit)
    fused = []
    for places in found.values():
        hits: dict[str, Candidate] = {}
        ranks: dict[str, int] = {}
        contrib: dict[str, float] = {}
        scores: dict[str, float] = {}
        _, shown = next(iter(places.values()))
        for name, (place, hit) in places.items():
            hits[name], ranks[name] = hit, place
            contrib[name] = rrf_contrib(place, k, weights.get(name, 1.0))
            scores[units[name]] = hit.score
            if hit.span and not shown.span:
                shown = hit
        # `fsum` is exact, so equal places add up alike in whichever lists they are.
        rrf = fsum(contrib.values())
        fused.append(Fused(hits, ranks, contrib, scores, rrf, shown))
    return fused


def best_first(fused: Sequence[Fused], scores: Sequence[float]) -> list[int]:
    """Return the numbers of hits by their scores; equal ones in one order."""
    return sorted(
        range(len(fused)),
        key=lambda n: (-scores[n], fused[n].shown.kind, fused[n].shown.chunk_id),
    )


def _best(branch: Outcome, ordering: Ordering) -> float:
    scores = (hit.score for hit in branch.hits)
    most = max(scores, default=0.0)
    half = calibration.half_of(branch, ordering.saturation)
    return calibration.of_branch(most, branch.unit, branch.model, half)


def best_chunks(hits: Iterable[Candidate]) -> list[Candidate]:
    """Return the best hit of each entry, sorted by score, kind and chunk id."""
    best: dict[str, Candidate] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.chunk_id)):
        best.setdefault(hit.entry_id, hit)
    return list(best.values())
