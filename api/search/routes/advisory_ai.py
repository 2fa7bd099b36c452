"""The routes of unified search under their other prefix, spelt in camelCase."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from api.context import Caller, Ctx
from api.search.routes import quality, search, suggestions, synthesize
from api.search.schemas.jobs import JobAccepted
from api.search.schemas.quality import QualityAlerts, QualityMetrics
from api.search.schemas.search import SearchRequest, SearchResponse
from api.search.schemas.suggestions import SuggestionsIn, SuggestionsOut
from api.search.schemas.synthesize import SynthesisRequest
from api.search.unified_search import require_unified_search
from api.server.body_model import shown_by
from api.server.camel_model import make_camel_model, spell_in_camel, spell_response
from api.strict_route import StrictRoute, audited, described, strict_router

# FastAPI reads an alias where it reads a name.
_IN_CAMEL = ConfigDict(alias_generator=to_camel, validate_by_name=True)


class CamelRoute(StrictRoute):
    """Spells what its handler answers in camelCase, by the models it documents."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler behind the door, and what spells its answer."""
        handle = super().get_route_handler()
        models: dict[int, type[BaseModel]] = {
            self.status_code or 200: self.response_model
        }
        models |= {
            int(status): told["model"]
            for status, told in self.responses.items()
            if int(status) < 300 and "model" in told  # noqa: PLR2004 - a success
        }

        async def spelt(request: Request) -> Response:
            return spell_response(await handle(request), models)

        return spelt


router = strict_router(
    "/v1/advisory-ai/search", "search", require_unified_search, route_class=CamelRoute
)


class CamelSearchRequest(SearchRequest):
    """A question; everything but `query` is optional."""

    model_config = _IN_CAMEL


class CamelSynthesisRequest(SynthesisRequest):
    """A job that has ended, or a question and the entries that are to answer it."""

    model_config = _IN_CAMEL | shown_by(
        {"jobId": "0199f0c2-0000-7000-8000-000000000000"}
    )


class CamelSuggestionsIn(SuggestionsIn):
    """Up to ten questions, and the page that offers them."""

    model_config = _IN_CAMEL


@router.post("/query")
@described(
    "Search, and wait for the answer",
    make_camel_model(SearchResponse),
    504,
    scope="search",
    also={
        202: {
            "model": make_camel_model(JobAccepted),
            "description": "Not ended within waitMs.",
        }
    },
)
@audited("search")
async def query(
    body: CamelSearchRequest, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Answer as `/v1/search/query` does."""
    return await search.post_query(body, request, caller, ctx)


def _spell_event(says: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event in camelCase; what is no field of a response stays as it is."""
    spelt: dict[str, Any] = spell_in_camel(make_camel_model(SearchResponse), says)
    return spelt


@router.post("/synthesize")
@described(
    "Answer from known hits, as it is made",
    None,
    *(404, 410),
    scope="search",
    also={200: synthesize.EVENTS},
    response_class=StreamingResponse,
)
@audited("search")
async def answer(
    body: CamelSynthesisRequest, caller: Caller, ctx: Ctx
) -> StreamingResponse:
    """Answer as `/v1/search/synthesize` does; what its events say is in camelCase."""
    return await synthesize.stream_answer(body, caller, ctx, _spell_event)


@router.post("/suggestions/evaluate")
@described(
    "Tell which questions would be answered with evidence",
    make_camel_model(SuggestionsOut),
    504,
    scope="search",
)
async def evaluate(body: CamelSuggestionsIn, caller: Caller, ctx: Ctx) -> Response:
    """Answer as `/v1/search/suggestions/evaluate` does."""
    return await suggestions.post_suggestions(body, caller, ctx)


@router.get("/quality/metrics")
@described("Read how searches fared", make_camel_model(QualityMetrics), scope="admin")
def metrics(
    caller: Caller,
    ctx: Ctx,
    hours: Annotated[quality.Hours, Query(alias="windowHours")] = 24,
) -> Response:
    """Answer as `/v1/search/quality/metrics` does."""
    return quality.get_metrics(caller, ctx, hours)


@router.get("/quality/alerts")
@described(
    "Read where people get stuck", make_camel_model(QualityAlerts), scope="admin"
)
def alerts(
    caller: Caller,
    ctx: Ctx,
    hours: Annotated[quality.Hours, Query(alias="windowHours")] = 24,
) -> Response:
    """Answer as `/v1/search/quality/alerts` does."""
    return quality.get_alerts(caller, ctx, hours)
