"""Adds hits that machines, or one source, have crowded out of a full branch.

A factor on the score, or a source's share of the page, cannot bring back an entry that
was never a candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.filters.filters import Filters
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

_ORIGIN, _HUMAN, _MACHINE = "origin", "human", "machine"
# A full branch with a larger share of hits by machines is searched again.
_MACHINE_SHARE = 0.5


def add_missing_hits(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Return the hits; of a full branch with others that had no place among them."""
    if ask.plan.is_listing or len(found.hits) < ask.limit:
        return found
    try:
        people = _people_alone(found, ask.plan.filters)
        if people is not None:
            found = _add(found, descriptor, ask, context, people)
        others = _other_sources_alone(found, ask, context)
        if others is not None:
            found = _add(found, descriptor, ask, context, others)
    except LogchordError as exc:
        # The hits found so far stand: this search only adds to them.
        log.info("missing_hits_not_asked", module=descriptor.name, code=exc.error_code)
    return found


def _people_alone(found: ModuleResult, filters: Filters) -> Filters | None:
    """Return filters for people's entries, if machines have taken their places."""
    machines = sum(hit.origin == _MACHINE for hit in found.hits)
    chosen = any(one.field == _ORIGIN for one in filters.facts)
    if chosen or machines <= _MACHINE_SHARE * len(found.hits):
        return None
    return replace(filters, facts=(*filters.facts, WantedFact(_ORIGIN, (_HUMAN,))))


def _other_sources_alone(
    found: ModuleResult, ask: Ask, context: SearchContext
) -> Filters | None:
    """Return filters for other sources, if one has taken all the places.

    One that stuffs its entries with the words of questions hides nobody else's.
    """
    filters, sources = ask.plan.filters, {hit.source for hit in found.hits}
    if len(sources) > 1:
        return None
    (source,) = sources
    named = filters.sources
    if named is None:
        # By their names: "all but one" would be compared with every entry of that one.
        named = context.tenant_sources.list_sources(
            context.pool, ask.plan.scope.tenant, ask.budget_ms
        )
    wanted = tuple(one for one in named if one != source)
    return replace(filters, sources=wanted) if wanted else None


def _add(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
    filters: Filters,
) -> ModuleResult:
    narrowed = replace(ask, plan=replace(ask.plan, filters=filters))
    execute: Callable[[Ask, SearchContext], ModuleResult] = descriptor.execute
    more = execute(replace(narrowed, limit=max(1, ask.limit // 2)), context)
    if set(more.diagnostics) - set(found.diagnostics):
        # These entries matched a relaxed question alone, not the one asked.
        return found
    if more.model != found.model:
        # The model was switched in between: its cosines are on another scale.
        return found
    known = {hit.entry_id for hit in found.hits}
    added = [hit for hit in more.hits if hit.entry_id not in known]
    return replace(found, hits=(*found.hits, *added))
