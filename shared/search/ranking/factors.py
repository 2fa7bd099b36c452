"""What makes a final score larger or smaller, each by a name that the answer shows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import prod

from shared.search.query.ordering import BESIDE, CARRIED, NAMED, SCOPED, Ordering
from shared.search.ranking.candidate_facts import Facts, Kin
from shared.search.ranking.fusion import Fused, best_first

LEAST, MOST = 0.5, 1.5
LEAST_PRODUCT, MOST_PRODUCT = 0.5, 2.0
# How many of the best hits pull at entries of their threads.
STRONG = 10
_ALONE = Kin()
_NO_DAY = "1970-01-01"


def product(factors: Mapping[str, float]) -> float:
    """Return the product of the factors, within its bounds."""
    if not factors:
        return 1.0
    # Multiplied in one order, for the last digit of a product depends on it.
    total = prod(factors[name] for name in sorted(factors))
    return min(MOST_PRODUCT, max(LEAST_PRODUCT, total))


def of_all(
    fused: Sequence[Fused], scores: Sequence[float], facts: Facts, ordering: Ordering
) -> list[dict[str, float]]:
    """Return the factors of each hit that are not 1, by scores before any factor."""
    kin = facts.kin
    pulls = _pulls(fused, scores, kin, ordering.gravity_factor)
    scoped = _scopes(fused, facts, ordering)
    machine = _bounded(ordering.machine_factor)
    domains = {kind: _bounded(one) for kind, one in ordering.domain_weights.items()}
    age = _Age(ordering)
    found: list[dict[str, float]] = []
    for hit, scope, pull in zip(fused, scoped, pulls, strict=True):
        shown = hit.shown
        one: dict[str, float] = {}
        if shown.origin == "machine" and machine != 1.0:
            one["origin"] = machine
        domain = domains.get(shown.kind, 1.0)
        if domain != 1.0:
            one["domain_weight"] = domain
        one |= _nearness(hit, facts, ordering)
        if ordering.beside_day and ordering.is_beside_day(
            datetime.fromisoformat(shown.entry_time)
        ):
            one["beside_day"] = _bounded(ordering.beside_day_factor)
        fresh = age.factor(shown.kind, shown.entry_time)
        if fresh != 1.0:
            one["freshness"] = fresh
        if scope != 1.0:
            one["scope"] = scope
        if pull != 1.0:
            one["graph_gravity"] = pull
        found.append(one)
    return found


def _nearness(hit: Fused, facts: Facts, ordering: Ordering) -> dict[str, float]:
    """Return the factors of a hit that names a thing or fits what was done before."""
    ways = facts.near.get(hit.shown.entry_id, ())
    found: dict[str, float] = {}
    if NAMED in ways:
        found["entity_proximity"] = _bounded(ordering.entity_factor)
    elif BESIDE in ways:
        found["entity_proximity"] = _bounded((1.0 + ordering.entity_factor) / 2)
    if CARRIED in ways or _is_placed(hit, facts, ordering):
        found["session"] = _bounded(ordering.session_factor)
    return {name: factor for name, factor in found.items() if factor != 1.0}


def _is_placed(hit: Fused, facts: Facts, ordering: Ordering) -> bool:
    """Tell whether a hit is of a place where the question is asked."""
    if not ordering.places:
        return False
    has = _has(hit, facts.kin)
    return any(not has[part].isdisjoint(one) for part, one in ordering.places.items())


class _Age:
    """Reckons the factor of an entry's age, which is never less than a half."""

    def __init__(self, ordering: Ordering) -> None:
        self._half_lives = ordering.half_lives if ordering.day else {}
        self._day = datetime.fromisoformat(ordering.day or _NO_DAY).replace(tzinfo=UTC)

    def factor(self, kind: str, entry_time: str) -> float:
        """Return 1 for a new entry, 0.75 after one half-life, 0.625 after two."""
        half_life = self._half_lives.get(kind)
        if half_life is None:
            return 1.0
        age = (self._day - datetime.fromisoformat(entry_time)) / timedelta(days=1)
        left: float = 0.5 ** (max(0.0, age) / half_life)
        return LEAST + (1.0 - LEAST) * left


def _scopes(fused: Sequence[Fused], facts: Facts, ordering: Ordering) -> list[float]:
    """Return the scope factor for hits that fit every part of a scope, 1 for others."""
    wanted = {part: names for part, names in ordering.scope.items() if names}
    if not wanted:
        return [1.0] * len(fused)
    within = _bounded(ordering.scope_factor)
    factors = []
    for hit in fused:
        ways = facts.near.get(hit.shown.entry_id, ())
        has = _has(hit, facts.kin)
        if SCOPED in ways:
            has["devices"] = {*wanted.get("devices", ())}
        fits = all(not has[part].isdisjoint(names) for part, names in wanted.items())
        factors.append(within if fits else 1.0)
    return factors


def _has(hit: Fused, kin: Mapping[str, Kin]) -> dict[str, set[str]]:
    """Return a hit's values by part of a scope; its devices are not known here."""
    return {
        "kinds": {hit.shown.kind},
        "sources": {hit.shown.source},
        "logbooks": {*kin.get(hit.shown.entry_id, _ALONE).logbooks},
        "devices": set(),
    }


def _pulls(
    fused: Sequence[Fused], scores: Sequence[float], kin: Mapping[str, Kin], most: float
) -> list[float]:
    """Return the pull of the best other hit of the same thread, by its score."""
    threads = [kin.get(hit.shown.entry_id, _ALONE).thread_id for hit in fused]
    if most == 1.0 or not any(threads):
        return [1.0] * len(fused)
    order = best_first(fused, scores)[:STRONG]
    best = scores[order[0]] if order else 0.0
    if best <= 0:
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
