"""Ranks the hits of all branches: pure, so the same wherever and whenever it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from shared.search.jobs.outcome import FACETS, Diagnostic, Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import calibration, factors, fold, fusion, linear_rerank
from shared.search.ranking.calibration import Calibration, Confidence
from shared.search.ranking.candidate_facts import Facts, Kin
from shared.search.ranking.fold import list_hits_behind_window
from shared.search.ranking.fusion import Fused
from shared.search.ranking.ranked_hits import Beyond, Ranked, RankedHits, Suppressed

SCORE_DECIMALS = 12
# Units of a model's scores: of a cross-encoder, and of one that compares pieces.
LOGIT, LIKENESS = "rerank_logit", "late_interaction"
# Maps to scores from 0 to 1, which can be averaged with a likeness; sums of places
# cannot.
SHARED_SCALES = frozenset({"linear_map", "cosine_map", "bm25_saturating"})
# How many of the hits with too low a score are remembered.
MISSED = 3
_ALONE = Kin()


class _Scored(NamedTuple):
    """Every hit's score before factors and after them, by the named map."""

    before: list[float]
    # Not clamped: of two scores above 1 the better one still comes first.
    after: list[float]
    map: Calibration
    factors: list[dict[str, float]]
    # The cosine to the moved question by entry, where the question was moved.
    moved: Mapping[str, float] = {}
    # The model of the cosines, which has a map of its own.
    model: str | None = None
    is_listed: bool = False
    # The best score by words, where every hit has them all.
    whole: float | None = None

    def shown(self, number: int, *, by_model: bool) -> float:
        """Return the shown score of a hit, 0 to 1, not above that of one before it."""
        if self.is_listed:
            return 1.0
        # Rounded as it is where it decides the order.
        after = round(self.after[number], SCORE_DECIMALS)
        if self.map == "linear_map" and not by_model:
            return calibration.of_linear(after, self.model)
        if self.whole is not None and not by_model:
            after = calibration.of_whole(after, self.whole)
        return calibration.clamped(after)


def rank(branches: Sequence[Outcome], facts: Facts, plan: Plan) -> RankedHits:
    """Fuse, rerank, calibrate and cut the hits; it reads no text and does no I/O."""
    searched = [
        outcome
        for outcome in branches
        if outcome.status in {"ok", "empty"} and outcome.name != FACETS
    ]
    ordering = plan.ordering
    fused = fusion.fuse(searched, plan.rrf_k, fusion.weights(searched, ordering))
    wanted = ordering.rerank and len(plan.searching) > 1
    reranked = wanted and facts.in_time and any(one.vector for one in searched)
    scored = _scored(fused, searched, facts, plan, reranked=reranked)
    if ordering.late and scored.map not in SHARED_SCALES:
        facts = replace(facts, logits={})
    read = [hit.shown.entry_id in facts.logits for hit in fused]
    if any(read) and ordering.late:
        scored = _by_pieces(scored, fused, facts)
    elif any(read):
        scored = _by_model(scored, fused, facts, ordering.temperature)
    exact = {one.name for one in searched if one.exact}
    meant = {entry_id for one in searched for entry_id in one.meant}
    shown = [hit.shown for hit in fused]
    places = sorted(
        range(len(fused)),
        key=lambda n: (
            # Whoever asks for an entry by its number wants that entry first.
            shown[n].entry_id not in meant,
            # Hits that a model has read stand before all others.
            not read[n],
            -round(scored.after[n], SCORE_DECIMALS),
            shown[n].kind,
            shown[n].chunk_id,
        ),
    )
    # Other hits keep their order behind them, with no score above the least of those.
    by_model = any(read) and not ordering.late
    most = (scored.shown(n, by_model=by_model) for n in places if read[n])
    lowest = min(most, default=1.0)
    least = least_score(plan, by_model=by_model)
    items = [
        _ranked(fused[n], scored, n, facts, plan, exact=exact, most=lowest, least=least)
        for n in places
    ]
    items = [_first(one) if one.entry_id in meant else one for one in items]
    kept, left_out, suppressed = cut(items, plan, least)
    notes = _notes(facts, reranked=reranked, wanted=wanted) if fused else ()
    # A list by time postpones no source's entries.
    share = 1.0 if plan.is_listing else ordering.source_share
    runs = fold.group_runs(fold.arranged(kept, len(kept), plan.limit, share))
    window = tuple(chain.from_iterable(runs[: plan.window]))
    behind: tuple[Beyond, ...] = ()
    if not plan.is_listing and len(window) < len(items):
        behind = list_hits_behind_window(
            items, left_out, runs, plan.window, facts.logits.keys()
        )
    by_any = reranked or any(read)
    return RankedHits(
        window, by_any, suppressed, notes, tuple(left_out[:MISSED]), behind
    )


