"""Adds hits that a module has not found, or that had no place among those it found.

The entry comes first whose number is the whole question. Of a full branch, others join
that machines, or one source, have crowded out: a factor on the score, or a source's
share of the page, cannot bring back an entry that was never a candidate.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, LiteralString

from psycopg import Connection

from shared.access import rights
from shared.errors import LogchordError
from shared.ids import parse_uuid
from shared.log import get_logger
from shared.postgres import statement_deadline
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array, pipelined_connection
from shared.search.query import branch_choice, name_query
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.filters.filters import Filters
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.candidate_rows import Columns
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

# Several sources may each have an entry with the same number.
_CALLED: LiteralString = """
       AND (e.external_id = ANY (%(names)s::text[]) OR e.id = ANY (%(keys)s::uuid[]))
     ORDER BY e.source, e.external_id, e.id
     LIMIT 20"""
_COLUMNS: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time"""
_NARROWED_BY_NUMBER: LiteralString = _COLUMNS + candidate_rows.left() + _CALLED
_BY_NUMBER: LiteralString = f"""{_COLUMNS}
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}{_CALLED}"""


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


def put_number_first(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Put the entries first whose number is the whole question, before hits by words.

    A question that is no number, as most are, costs no query.
    """
    if descriptor.search_mode != branch_choice.KEYWORD or found.skipped:
        return found
    names = () if ask.plan.is_listing else name_query.numbers(ask.plan.tree)
    if not names:
        return found
    params = branch_query.kept_of(ask, context, descriptor.name).params
    with pipelined_connection(context.pool) as conn:
        statement_deadline.limit_time(conn, ask.budget_ms)
        rows = _called(conn, params, names)
    tenant = ask.plan.scope.tenant
    known = {hit.entry_id for hit in found.hits}
    # An entry that words did not find has no score by words.
    missing = [row.candidate(tenant, 0.0) for row in rows if str(row.id) not in known]
    meant = tuple(str(row.id) for row in rows)
    return replace(found, hits=(*missing, *found.hits), meant=meant)


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


def _called(
    conn: Connection, params: dict[str, Any], names: Sequence[str]
) -> list[Columns]:
    is_plain = candidate_rows.are_plain(params)
    statement = _BY_NUMBER if is_plain else _NARROWED_BY_NUMBER
    key = parse_uuid(names[0])
    keys = format_array([key] if key else [])
    given = {"names": list(names), "keys": keys, **params}
    return fetch_all(conn, Columns, statement, given, prepare=is_plain)
