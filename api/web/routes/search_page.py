"""The search page: the hits at once, what is counted as soon as it is known."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.entries import shift_times
from api.search.routes.search import fault_of, planned
from api.search.telemetry import AskedQuestion
from api.search.unified_search import require_unified_search
from api.server import errors
from api.server.json_response import as_json
from api.strict_route import audited
from api.web import answer_card, entry_view, histogram, page_visit, read_as, rendering
from api.web.chips import find_follow_ups
from api.web.page_route import PageRoute, page_router, read_form
from api.web.search_form import MOST_PAGES, PAGE_HITS, SearchForm, is_taken
from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.jobs.job import Job
from shared.search.query import wanted_answer
from shared.search.query.plan import Plan

log = get_logger()

_FOUND, _FACETS = "<!-- what is found -->", "<!-- what is counted -->"
# Where the page of an error goes on below the head that every page has.
_MAIN = '<main id="main" tabindex="-1">'
# Whoever went away has still asked: a place is held until the search is over.
_under_way: set[asyncio.Task[tuple[str, dict[str, Any]]]] = set()


class SearchRoute(PageRoute):
    """Takes every filter of a search, each as often as it is given."""

    def takes(self, name: str) -> bool:
        """Whether a parameter is one of the page."""
        return is_taken(name)


router = page_router(needs("search"), require_unified_search, route_class=SearchRoute)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A search that the page asks for somebody."""

    request: Request
    form: SearchForm
    plan: Plan
    visit: str | None
    caller: CallerInfo
    ctx: ApiContext


@router.get("/search", name="search_page")
@router.get("/search.json")
@audited("search")
async def get_search_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    q: Annotated[str, Query(max_length=20_000)] = "",
) -> Response:
    """Show what a search finds, and what its answer rests on."""
    form = SearchForm.read(request.query_params, rendering.list_modes(request))
    if form.is_blank and not q:
        return RedirectResponse(ctx.settings.base_path + "/", 303)
    fault = fault_of(request, caller, ctx)
    question = form.request(has_answers=ctx.settings.synthesis.enabled).question(fault)
    plan = await planned(question, caller, ctx)
    is_twin = rendering.is_twin(request)
    visit = None if is_twin else page_visit.begin_visit(request, ctx)
    asked = _Asked(request, form, plan, visit, caller, ctx)
    if not is_twin and request.headers.get("sec-fetch-dest") == "document":
        parts = _as_it_comes(asked)
    else:
        # Whoever shows no window is told by the status how it went.
        found = await _ask(asked)
        if isinstance(found, str):
            led = RedirectResponse(found, 303)
            page_visit.keep_visit(led, visit, ctx)
            return led
        if is_twin:
            return as_json({**found, "facets": await _count(asked) or {}})
        parts = _parts(asked, await _render(asked, found), found)
    answer = StreamingResponse(parts, media_type="text/html", headers=rendering.HEADERS)
    page_visit.keep_visit(answer, visit, ctx)
    return answer


@router.post("/search/words")
@audited("search")
async def post_words_form(request: Request, caller: Caller, ctx: Ctx) -> Response:
    """Have a model word the answer of a search, and lead to the job that it is."""
    await read_form(request)
    form = SearchForm.read(request.query_params, rendering.list_modes(request))
    plan = await planned(form.request().question(None), caller, ctx)
    job = await ctx.searches.submit(plan, caller)
    return RedirectResponse(f"{ctx.settings.base_path}/jobs/{job.job_id}", 303)


async def _as_it_comes(asked: _Asked) -> AsyncIterator[str]:
    """Yield the box while it is searched, then what is found, or why nothing is."""
    making = asyncio.create_task(_make(asked))
    _under_way.add(making)
    making.add_done_callback(_under_way.discard)
    request, form = asked.request, asked.form
    box = rendering.render(request, "search.html", form=form, found_here=_FOUND)
    yield box.partition(_FOUND)[0]
    await asyncio.wait([making])
    trouble = making.exception()
    if trouble is not None:
        yield _tell_below(request, trouble)
        return
    text, found = making.result()
    async for part in _parts(asked, text.partition(_FOUND)[2], found):
        yield part


async def _make(asked: _Asked) -> tuple[str, dict[str, Any]]:
    """Return the page, and the answer that it shows, if the search has ended."""
    found = await _ask(asked)
    if isinstance(found, str):
        shown = {"form": asked.form, "found_here": _FOUND, "place": found}
        return rendering.render(asked.request, "search.html", **shown), {}
    return await _render(asked, found), found


def _tell_below(request: Request, trouble: BaseException) -> str:
    """Return the page of an error without the head, which has been sent already."""
    if isinstance(trouble, LogchordError):
        told = errors.answer(trouble, request.state)
    else:
        assert isinstance(trouble, Exception)
        told = errors.unexpected(trouble, request.state)
    return bytes(told.body).decode().partition(_MAIN)[2]


