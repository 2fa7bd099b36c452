"""Concludes a search from its outcomes: pure, whoever does it and however late."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shared.errors import LogchordError
from shared.search.jobs import verdict
from shared.search.jobs.compatibility import to_json_value
from shared.search.jobs.outcome import Outcome, make_overdue
from shared.search.jobs.verdict import FailedSearch, State
from shared.search.query.plan import Plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.order_hits import order_hits
from shared.search.ranking.ranked_hits import Ranked, RankedHits
from shared.search.retrieval.installed_modules import unit_of


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The end of a search, without the text of its page."""

    state: State
    branches: tuple[Outcome, ...]
    order: RankedHits
    degraded: bool
    error: LogchordError | None = None

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """Return the hits, best first."""
        return self.order.items

    def is_compared(self, plan: Plan) -> bool:
        """Tell whether entries that are no hits may be compared with the question."""
        return bool(plan.filters) or any(one.vector for one in self.branches)

    @property
    def window(self) -> dict[str, Any]:
        """Return the order as a stored job keeps it: ids and scores."""
        # Not `asdict`: it copies each hit field by field, a millisecond a search.
        order = self.order
        return {
            "window": [*map(to_json_value, order.items)],
            "missed": [*map(to_json_value, order.missed)],
            "beyond": [*map(to_json_value, order.beyond)],
            "reranked": order.reranked,
            "suppressed": asdict(order.suppressed),
            "notes": [asdict(note) for note in order.notes],
            "found": order.found,
            "validated": order.validated,
            "rejected": order.rejected,
            "is_short": order.is_short,
        }


NOTHING_KNOWN = Facts()


def conclude(
    plan: Plan, arrived: Mapping[int, Sequence[Outcome]], facts: Facts = NOTHING_KNOWN
) -> Conclusion:
    """Rank the outcomes that have arrived; a branch without any counts as late."""
    told = [
        arrived.get(number) or [_missing(plan, number, name)]
        for number, name in enumerate(plan.branches)
    ]
    asked = FailedSearch(plan.query, plan.method, plan.deadline_ms)
    state, error = verdict.judge(told, asked)
    branches = tuple(outcome for branch in told for outcome in branch)
    if facts.unread is not None:
        branches += (facts.unread,)
    order = RankedHits() if error else order_hits(branches, facts, plan)
    return Conclusion(state, branches, order, verdict.is_degraded(branches), error)


def _missing(plan: Plan, number: int, name: str) -> Outcome:
    overdue = make_overdue(name, unit_of(name))
    return replace(
        overdue, fallback_for=plan.instead_of(name), part=plan.part_of(number)
    )
