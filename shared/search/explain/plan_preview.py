"""Tells what a search would do, without carrying out any of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shared.errors import LogchordError
from shared.postgres.pool import connection
from shared.search.jobs import circuits_seen
from shared.search.query.plan import Plan
from shared.search.response import engine_queries, score_trace
from shared.search.response.respond import times_of
from shared.search.retrieval import installed_modules

if TYPE_CHECKING:
    from shared.search.retrieval.search_context import SearchContext


def preview_plan(context: SearchContext, plan: Plan) -> dict[str, Any]:
    """Return the plan as `debug` shows it, and the server that each branch asks."""
    sent, notes = engine_queries.before(context, plan) if plan.branches else ({}, ())
    with connection(context.pool) as conn:
        circuits = circuits_seen.load_circuits(conn, plan.scope.tenant)
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
    plan: Plan, circuits: Mapping[str, circuits_seen.State]
) -> Iterator[dict[str, str | None]]:
    for branch in plan.branches:
        yield {
            "branch": branch,
            "engine": _engine(branch, plan),
            "fallback": _fallback(branch),
            "circuit": circuits.get(branch),
        }


def _engine(branch: str, plan: Plan) -> str:
    engine = installed_modules.engine_of(branch)
    away = plan.without_opensearch and engine == "opensearch"
    return "postgres" if away else engine


def _fallback(branch: str) -> str | None:
    try:
        return installed_modules.find_module(branch).fallback
    except LogchordError:
        # A pipeline is no module, and one that is broken has none.
        return None
