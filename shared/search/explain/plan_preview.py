"""Tells what a search would do, without carrying out any of it."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Literal, LiteralString

from psycopg import Connection

from shared.errors import LogchordError
from shared.ids import earliest
from shared.postgres.pool import connection
from shared.search.jobs.outcome import CIRCUIT_OPEN
from shared.search.query.plan import Plan
from shared.search.response import engine_queries, score_trace
from shared.search.response.respond import times_of
from shared.search.retrieval import installed_modules
from shared.search.retrieval.search_context import SearchContext

State = Literal["open", "closed"]

# A circuit is in the memory of one worker: others know of it only by the outcomes of
# its searches. It lets a probe by each second, so older ones say nothing of now.
LATELY_SECONDS = 60

_LATELY: LiteralString = """
    SELECT b.name, b.reason
      FROM (SELECT j.id, j.branches
              FROM job j
             WHERE j.tenant = %(tenant)s AND j.id >= %(since)s
               AND j.branches IS NOT NULL
             ORDER BY j.id DESC
             LIMIT 50) AS lately
     CROSS JOIN LATERAL jsonb_to_recordset(lately.branches)
           AS b (name text, status text, reason text)
     WHERE b.status IN ('ok', 'empty', 'error') OR b.reason = %(open)s
     ORDER BY lately.id DESC, b.name, b.reason NULLS LAST
     LIMIT 1000"""


def load_circuits(conn: Connection, tenant: str) -> dict[str, State]:
    """Return by module whether its last search met an open circuit.

    A module that nobody searched lately is left out.
    """
    # This machine's clock: jobs get their ids by it.
    since = earliest(int((time.time() - LATELY_SECONDS) * 1000))
    given = {"tenant": tenant, "since": since, "open": CIRCUIT_OPEN}
    seen: dict[str, State] = {}
    for name, reason in conn.execute(_LATELY, given).fetchall():
        # With any other reason the backend was asked, so the circuit was closed.
        seen.setdefault(name, "open" if reason == CIRCUIT_OPEN else "closed")
    return seen


def preview_plan(context: SearchContext, plan: Plan) -> dict[str, Any]:
    """Return the plan as `debug` shows it, and the server that each branch asks."""
    sent, notes = engine_queries.before(context, plan) if plan.branches else ({}, ())
    with connection(context.pool) as conn:
        circuits = load_circuits(conn, plan.scope.tenant)
    return {
        **score_trace.planned(plan),
        **sent,
        "time": times_of(plan),
        "engines": [*_engines(plan, circuits)],
        "diagnostics": [
            asdict(one) for one in dict.fromkeys((*plan.diagnostics, *notes))
        ],
    }


def _engines(
    plan: Plan, circuits: Mapping[str, State]
) -> Iterator[dict[str, str | None]]:
    for branch in plan.branches:
        engine = installed_modules.engine_of(branch)
        away = plan.without_opensearch and engine == "opensearch"
        yield {
            "branch": branch,
            "engine": "postgres" if away else engine,
            "fallback": _fallback(branch),
            "circuit": circuits.get(branch),
        }


def _fallback(branch: str) -> str | None:
    try:
        return installed_modules.find_module(branch).fallback
    except LogchordError:
        # A pipeline is no module, and one that is broken has none.
        return None
