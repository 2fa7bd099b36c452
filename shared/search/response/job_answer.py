"""Reads answers of ended jobs: their entries are read again, with today's rights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from shared.access.scope import Scope
from shared.entries.reading.read_entries import ListingPosition
from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.jobs import verdict
from shared.search.jobs.compatibility import read_fields
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import FACETS, Outcome
from shared.search.jobs.verdict import State
from shared.search.query.list_by_time import LISTING_MODULE
from shared.search.query.plan import Plan
from shared.search.query.result_detail import Amount
from shared.search.query.sub_queries import sub_queries_of
from shared.search.ranking import fold
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.fusion import rrf_contrib
from shared.search.ranking.order_hits import order_hits
from shared.search.ranking.ranked_hits import Ranked, RankedHits
from shared.search.response import end_search, response_parts
from shared.search.response.pinned_answer import read_pinned_answer
from shared.search.response.respond import is_cut, is_under_window, respond
from shared.search.response.search_answer import SearchAnswer, branch_body, trimmed
from shared.search.results import highlights, paging, ranking_features
from shared.search.results.conclude import Conclusion
from shared.search.results.mark_passages import make_marker, mark_passages
from shared.search.results.result_page import ResultPage, read_page
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import facets, newest
from shared.search.retrieval.search_context import SearchContext
from shared.times.rfc3339 import timestamp

log = get_logger()

READ_MS = 2000
_ANSWERED = ("done", "partial")


@dataclass(frozen=True, slots=True)
class JobReader:
    """Who reads a stored job, and the context to read it with."""

    context: SearchContext
    scope: Scope
    # Whether the reader may be told how many matches they may not see.
    acl_honesty: bool = False
    make_cards: end_search.MakeCards = end_search.no_cards
    # Makes the answer where whoever was to end the job did not get to it.
    answer_question: end_search.AnswerQuestion = end_search.no_answer

    def plan_of(self, stored: StoredJob) -> Plan:
        """Return a job's plan with the reader's scope: it decides what is seen."""
        # An agent's questions are known at its end only, so they stand in the ranking.
        asked = (stored.ranked or {}).get("asked", {})
        plan = Plan.from_values({**stored.plan, **asked})
        detail = replace(plan.detail, acl_honesty=self.acl_honesty)
        return replace(plan, scope=self.scope, detail=detail)


def job_body(
    reader: JobReader, stored: StoredJob, running: Sequence[Outcome]
) -> dict[str, Any]:
    """Return a job as its owner sees it, with its answer once there is one."""
    branches = branches_of(stored) if stored.ended_at else list(running)
    asked = sub_queries_of({**stored.plan, **(stored.ranked or {}).get("asked", {})})
    answer = read_answer(reader, stored)
    return {
        **job_line(stored, is_running=bool(running)),
        "branches": [branch_body(one, asked) for one in branches],
        "response": None if answer is None else answer.to_json(),
        "replay": None,
    }


def job_line(stored: StoredJob, *, is_running: bool = False) -> dict[str, Any]:
    """Return the state of a job, without its hits."""
    waits = "running" if is_running else "queued"
    return {
        "job_id": str(stored.id),
        "state": stored.state if stored.ended_at else waits,
        "cancelled": stored.cancelled,
        "queue_position": None,
        "created_at": timestamp(stored.created_at),
        "deadline_at": timestamp(stored.deadline_at),
        "ended_at": timestamp(stored.ended_at),
        "request": stored.request,
        "branches": [],
        "response": None,
        "error": stored.error,
    }


def read_answer(reader: JobReader, stored: StoredJob) -> SearchAnswer | None:
    """Return the answer to a job, or None where it has none."""
    if stored.state not in _ANSWERED:
        return None
    plan, conclusion, best = read_hits(reader, stored)
    page = best[: plan.limit]
    runs = fold.group_runs(conclusion.order.items)
    ended = stored.ended_at or stored.deadline_at
    took = {"total": round((ended - stored.created_at).total_seconds() * 1000, 3)}
    following = paging.following(reader.context.signer, plan, stored.id, runs, page)
    marker = make_marker(reader.context, plan, conclusion, page)
    hits = mark_passages(reader.context, plan.scope.tenant, page, marker)
    parts = response_parts.build_response_parts(
        reader.context, plan, conclusion, hits, marker, READ_MS
    )
    if stored.ranked is None:
        found = end_search.FoundPage(
            reader.context, plan, conclusion, best, parts.covered
        )
        answer = reader.answer_question(found, READ_MS)
    else:
        answer = read_pinned_answer(
            reader.context.pool, plan.scope, stored.ranked.get("answer"), READ_MS
        )
    cards = reader.make_cards(reader.context, plan, best, READ_MS)
    parts = parts._replace(cards=cards)
    return respond(plan, stored.id, conclusion, hits, parts, took, following, answer)


def read_hits(
    reader: JobReader, stored: StoredJob
) -> tuple[Plan, Conclusion, ResultPage]:
    """Return the plan and the conclusion of an ended job, and its best hits read again.

    They are those of its page, or as many as answers and cards are made of.
    """
    plan = reader.plan_of(stored)
    branches = _counted_again(reader, plan, branches_of(stored))
    order = order_of(reader, stored, plan, branches)
    conclusion = Conclusion(
        cast("State", stored.state),
        tuple(branches),
        order,
        degraded=verdict.is_degraded(branches),
    )
    runs = fold.group_runs(order.items)
    least = end_search.EVIDENCE_HITS
    best = read_page(reader.context.pool, plan, runs, READ_MS, least=least)
    return plan, conclusion, best


def _counted_again(
    reader: JobReader, plan: Plan, branches: Sequence[Outcome]
) -> list[Outcome]:
    """Return the branches with today's facets, or without if they take too long."""
    if not any(one.name == FACETS and not one.failed for one in branches):
        return list(branches)
    ask = Ask.lasting(plan, READ_MS / 1000)
    try:
        counts = facets.again(ask, reader.context)
    except LogchordError as exc:
        log.warning("facets_not_counted_again", code=exc.error_code)
        counts = None
    return [
        replace(one, counts=counts) if one.name == FACETS else one for one in branches
    ]