def _scored(
    fused: Sequence[Fused],
    searched: Sequence[Outcome],
    facts: Facts,
    plan: Plan,
    *,
    reranked: bool,
) -> _Scored:
    """Score by words and meaning, by the only unit, or by places; then by factors."""
    if plan.is_listing:
        # In a list by time nothing is weighed: each hit matches in full.
        places = [fusion.count_first_places(hit.rrf, plan.rrf_k) for hit in fused]
        return _Scored(places, places, "none", [{} for _ in fused], is_listed=True)
    named: Calibration
    halves = {
        one.unit: calibration.half_of(one, plan.ordering.saturation) for one in searched
    }
    model = next((one.model for one in searched if one.model), None)
    moved: Mapping[str, float] = {}
    whole: float | None = None
    if reranked:
        moved = linear_rerank.shift_to_old_maximum(fused, facts.cosines, facts.moved)
        before = linear_rerank.linear(fused, facts.cosines, moved, model=model)
        named = "linear_map"
    elif searched and (unit := _only_unit(plan, searched)):
        named = calibration.MAP_OF_UNIT.get(unit, "none")
        before = [
            max(
                calibration.of_branch(s, unit, model, halves[unit])
                for unit, s in hit.scores.items()
            )
            for hit in fused
        ]
        if all(one.whole for one in searched if one.hits):
            # An entry that was asked for by its number alone has no score by words.
            whole = max(before, default=0.0) or None
    else:
        before, named = [hit.rrf for hit in fused], "fused_minmax"
    found = factors.of_all(fused, before, facts, plan.ordering)
    after = [
        score * factors.product(one) for score, one in zip(before, found, strict=True)
    ]
    if named == "fused_minmax":
        tops = (
            calibration.of_branch(s, u, model, halves[u])
            for hit in fused
            for u, s in hit.scores.items()
        )
        after = calibration.minmax(after, max(tops, default=0.0))
    return _Scored(before, after, named, found, moved, model, whole=whole)


def _by_model(
    scored: _Scored, fused: Sequence[Fused], facts: Facts, temperature: float
) -> _Scored:
    """Replace the scores of hits that a cross-encoder has read by its own."""
    before, after = list(scored.before), list(scored.after)
    for number, hit in enumerate(fused):
        logit = facts.logits.get(hit.shown.entry_id)
        if logit is not None:
            before[number] = calibration.sigmoid(logit, temperature)
            after[number] = before[number] * factors.product(scored.factors[number])
    return scored._replace(before=before, after=after)


def _by_pieces(scored: _Scored, fused: Sequence[Fused], facts: Facts) -> _Scored:
    """Average the scores with the likeness of each text that was compared by pieces.

    Any two texts are somewhat alike, so likenesses are scaled: the highest counts as
    much as the best score.
    """
    before, after = list(scored.before), list(scored.after)
    read = {
        number: facts.logits[hit.shown.entry_id]
        for number, hit in enumerate(fused)
        if hit.shown.entry_id in facts.logits
    }
    shift = max(read.values()) - max(before[number] for number in read)
    for number, likeness in read.items():
        half = (before[number] + likeness - shift) / 2
        weight = factors.product(scored.factors[number])
        before[number] = half
        # A weight below 1 moves a hit down below 0 as well, where the unlikest are.
        after[number] = half * weight if half > 0 else half / weight
    return scored._replace(before=before, after=after)


def _only_unit(plan: Plan, searched: Sequence[Outcome]) -> str | None:
    """Return the unit of all scores, where one branch found the hits; else None."""
    if len(plan.searching) == 1:
        return searched[-1].unit
    units = {one.unit for one in searched if one.hits}
    return units.pop() if len(units) == 1 else None


def _ranked(
    hit: Fused,
    scored: _Scored,
    number: int,
    facts: Facts,
    plan: Plan,
    *,
    exact: set[str],
    most: float,
    least: float | None,
) -> Ranked:
    shown = hit.shown
    logit = facts.logits.get(shown.entry_id)
    late = plan.ordering.late
    score = scored.shown(number, by_model=logit is not None and not late)
    score = round(score if logit is not None else min(score, most), SCORE_DECIMALS)
    kin = facts.kin.get(shown.entry_id, _ALONE)
    cosine = facts.cosines.get(shown.entry_id)
    scores = (
        hit.scores if cosine is None else {linear_rerank.COSINE: cosine, **hit.scores}
    )
    if shown.entry_id in scored.moved:
        scores = {**scores, linear_rerank.MOVED: scored.moved[shown.entry_id]}
    if logit is not None:
        scores = {**scores, LIKENESS if late else LOGIT: logit}
    trusted: Confidence = "none"
    listed = plan.is_listing
    if not listed:
        named = not exact.isdisjoint(hit.hits)
        if named:
            # A hit with the exact name is never cut, and no hit before it scores less.
            score = max(score, least or 0.0)
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
        calibration=scored.map if logit is None or late else "rerank_sigmoid",
        confidence=trusted,
        factors=scored.factors[number],
        fused=scored.before[number],
        # A list by time leaves out no copies.
        group_id=None if listed else kin.group_id,
        series_id=None if listed else kin.series_id,
        thread_id=kin.thread_id if plan.detail.by_thread else None,
    )


def _first(item: Ranked) -> Ranked:
    """Return an entry that was asked for by its number, with the full score of 1."""
    return replace(item, relevance_score=1.0, calibration="none", confidence="high")


def least_score(plan: Plan, *, by_model: bool) -> float | None:
    """Return the least score that a hit must have; None: any score will do."""
    least = plan.ordering.min_relevance_score
    if by_model and least is None:
        return plan.ordering.least_by_model
    return least


def cut(
    items: Sequence[Ranked], plan: Plan, least: float | None
) -> tuple[list[Ranked], list[Ranked], Suppressed]:
    """Leave out hits that score too low, and doubtful ones where ranking is strict."""
    ordering = plan.ordering
    if plan.is_listing or (least is None and not ordering.strict):
        # All hits of a list by time score 1.
        return list(items), [], Suppressed(threshold=least)
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
    """Note what could not be used for this order, and why.

    Two answers to the same question may differ by that alone.
    """
    if facts.unread_because:
        said = f"No model has read the results: {facts.unread_because}."
        code = "rerank_skipped"
    elif wanted and not reranked:
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
