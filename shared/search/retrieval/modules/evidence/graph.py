"""Finds entries that name a question's devices or neighbours, or share its threads."""

from dataclasses import replace
from typing import LiteralString
from uuid import UUID

from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import format_array
from shared.search.jobs.outcome import Candidate
from shared.search.query.context import ranking_context
from shared.search.query.ordering import BESIDE, NAMED
from shared.search.retrieval import module_contract
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules import pg_fts
from shared.search.retrieval.modules.evidence import weighted_terms
from shared.search.retrieval.search_context import SearchContext

NAME = "graph"
# The weights of a named device, of the device next to it, and of a best hit's thread.
_NAMED, _BESIDE, _KIN = 1.0, 0.5, 0.5
# How many of the best hits by words have their threads looked up.
_SEEDS = 10

_OF_THREADS: LiteralString = f"""
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time
      {candidate_rows.left()}
       AND e.thread_id IN (
           SELECT s.thread_id FROM entry s
            WHERE s.tenant = %(tenant)s AND s.id = ANY (%(seeds)s::uuid[]))
       AND e.id <> ALL (%(seeds)s::uuid[])
     ORDER BY e.entry_time DESC, e.kind, e.source, e.external_id
     LIMIT %(limit)s"""


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Find entries by devices of the question first, then by threads of best hits."""
    near = ranking_context.find_near(ask.plan, context.facility)
    weights = dict.fromkeys(near[BESIDE], _BESIDE)
    weights |= dict.fromkeys(near[NAMED], _NAMED)
    found = weighted_terms.find_by_terms(ask, context, NAME, weights)
    most = max(sum(weights.values()), _NAMED)
    hits = {hit.entry_id: replace(hit, score=hit.score / most) for hit in found}
    for hit in _of_threads(ask, context):
        hits.setdefault(hit.entry_id, hit)
    best = sorted(hits.values(), key=lambda hit: (-hit.score, hit.kind, hit.chunk_id))
    return weighted_terms.as_result(context, tuple(best[: ask.limit]))


def _of_threads(ask: Ask, context: SearchContext) -> list[Candidate]:
    """Return other entries in the threads of the best hits by words."""
    seeds = pg_fts.search(replace(ask, limit=_SEEDS), context).hits
    if not seeds:
        return []
    given = {
        **branch_query.kept_of(ask, context, NAME).params,
        "seeds": format_array(UUID(one.entry_id) for one in seeds),
        "limit": ask.limit,
    }
    rows = weighted_terms.load_rows(ask, context, Columns, _OF_THREADS, given)
    return [row.candidate(ask.plan.scope.tenant, _KIN) for row in rows]


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `graph`."""
    return module_contract.SearchToolDescriptor(
        name=NAME,
        description="Entries of the devices that are named and of those next to them,"
        " and of the threads of what matches.",
        search_mode=NAME,
        execute=search,
        unit=NAME,
        engine="postgres",
        needs_stages=(METADATA_STAGE,),
    )