def results(
    reader: JobReader,
    stored: StoredJob,
    after: Sequence[Any],
    limit: int | None,
    amount_of: Callable[[Amount], Amount] = lambda own: own,
) -> dict[str, Any]:
    """Return a page of a job's window from a place on, its entries read again.

    A job that has not ended has no page yet; its cursor begins the window.
    """
    plan = reader.plan_of(stored)
    amount = amount_of(plan.detail.amount)
    plan = replace(plan, detail=replace(plan.detail, amount=amount))
    if limit is not None:
        # A page by time is cut to the window, however long it may be.
        plan = replace(plan, limit=limit, window=max(plan.window, limit))
    if plan.is_listing and stored.state in _ANSWERED:
        return _listed(reader, stored, plan, after)
    place = int(after[0])
    runs, at, page = [], place, []
    if stored.state in _ANSWERED:
        order = order_of(reader, stored, plan, branches_of(stored))
        runs = fold.group_runs(order.items)
        page = read_page(reader.context.pool, plan, runs[place:], READ_MS)
        at = paging.place_after(runs, page)
    more = stored.ended_at is None or at < len(runs)
    # How many hits of the page the caller could see then and cannot see now.
    removed = max(0, at - place - len(page)) if stored.ended_at else 0
    following = [at] if more else None
    return _page_body(reader, stored, plan, page, place, removed, following)


