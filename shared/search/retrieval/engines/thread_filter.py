"""Replaces threads that a question asks for by the entries in them.

Threads live in Postgres alone: another engine is asked for their entries by id.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import LiteralString
from uuid import UUID

from shared.access import rights
from shared.errors import OpenSearchError
from shared.postgres.statement_deadline import timed_connection
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import And, Field, Node, Not, Or
from shared.search.query.plan import Plan
from shared.search.retrieval.module_contract import Ask, Lexicon

# With more members the index is not asked: Postgres takes over and has no such limit.
MAX_MEMBERS = 10_000

# Entries that the caller may not see are left out: they are no hits, and an answer with
# `debug` names the ids that were asked for.
_MEMBERS: LiteralString = f"""
    SELECT known.id, e.id
      FROM entry known
      JOIN entry e ON e.tenant = known.tenant AND e.thread_id = known.thread_id
     WHERE e.tenant = %(tenant)s AND known.id = ANY (%(threads)s)
       AND e.deleted_at IS NULL{rights.seen("known")}{rights.SEEN}
       AND {rights.THREAD} IS NOT NULL
     ORDER BY known.id, e.id
     LIMIT %(most)s"""


def resolve_threads(ask: Ask, context: Lexicon) -> Plan:
    """Return the plan with the entries of every thread in its filters."""
    plan = ask.plan
    wanted = sorted({UUID(one) for named in _filters(plan) for one in _named(named)})
    if not wanted:
        return plan
    given = {**plan.scope.params, "threads": wanted, "most": MAX_MEMBERS + 1}
    with timed_connection(context.pool, ask.budget_ms) as conn:
        rows = conn.execute(_MEMBERS, given).fetchall()
    if len(rows) > MAX_MEMBERS:
        message = f"OpenSearch takes threads of {MAX_MEMBERS} entries at most."
        raise OpenSearchError(message, code="opensearch_refused")
    members: dict[str, list[str]] = {}
    for thread_id, entry_id in rows:
        members.setdefault(str(thread_id), []).append(str(entry_id))

    def known(filters: Filters) -> Filters:
        return replace(
            filters,
            members=_in(members, filters.threads),
            not_members=_in(members, filters.not_threads),
        )

    asked = None if plan.tree is None else _with(plan.tree, known)
    return replace(plan, filters=known(plan.filters), tree=asked)


def _named(filters: Filters) -> tuple[str, ...]:
    return (*(filters.threads or ()), *(filters.not_threads or ()))


def _in(
    members: Mapping[str, Sequence[str]], threads: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if threads is None:
        return None
    return tuple(one for name in threads for one in members.get(name, ()))


def _filters(plan: Plan) -> Iterator[Filters]:
    yield plan.filters
    if plan.tree is not None:
        yield from tree.fields(plan.tree)


def _with(node: Node, known: Callable[[Filters], Filters]) -> Node:
    match node:
        case Field(filters):
            return replace(node, filters=known(filters))
        case Not(part):
            return Not(_with(part, known))
        case And(parts):
            return replace(node, parts=tuple(_with(one, known) for one in parts))
        case Or(parts):
            return Or(tuple(_with(one, known) for one in parts))
        case _:
            return node
