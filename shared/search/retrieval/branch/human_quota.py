"""Adds entries by people to a branch that machines' entries have filled."""

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
# A full branch with a larger share of hits by machines is searched again.
MACHINE_SHARE = 0.5


def beside_machines(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Return the hits, with entries by people added if machines took their places.

    A factor on the score cannot bring back an entry that was never a candidate.
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
        # The hits found so far stand: this search only adds to them.
        log.info("people_not_asked", module=descriptor.name, code=exc.error_code)
        return found
    if set(people.diagnostics) - set(found.diagnostics):
        # People's entries matched a relaxed question alone, not the one asked.
        return found
    if people.model != found.model:
        # The model was switched in between: its cosines are on another scale.
        return found
    known = {hit.entry_id for hit in found.hits}
    more = [hit for hit in people.hits if hit.entry_id not in known]
    return replace(found, hits=(*found.hits, *more))