def _page_body(
    reader: JobReader,
    stored: StoredJob,
    plan: Plan,
    page: ResultPage,
    place: int,
    removed: int,
    following: list[Any] | None,
) -> dict[str, Any]:
    """Return a page from a place on, and the cursor for the place that follows it."""
    marker = highlights.make_highlighter(reader.context, plan, branches_of(stored))
    hits = mark_passages(reader.context, plan.scope.tenant, page, marker, place + 1)
    items, cut = trimmed(hits, plan.detail.amount)
    cursor = None
    if following is not None:
        owned = paging.binding(reader.scope, stored.id, plan.limit)
        cursor = reader.context.signer().make(following, owned)
    return {
        "job_id": str(stored.id),
        "state": stored.state if stored.ended_at else "running",
        "items": items,
        "cut": cut,
        "removed": removed,
        "next_cursor": cursor,
        "error": stored.error,
    }


def window(reader: JobReader, stored: StoredJob) -> tuple[Plan, ResultPage, bool]:
    """Return a job's whole window, read again, and whether it holds all hits found."""
    plan = reader.plan_of(stored)
    if stored.state not in _ANSWERED:
        return plan, [], False
    branches = branches_of(stored)
    order = order_of(reader, stored, plan, branches)
    runs = fold.group_runs(order.items)
    whole = replace(plan, limit=len(runs))
    # A file does not tell which values are the newest, so they are not read.
    page = read_page(reader.context.pool, whole, runs, READ_MS, with_values=False)
    has_all = is_under_window(plan, branches, order)
    found_all = has_all and not is_cut(plan, branches)
    return plan, page, stored.state == "done" and found_all


def _listed(
    reader: JobReader, stored: StoredJob, plan: Plan, after: Sequence[Any]
) -> dict[str, Any]:
    """Return a page by time, searched now: a list may be longer than any window."""
    first, *behind = after
    place = None
    if behind:
        place = ListingPosition(datetime.fromisoformat(behind[0]), UUID(behind[1]))
    ask = replace(Ask.lasting(plan, READ_MS / 1000), limit=plan.limit + 1)
    rows = newest.following(ask, reader.context, place or ListingPosition())
    shown = rows[: plan.limit]
    found = Outcome(
        name=LISTING_MODULE,
        status="ok",
        unit=find_module(LISTING_MODULE).unit,
        hits=tuple(newest.hit(plan, row, n) for n, row in enumerate(shown, first + 1)),
    )
    items = order_hits([found], Facts(), plan).items
    further = [_further(one, n, plan) for n, one in enumerate(items, first + 1)]
    page = read_page(reader.context.pool, plan, fold.group_runs(further), READ_MS)
    following = None
    if len(rows) > len(shown):
        last = paging.behind(shown[-1].entry_time, str(shown[-1].id))
        following = [first + len(shown), *last]
    removed = len(shown) - len(page)
    return _page_body(reader, stored, plan, page, first, removed, following)


def _further(item: Ranked, place: int, plan: Plan) -> Ranked:
    """Return a hit of a later page, with the contribution of its place in the list."""
    worth = rrf_contrib(place, plan.rrf_k)
    return replace(
        item, ranks={LISTING_MODULE: place}, contrib={LISTING_MODULE: worth}, rrf=worth
    )


def branches_of(stored: StoredJob) -> list[Outcome]:
    """Return the stored outcomes of a job's branches."""
    return [read_fields(Outcome, one) for one in stored.branches or ()]


def order_of(
    reader: JobReader, stored: StoredJob, plan: Plan, branches: Sequence[Outcome]
) -> RankedHits:
    """Return the order that a job ended with."""
    if stored.ranked is None:
        return order_hits(
            branches,
            ranking_features.load_ranking_features(
                reader.context, plan, branches, READ_MS
            ),
            plan,
        )
    return read_order(stored.ranked)


def read_order(values: Mapping[str, Any]) -> RankedHits:
    """Read an order back from a stored job; fields that it lacks are empty."""
    return read_fields(RankedHits, {**values, "items": values["window"]})
