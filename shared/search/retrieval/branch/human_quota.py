"""Machines write more than people: where they fill a branch, people are asked too."""

from __future__ import annotations

from dataclasses import replace

from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

ORIGIN, HUMAN, MACHINE = "origin", "human", "machine"
# With more of its hits by machines than this, a full branch is asked again.
MACHINE_SHARE = 0.5


def beside_machines(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Return the hits, and what people wrote beside them if machines took the places.

    A factor on the score cannot bring back what was never a candidate.
    """
    machines = sum(hit.origin == MACHINE for hit in found.hits)
    chosen = any(one.field == ORIGIN for one in ask.plan.filters.facts)
    if (
        chosen
        or ask.plan.is_listing
        or len(found.hits) < ask.limit
        or machines <= MACHINE_SHARE * len(found.hits)
    ):
        return found
    narrowed = (*ask.plan.filters.facts, WantedFact(ORIGIN, (HUMAN,)))
    plan = replace(ask.plan, filters=replace(ask.plan.filters, facts=narrowed))
    try:
        people: ModuleResult = descriptor.execute(
            replace(ask, plan=plan, limit=max(1, ask.limit // 2)), context
        )
    except LogchordError as exc:
        # What was found stands: this is more, and not instead.
        log.info("people_not_asked", module=descriptor.name, code=exc.error_code)
        return found
    if set(people.diagnostics) - set(found.diagnostics):
        # Only by asking for less: they do not match what was asked.
        return found
    if people.model != found.model:
        # Searches have just been switched to another: its cosines are on its own scale.
        return found
    known = {hit.entry_id for hit in found.hits}
    more = [hit for hit in people.hits if hit.entry_id not in known]
    return replace(found, hits=(*found.hits, *more))