async def _ask(asked: _Asked) -> dict[str, Any] | str:
    """Return the answer, or the place of a job that outlasts whoever waits."""
    ctx, scope, request = asked.ctx, asked.caller.scope, asked.request
    reply = await ctx.searches.ask(asked.plan, asked.caller, None)
    whose = (scope.tenant, asked.plan.query, asked.visit)
    noted = AskedQuestion(*whose, rescue=page_visit.find_rescue(request))
    if isinstance(reply, Job):
        ctx.telemetry.expect_job(reply.job_id, noted)
        twin = rendering.TWIN if rendering.is_twin(request) else ""
        return f"{ctx.settings.base_path}/jobs/{reply.job_id}{twin}"
    ctx.telemetry.note(replace(noted, answer=reply))
    found: dict[str, Any] = json.loads(reply)
    return found


async def _render(asked: _Asked, body: dict[str, Any]) -> str:
    request, form, ctx, caller = asked.request, asked.form, asked.ctx, asked.caller
    first = (form.page - 1) * PAGE_HITS
    shown = body["results"][first : first + PAGE_HITS]
    opened = None
    if form.open:
        opened = await entry_view.open_beside(ctx, caller, form.open, form.q)
    goes_on = _goes_on(form, body)
    return rendering.render(
        request,
        "search.html",
        body=body,
        form=form,
        hits=shown,
        first=first,
        has_next=goes_on and form.page < MOST_PAGES,
        is_cut=goes_on and form.page == MOST_PAGES,
        card=await asyncio.to_thread(
            answer_card.make_card, ctx, caller.scope, body, shown
        ),
        readings=read_as.list_readings(
            form, asked.plan, ctx.searches.facility, rendering.times_of(request)
        ),
        meant=read_as.find_meant(form, body["diagnostics"]),
        spans=shift_times.quick_spans(ctx.searches.calendar),
        untimed=read_as.without_times(form, asked.plan),
        words_at=_place_of_words(asked, body),
        opened=opened,
        empty=_kind_of_empty(body),
        is_grounded=(body["context_answer"] or {}).get("status") == "grounded",
        found_here=_FOUND,
        facets_here=_FACETS,
    )


def _place_of_words(asked: _Asked, body: Mapping[str, Any]) -> str | None:
    """Return where the answer is worded by a model; None: none would word it."""
    form, ctx = asked.form, asked.ctx
    rag = ctx.searches.limits.answers.rag
    is_told = bool(body["answer"]) and form.page == 1
    if not is_told or rag is None or rag.category != "llm":
        return None
    plan = ctx.searches.plan(form.request().question(None), asked.caller.scope)
    if not wanted_answer.is_by_model(plan.detail.synthesis, plan.tree):
        return None
    return rendering.Links(ctx.settings.base_path)("/search/words", form.query)


async def _parts(
    asked: _Asked, text: str, body: Mapping[str, Any]
) -> AsyncIterator[str]:
    """Yield the page up to its counts; then the counts, and the end of the page."""
    head, found, tail = text.partition(_FACETS)
    yield head
    if not found:
        return
    request, form = asked.request, asked.form
    # Begun with the search, the page is whole a third sooner, its hits a sixth later.
    facets, chips = await asyncio.gather(_count(asked), _follow_ups(asked, body))
    # A time that is clicked stands in place of one that was written.
    untimed = read_as.without_times(form, asked.plan)
    chart = histogram.draw((facets or {}).get("date"), untimed)
    yield rendering.render(
        request, "_facets.html", facets=facets, form=form, chart=chart
    )
    if form.page == 1:
        yield rendering.render(request, "_follow_ups.html", chips=chips)
    yield tail


async def _count(asked: _Asked) -> dict[str, Any] | None:
    """Return the counts of all that match; None: they were not made in time."""
    ctx, scope = asked.ctx, asked.caller.scope
    try:
        # As the hits are searched: what is approved counts, too.
        approved = await ctx.searches.glossaries.of(scope.tenant)
        question = asked.form.counts_request().question(None)
        plan = ctx.searches.plan(question, scope, approved)
        facets = await ctx.searches.count_facets(plan)
    except LogchordError as exc:
        # Without them the hits are still the hits.
        log.warning("page_not_counted", code=exc.error_code)
        return None
    if facets is None:
        log.warning("page_not_counted", code="failed_or_late")
    return facets


async def _follow_ups(asked: _Asked, body: Mapping[str, Any]) -> list[str]:
    form = asked.form
    if form.page > 1:
        return []
    return await find_follow_ups(asked.ctx, asked.caller, form.q, body)


def _goes_on(form: SearchForm, body: dict[str, Any]) -> bool:
    is_full = len(body["results"]) == PAGE_HITS * form.page
    return is_full and not body["complete"]


def _kind_of_empty(body: dict[str, Any]) -> str | None:
    """Return which empty page it is; None: it is none.

    Nothing was found, or is read yet, or not all was searched.
    """
    if body["results"]:
        return None
    if (body["context_answer"] or {}).get("code") == "branches_failed":
        return "unsearched"
    coverage = body["coverage"] or {}
    return "indexing" if coverage.get("waiting") else "nothing"
