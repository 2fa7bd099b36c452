"""What makes a final score larger or smaller, each by a name that the answer shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from shared.query.ordering import Ordering
from shared.ranking.facts import Kin
from shared.ranking.fusion import Fused

LEAST, MOST = 0.5, 1.5
LEAST_PRODUCT, MOST_PRODUCT = 0.5, 2.0
# How many of the best pull at what is linked to them.
STRONG = 10
_ALONE = Kin()


def product(factors: Mapping[str, float]) -> float:
    """Return all of them as one, within its bounds."""
    # In one order: the last digit of a product depends on it.
    total = prod(factors[name] for name in sorted(factors))
    return min(MOST_PRODUCT, max(LEAST_PRODUCT, total))


def of_all(
    fused: Sequence[Fused],
    scores: Sequence[float],
    kin: Mapping[str, Kin],
    ordering: Ordering,
) -> list[dict[str, float]]:
    """Return the factors of each hit that are not 1; scores are those before them."""
    pulls = _pulls(fused, scores, kin, ordering.gravity_factor)
    return [
        {
            name: factor
            for name, factor in (
                ("origin", _origin(hit, ordering)),
                ("domain_weight", _domain(hit, ordering)),
                ("scope", _scope(hit, kin, ordering)),
                ("graph_gravity", pull),
            )
            if factor != 1.0
        }
        for hit, pull in zip(fused, pulls, strict=True)
    ]


def _origin(hit: Fused, ordering: Ordering) -> float:
    return _bounded(ordering.machine_factor) if hit.shown.origin == "machine" else 1.0


def _domain(hit: Fused, ordering: Ordering) -> float:
    return _bounded(ordering.domain_weights.get(hit.shown.kind, 1.0))


def _scope(hit: Fused, kin: Mapping[str, Kin], ordering: Ordering) -> float:
    """Return the factor of what fits every part of the asking page's scope."""
    wanted = {part: names for part, names in ordering.scope.items() if names}
    if not wanted:
        return 1.0
    has = {
        "kinds": {hit.shown.kind},
        "sources": {hit.shown.source},
        "logbooks": set(kin.get(hit.shown.entry_id, _ALONE).logbooks),
    }
    within = all(not has[part].isdisjoint(names) for part, names in wanted.items())
    return _bounded(ordering.scope_factor) if within else 1.0


def _pulls(
    fused: Sequence[Fused],
    scores: Sequence[float],
    kin: Mapping[str, Kin],
    most: float,
) -> list[float]:
    """Return the pull of the best other hit of the same thread, by its score."""
    threads = [kin.get(hit.shown.entry_id, _ALONE).thread_id for hit in fused]
    order = sorted(
        range(len(fused)),
        key=lambda n: (-scores[n], fused[n].shown.kind, fused[n].shown.chunk_id),
    )[:STRONG]
    best = scores[order[0]] if order else 0.0
    if most == 1.0 or best <= 0:
        return [1.0] * len(fused)
    pulls = []
    for number, thread in enumerate(threads):
        if not thread:
            pulls.append(1.0)
            continue
        others = [n for n in order if n != number and threads[n] == thread]
        strongest = max((scores[n] for n in others), default=0.0)
        pulls.append(_bounded(1.0 + (most - 1.0) * max(0.0, strongest) / best))
    return pulls


def _bounded(factor: float) -> float:
    return min(MOST, max(LEAST, factor))
