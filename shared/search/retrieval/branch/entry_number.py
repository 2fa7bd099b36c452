"""Puts the entry first whose number is the one token of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared.access import rights
from shared.postgres import statement_deadline
from shared.postgres.pool import format_array, pipelined_connection
from shared.search.query import branch_choice, name_query
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext

# Several sources may each have an entry with the same number.
_CALLED: LiteralString = """
       AND (e.external_id = ANY (%(names)s::text[]) OR e.id = ANY (%(keys)s::uuid[]))
     ORDER BY e.source, e.external_id, e.id
     LIMIT 20"""
_COLUMNS: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time"""
_NARROWED_BY_NUMBER: LiteralString = _COLUMNS + candidate_rows.left() + _CALLED
_BY_NUMBER: LiteralString = (
    _COLUMNS
    + """
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL"""
    + rights.SEEN
    + _CALLED
)


def put_first(
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


def _called(
    conn: Connection[Any], params: dict[str, Any], names: Sequence[str]
) -> list[Columns]:
    is_plain = candidate_rows.are_plain(params)
    statement = _BY_NUMBER if is_plain else _NARROWED_BY_NUMBER
    given = {"names": list(names), "keys": format_array(_keys(names)), **params}
    with conn.cursor(row_factory=class_row(Columns)) as cur:
        return cur.execute(statement, given, prepare=is_plain).fetchall()


def _keys(names: Sequence[str]) -> list[UUID]:
    try:
        return [UUID(names[0])]
    except ValueError:
        return []
