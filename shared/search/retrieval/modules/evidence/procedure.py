"""Finds procedures and instructions with the words of the question."""

from dataclasses import replace

from shared.messaging.stage_names import METADATA_STAGE
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.retrieval import module_contract
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules import pg_fts
from shared.search.retrieval.search_context import SearchContext

NAME, KIND = "procedure", "procedure"
# Scores by words have no fixed scale: the best hit is worth three quarters.
_SHARE_OF_BEST = 1 / 3


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Find procedures that match by words, the best of them at 0.75."""
    filters = ask.plan.filters
    narrowed = replace(filters, facts=(*filters.facts, WantedFact("kind", (KIND,))))
    found = pg_fts.search(
        replace(ask, plan=replace(ask.plan, filters=narrowed)), context
    )
    best = max((hit.score for hit in found.hits), default=0.0) * _SHARE_OF_BEST
    hits = (
        replace(hit, score=hit.score / (hit.score + best) if best else 0.0)
        for hit in found.hits
    )
    return ModuleResult(tuple(hits), found.as_of, skipped=found.skipped)


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `procedure`."""
    return module_contract.SearchToolDescriptor(
        name=NAME,
        description="Procedures and instructions with the words of the question.",
        search_mode=NAME,
        execute=search,
        unit=NAME,
        engine="postgres",
        needs_stages=(METADATA_STAGE,),
    )
