"""`POST /search`: the plain search, whose shape never changes."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Request, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.search.routes.search import fault_of, planned
from api.search.schemas.plain_search import PlainRequest, PlainResponse
from api.server import errors
from api.server.json_response import as_json
from api.strict_route import Handler, StrictRoute, audited, described, strict_router
from shared.access.scope import Scope
from shared.postgres.statement_deadline import timed_connection
from shared.search.pipelines.plan_settings import answers_of
from shared.search.query.fault import Fault
from shared.search.query.filters import filters
from shared.search.query.modes import MODES
from shared.search.query.plan import SearchQuery
from shared.search.query.result_detail import Synthesis
from shared.search.query.wanted_answer import Wanted
from shared.search.response.search_answer import SearchAnswer
from shared.search.results.hit import Hit
from shared.search.retrieval.modules import metadata_keys
from shared.settings.settings import Settings
from shared.text import door, facts

_MODES = {"vector": "semantic", "keyword": "keyword", "hybrid": "hybrid"}
_DEADLINE_MS = 3000
_NOBODYS = Scope("default", "")
# The part of the deadline for finding out which metadata a filter names.
_KEYS_MS = 1000


class PlainRoute(StrictRoute):
    """Its errors speak also as its clients read them."""

    def get_route_handler(self) -> Handler:
        """Return the handler whose errors carry `detail`, too."""
        handle = super().get_route_handler()

        async def marked(request: Request) -> Response:
            errors.tell_detail(request.state)
            return await handle(request)

        return marked


router = strict_router("", "search", needs("search"), route_class=PlainRoute)


@router.post("/search")
@described("Search, in the plain shape", PlainResponse, 504)
@audited("search")
async def post_search(
    body: PlainRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Answer with results, a synthesis of the best of them, and its citations."""
    settings = ctx.settings
    door.check_tree(body.filters, "filters")
    narrowed = await asyncio.to_thread(_filters, ctx, caller.scope, body.filters)
    fault = fault_of(request, caller, ctx)
    question = question_of(body, narrowed, fault, settings, caller.scope)
    plan = await planned(question, caller, ctx)
    reply = await ctx.searches.ask(plan, caller, None)
    assert isinstance(reply, str)
    found = SearchAnswer.from_values(json.loads(reply))
    zone = ZoneInfo(settings.facility_timezone)
    results = [_result(hit, zone) for hit in found.results]
    answer = {
        "results": results,
        "query": body.query,
        "method_used": body.method or settings.search.default_method,
        "total_results": len(results),
        "synthesis": found.answer,
        "citations": (
            [hit.source_uri for hit in found.results] if body.include_citations else []
        ),
    }
    headers = {"X-Logchord-Job": found.job_id} if found.job_id else {}
    if found.degraded:
        headers["X-Logchord-Degraded"] = "true"
    return as_json(answer, headers=headers)


def question_of(
    body: PlainRequest,
    narrowed: Mapping[str, Any],
    fault: Fault | None,
    settings: Settings,
    scope: Scope = _NOBODYS,
) -> SearchQuery:
    """Return the question of a plain search, with this route's own limits."""
    method = body.method or settings.search.default_method
    least = body.min_relevance_score
    limits = answers_of(settings)
    writer: Wanted = False
    if limits.enabled:
        is_worded = limits.may_word(MODES[_MODES[method]], scope)
        writer = "llm" if is_worded else "deterministic"
    return SearchQuery(
        query=door.admit(body.query, "query"),
        mode=_MODES[method],
        limit=body.limit,
        filters=narrowed,
        deadline_ms=min(
            limits.model_ms if writer == "llm" else _DEADLINE_MS, settings.max_wait_ms
        ),
        fault=fault,
        any_word=True,
        read_by_model=True,
        synthesis=Synthesis(
            settings.synthesis.max_sources, body.include_citations, "numeric"
        ),
        synthesize=writer,
        ordering={
            "min_relevance_score": (
                settings.search.min_relevance_score if least is None else least
            )
        },
        request={
            "query": body.query,
            "method": method,
            "limit": body.limit,
            "filters": body.filters,
            **({} if least is None else {"min_relevance_score": least}),
        },
    )


def _filters(
    ctx: ApiContext, scope: Scope, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the filters; what is none is a key of the metadata, if entries have it."""
    others = {
        key for key in given if not filters.is_known(key) and _named(key) not in given
    }
    if not others or len(others) > metadata_keys.MAX_KEYS:
        return given
    with timed_connection(ctx.pool, _KEYS_MS) as conn:
        known = set(metadata_keys.select_known_keys(conn, scope, others))
    return {_named(key) if key in known else key: one for key, one in given.items()}


def _named(key: str) -> str:
    return facts.METADATA + key


def _result(hit: Hit, zone: ZoneInfo) -> dict[str, Any]:
    told = {
        "category": hit.category,
        "date": hit.entry_time.astimezone(zone).date().isoformat(),
        "author": hit.author,
        "logbook": ", ".join(hit.logbooks),
        "title": hit.title,
        "entry_id": hit.entry_id,
        "url": hit.url,
    }
    return {
        "content": hit.content,
        "source": hit.source_uri,
        "relevance_score": hit.relevance_score,
        "rank": hit.rank,
        "metadata": {name: value for name, value in told.items() if value},
    }
