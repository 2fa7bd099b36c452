"""Rank what the branches found: pure, the same wherever and whenever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shared.jobs.outcome import FACETS, Diagnostic, Outcome
from shared.query.plan import Plan
from shared.ranking import calibration, factors, fold, fusion
from shared.ranking.calibration import Calibration, Confidence
from shared.ranking.facts import Facts, Kin
from shared.ranking.fusion import Fused
from shared.ranking.ranked import Order, Ranked, Suppressed
from shared.ranking.rerank import COSINE, linear

SCORE_DECIMALS = 12
# Of what scores too low, so many are remembered.
MISSED = 3


class _Scored(NamedTuple):
    """Every hit's score before factors and after them, by the named map."""

    before: list[float]
    # Not clamped yet: of two beyond 1 the better one still comes first.
    after: list[float]
    map: Calibration
    factors: list[dict[str, float]]


def rank(branches: Sequence[Outcome], facts: Facts, plan: Plan) -> Order:
    """Fuse, rerank, calibrate and cut; never sees text, never does I/O."""
    searched = [
        outcome
        for outcome in branches
        if outcome.status in {"ok", "empty"} and outcome.name != FACETS
    ]
    ordering = plan.ordering
    fused = fusion.fuse(searched, plan.rrf_k, ordering.branch_weights)
    wanted = ordering.rerank and len(plan.searching) > 1
    reranked = wanted and facts.in_time and any(one.vector for one in searched)
    scored = _scored(fused, searched, facts, plan, reranked=reranked)
    exact = {one.name for one in searched if one.exact}
    shown = [hit.shown for hit in fused]
    places = sorted(
        range(len(fused)),
        key=lambda n: (
            -round(scored.after[n], SCORE_DECIMALS),
            shown[n].kind,
            shown[n].chunk_id,
        ),
    )
    items = [_ranked(fused[n], scored, n, facts, plan, exact=exact) for n in places]
    kept, left_out, suppressed = _cut(items, plan)
    notes = _notes(facts, reranked=reranked, wanted=wanted) if fused else ()
    # A list by time leaves nobody's entries for later.
    share = 1.0 if plan.is_listing else ordering.source_share
    window = fold.arranged(kept, plan.window, plan.limit, share)
    return Order(window, reranked, suppressed, notes, tuple(left_out[:MISSED]))


def _scored(
    fused: Sequence[Fused],
    searched: Sequence[Outcome],
    facts: Facts,
    plan: Plan,
    *,
    reranked: bool,
) -> _Scored:
    if plan.is_listing:
        # A list by time: nothing is weighed.
        places = [hit.rrf * (plan.rrf_k + 1) for hit in fused]
        return _Scored(places, places, "none", [{} for _ in fused])
    named: Calibration
    model = next((one.model for one in searched if one.model), None)
    if reranked:
        before, named = linear(fused, facts.cosines), "linear_map"
    elif len(plan.searching) == 1 and searched:
        named = calibration.MAP_OF_UNIT[searched[-1].unit]
        before = _alone(fused, model)
    else:
        before, named = [hit.rrf for hit in fused], "fused_minmax"
    found = factors.of_all(fused, before, facts.kin, plan.ordering)
    after = [
        score * factors.product(one) for score, one in zip(before, found, strict=True)
    ]
    if named == "fused_minmax":
        tops = (
            calibration.of_branch(s, u, model)
            for hit in fused
            for u, s in hit.scores.items()
        )
        after = calibration.minmax(after, max(tops, default=0.0))
    return _Scored(before, after, named, found)


def _alone(fused: Sequence[Fused], model: str | None) -> list[float]:
    """Return the calibrated scores of the one branch that was planned."""
    return [
        max(calibration.of_branch(s, unit, model) for unit, s in hit.scores.items())
        for hit in fused
    ]


def _ranked(
    hit: Fused,
    scored: _Scored,
    number: int,
    facts: Facts,
    plan: Plan,
    *,
    exact: set[str],
) -> Ranked:
    shown = hit.shown
    score = round(calibration.clamped(scored.after[number]), SCORE_DECIMALS)
    kin = facts.kin.get(shown.entry_id, Kin())
    cosine = facts.cosines.get(shown.entry_id)
    scores = hit.scores if cosine is None else {COSINE: cosine, **hit.scores}
    trusted: Confidence = "none"
    if scored.map != "none":
        named = not exact.isdisjoint(hit.hits)
        trusted = calibration.confidence(score, plan.ordering, exact=named)
    return Ranked(
        entry_id=shown.entry_id,
        chunk_id=shown.chunk_id,
        kind=shown.kind,
        revision=shown.revision,
        relevance_score=score,
        rrf=hit.rrf,
        ranks=hit.ranks,
        contrib=hit.contrib,
        scores=scores,
        span=shown.span,
        source=shown.source,
        calibration=scored.map,
        confidence=trusted,
        factors=scored.factors[number],
        fused=scored.before[number],
        group_id=kin.group_id,
        series_id=kin.series_id,
    )


def _cut(
    items: Sequence[Ranked], plan: Plan
) -> tuple[list[Ranked], list[Ranked], Suppressed]:
    """Leave out what scores too low, and what strictness does not trust enough."""
    ordering = plan.ordering
    least = ordering.min_relevance_score
    if plan.is_listing or (least is None and not ordering.strict):
        return list(items), [], Suppressed()
    kept: list[Ranked] = []
    left_out: list[Ranked] = []
    for item in items:
        too_low = least is not None and item.relevance_score < least
        doubtful = ordering.strict and item.confidence in {"low", "none"}
        (left_out if too_low or doubtful else kept).append(item)
    strict_at = ordering.medium if ordering.strict else 0.0
    suppressed = Suppressed(
        len(left_out),
        max((item.relevance_score for item in left_out), default=None),
        max(least or 0.0, strict_at),
    )
    return kept, left_out, suppressed


def _notes(facts: Facts, *, reranked: bool, wanted: bool) -> tuple[Diagnostic, ...]:
    """Say what this order lacks, and why; equal questions may differ by that alone."""
    if wanted and not reranked:
        why = (
            "the question has no vector"
            if facts.in_time
            else "what it takes could not be read in time"
        )
        code, said = "rerank_skipped", f"Results stand in fused order: {why}."
    elif not facts.in_time:
        code = "facts_skipped"
        said = "Threads, copies and series could not be read in time: none are weighed."
    else:
        return ()
    return (Diagnostic("info", "rank", code, said, category="search"),)
