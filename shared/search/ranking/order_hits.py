"""The order of a search's hits: of one question, or of several merged into one list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from typing import NamedTuple

from shared.search.jobs.outcome import FACETS, Diagnostic, Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import calibration, factors, fold
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.rank import MISSED, SCORE_DECIMALS, cut, least_score, rank
from shared.search.ranking.ranked_hits import Beyond, Ranked, RankedHits

# The factor of each further sub-query that found an entry, and how many count.
STEP, MOST_STEPS = 1.1, 3
MULTI_SOURCE = "multi_source"


class _Merged(NamedTuple):
    """One entry merged from all sub-queries, and its score, which may be above 1."""

    item: Ranked
    weighed: float


def order_hits(branches: Sequence[Outcome], facts: Facts, plan: Plan) -> RankedHits:
    """Rank the hits of all branches; the order of their arrival does not matter."""
    if not plan.fan_out.sub_queries:
        return rank(branches, facts, plan)
    orders = rank_parts(branches, facts, plan)
    # As many of each part as the search asks for: an entry far down in all of them is
    # no answer.
    runs = [fold.group_runs(order.items) for order in orders]
    tops = [[*chain.from_iterable(one[: plan.limit])] for one in runs]
    least = least_score(plan, by_model=bool(facts.logits) and not plan.ordering.late)
    exact = {hit.entry_id for one in branches if one.exact for hit in one.hits}
    merged = [
        # As in a single question, a hit with the exact name is never cut.
        _raised(one, least or 0.0) if one.entry_id in exact else one
        for one in _by_score(merge(tops, plan.sub_queries), facts, plan)
    ]
    kept, rejected = _validated(merged, facts, plan)
    kept, left_out, suppressed = cut(kept, plan, least)
    share = plan.ordering.source_share
    window = fold.arranged(kept, len(kept), plan.limit, share)
    found = {hit.entry_id for one in branches if one.name != FACETS for hit in one.hits}
    return RankedHits(
        window,
        any(order.reranked for order in orders),
        suppressed,
        tuple(_notes(orders, facts, plan)),
        tuple(left_out[:MISSED]),
        _beyond(orders, runs, window, left_out, rejected, facts, plan.limit),
        found=len(found),
        validated=sum(one.validation_score is not None for one in kept),
        rejected=len(rejected),
        is_short=_leaves_behind(runs, plan.limit, merged),
    )


def rank_parts(
    branches: Sequence[Outcome], facts: Facts, plan: Plan
) -> list[RankedHits]:
    """Return the order of each sub-query's hits, as if it had been asked alone.

    Nothing is cut by its score or its source before all parts are in one list.
    """
    ordering = replace(
        plan.ordering, min_relevance_score=0.0, strict=False, source_share=1.0
    )
    orders = []
    for number in range(len(plan.fan_out.sub_queries)):
        part = replace(plan.of_part(number), ordering=ordering)
        heard = [one for one in branches if one.part == number and one.name != FACETS]
        known = facts.parts[number] if facts.parts else facts
        known = replace(known, logits=facts.logits, unread_because=facts.unread_because)
        orders.append(rank(heard, known, part))
    return orders


def merge(
    parts: Sequence[Sequence[Ranked]], sub_queries: Sequence[str]
) -> list[Ranked]:
    """Return each entry once, with a higher score for each sub-query that found it.

    Parts are gathered by their numbers, so it does not matter which one ended first.
    """
    found: dict[str, dict[int, Ranked]] = {}
    for number, items in enumerate(parts):
        for item in items:
            found.setdefault(item.entry_id, {})[number] = item
    return [_merged(by_part, sub_queries) for by_part in found.values()]


def _leaves_behind(
    parts: Sequence[Sequence[fold.Run]], limit: int, merged: Sequence[Ranked]
) -> bool:
    """Tell whether a hit behind the first of its part came with no other part."""
    known = {one.entry_id for one in merged}
    behind = chain.from_iterable(runs[limit:] for runs in parts)
    return any(item.entry_id not in known for run in behind for item in run)


def _merged(by_part: Mapping[int, Ranked], sub_queries: Sequence[str]) -> Ranked:
    best = max(by_part.values(), key=lambda one: (one.relevance_score, one.rrf))
    boost = STEP ** min(len(by_part) - 1, MOST_STEPS)
    rrf = max(one.rrf for one in by_part.values()) * boost
    ranks: dict[str, int] = {}
    contrib: dict[str, float] = {}
    for one in by_part.values():
        for name, place in one.ranks.items():
            if place < ranks.get(name, place + 1):
                ranks[name], contrib[name] = place, one.contrib[name]
    scores = {
        name: score for one in by_part.values() for name, score in one.scores.items()
    }
    more = {MULTI_SOURCE: boost} if boost > 1 else {}
    return replace(
        best,
        rrf=rrf,
        ranks=ranks,
        contrib=contrib,
        scores={**scores, **best.scores},
        factors={**best.factors, **more},
        sub_queries=tuple(sub_queries[number] for number in sorted(by_part)),
    )


def _by_score(items: Sequence[Ranked], facts: Facts, plan: Plan) -> list[Ranked]:
    """Return the entries by scores on one scale, best first."""
    boosts = [one.factors.get(MULTI_SOURCE, 1.0) for one in items]
    if items and all(one.calibration == "fused_minmax" for one in items):
        # No model or vector weighed the entries, so their places in the lists do.
        raw = [one.fused * factors.product(one.factors) for one in items]
        most = max(one.relevance_score for one in items)
        weighed = calibration.minmax(raw, most)
    else:
        boosted = zip(items, boosts, strict=True)
        weighed = [one.relevance_score * boost for one, boost in boosted]
    pairs = list(zip(items, weighed, strict=True))
    read = {one.entry_id for one in items} & facts.logits.keys()
    # No hit that a model has not read scores more than the least of those it has read.
    most = min((score for one, score in pairs if one.entry_id in read), default=inf)
    scored = [
        _Merged(
            _shown(item, score if item.entry_id in read else min(score, most), plan),
            round(score, SCORE_DECIMALS),
        )
        for item, score in pairs
    ]
    order = sorted(
        scored,
        key=lambda one: (
            bool(read) and one.item.entry_id not in read,
            -one.weighed,
            one.item.kind,
            one.item.chunk_id,
        ),
    )
    return [one.item for one in order]


def _shown(item: Ranked, score: float, plan: Plan) -> Ranked:
    shown = round(calibration.clamped(score), SCORE_DECIMALS)
    # An entry with the exact name was trusted before the merge, and still is.
    named = item.confidence == "high"
    trusted = calibration.confidence(shown, plan.ordering, exact=named)
    return replace(item, relevance_score=shown, confidence=trusted)


def _raised(item: Ranked, least: float) -> Ranked:
    return replace(item, relevance_score=max(item.relevance_score, least))


def _validated(
    items: Sequence[Ranked], facts: Facts, plan: Plan
) -> tuple[list[Ranked], list[Ranked]]:
    """Split entries by whether they are near enough to the whole question.

    An entry that could not be compared is kept.
    """
    threshold = plan.fan_out.threshold
    kept: list[Ranked] = []
    rejected: list[Ranked] = []
    for item in items:
        cosine = facts.validation.get(item.entry_id)
        if threshold is None or cosine is None:
            kept.append(item)
            continue
        compared = replace(item, validation_score=round(cosine, 4))
        (kept if cosine >= threshold else rejected).append(compared)
    return kept, rejected


def _beyond(
    orders: Sequence[RankedHits],
    parts: Sequence[Sequence[fold.Run]],
    window: Sequence[Ranked],
    left_out: Sequence[Ranked],
    rejected: Sequence[Ranked],
    facts: Facts,
    limit: int,
) -> tuple[Beyond, ...]:
    """List the entries found that are in no window, each with the gate it met first.

    What is merged and stands in no window stands behind its like.
    """
    within = {one.entry_id for one in window}
    found: dict[str, Beyond] = {}
    for one in rejected:
        found[one.entry_id] = replace(
            _outside(one), validation_score=one.validation_score
        )
    for place, one in enumerate(left_out, 1):
        found[one.entry_id] = _outside(one, place)
    for first, last in ((0, limit), (limit, None)):
        for runs in parts:
            for place, run in enumerate(runs[first:last], first + 1):
                for one in run:
                    unread = bool(facts.logits) and one.entry_id not in facts.logits
                    beyond = _outside(one, place if first else None, unread=unread)
                    found.setdefault(one.entry_id, beyond)
    for order in orders:
        for behind in order.beyond:
            found.setdefault(behind.entry_id, behind)
    return tuple(one for one in found.values() if one.entry_id not in within)


def _outside(item: Ranked, place: int | None = None, *, unread: bool = False) -> Beyond:
    scored = (item.relevance_score, item.confidence)
    return Beyond(item.entry_id, *scored, place, unread)


def _notes(orders: Sequence[RankedHits], facts: Facts, plan: Plan) -> list[Diagnostic]:
    told = [*dict.fromkeys(note for order in orders for note in order.notes)]
    if plan.fan_out.threshold is not None and facts.unvalidated_because:
        message = (
            f"No hit was compared with the whole question: {facts.unvalidated_because}."
        )
        told.append(
            Diagnostic(
                "warning", "validate", "validation_skipped", message, category="search"
            )
        )
    return told
