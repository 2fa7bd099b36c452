"""Notes the sources of a question of which the caller may see no entry.

One that does not exist and one that is hidden are told of in the same words, and none
but a source with an entry that the caller may see is named as the nearest.
"""

from collections.abc import Collection
from typing import LiteralString

from shared import suggest
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres import request_deadline
from shared.postgres.statement_deadline import timed_pipeline
from shared.search.absence.coverage import LOOKED_THROUGH
from shared.search.jobs.outcome import Diagnostic
from shared.search.query import entities
from shared.search.query.plan import Plan
from shared.search.retrieval.search_context import SearchContext
from shared.sources import newest_entry

log = get_logger()

_MOST_MS = 50
# How many are named; a filter may list more.
_MOST_NAMED = 5

_SEEN: LiteralString = f"""
    SELECT s.source
      FROM unnest(%(sources)s::text[]) AS s (source)
     WHERE EXISTS ({newest_entry.newest_entry_sql("s.source")})
     ORDER BY s.source
     LIMIT 1000"""


def note_unknown_sources(
    context: SearchContext, plan: Plan, found: Collection[str], left_ms: int
) -> list[Diagnostic]:
    """Note the sources asked for that are unseen; `found` are those of the hits."""
    named = entities.find_filtered_entities(plan) if plan.branches else ()
    sources = dict.fromkeys(one.name for one in named if one.kind == entities.SOURCE)
    asked = [one for one in sources if one not in found][:_MOST_NAMED]
    ms = min(_MOST_MS, left_ms)
    if not asked or ms <= 0:
        return []
    tenant = plan.scope.tenant
    try:
        with request_deadline.hurried(ms / 1000):
            names = context.tenant_sources.list_sources(context.pool, tenant, ms)
            values = {
                **plan.scope.params,
                "sources": [*asked, *names],
                "looked_through": LOOKED_THROUGH,
            }
            with timed_pipeline(context.pool, ms) as conn:
                seen = {name for (name,) in conn.execute(_SEEN, values).fetchall()}
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("sources_not_read", code=exc.error_code)
        return []
    return [_note(name, seen) for name in asked if name not in seen]


def _note(name: str, seen: Collection[str]) -> Diagnostic:
    said = (
        f"There is no source {name[: suggest.MAX_CHARACTERS]!r} with an entry that you"
        f" may see.{suggest.hint(name, seen)}"
    )
    return Diagnostic("warning", "query", "source_unknown", said, "query")
