"""Plans of lists by time: of all matches, or of all entries that pass the filters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from shared.errors import InvalidRequestError
from shared.search.jobs.outcome import Diagnostic

if TYPE_CHECKING:
    from shared.search.query.plan import Plan, PlanLimits, SearchQuery

LISTING_MODULE = "newest"

# Sorted by time, the hits are all matches, however many, and each scores 1.
Sort = Literal["relevance", "newest", "oldest"]

# `rerank: true` is the default: on a list it is noted and not refused.
_SAID = "Results stand by time: nothing is reranked."
_UNRANKED = Diagnostic("info", "rank", "rerank_skipped", _SAID, "search")
# Options that choose or rank hits, which a list by time does not do.
_RANKING = ("rerank", "similarity_threshold", "strict")


def plan_listing(plan: Plan, question: SearchQuery, limits: PlanLimits) -> Plan | None:
    """Return the plan of a listing by time, or of no branch; None: the search ranks."""
    first = "oldest" if question.sort == "oldest" else "newest"
    if plan.asks_for_words:
        if question.sort == "relevance" and not question.exhaustive:
            return None
        if plan.method == "semantic":
            message = "By meaning nothing matches or not: this takes words."
            path = "exhaustive" if question.exhaustive else "sort"
            raise InvalidRequestError.field(path, "not_in_this_mode", message)
        reasoning = f"all that match by words are listed, {first} first"
    elif plan.filters or plan.tree is not None:
        reasoning = (
            f"there is nothing to find: what passes the filters is listed, {first}"
            " first"
        )
    else:
        reasoning = "a blank query without filters finds nothing"
        return replace(plan, method="keyword", branches=(), reasoning=reasoning)
    _refuse_unheard(question, limits, by_words=plan.asks_for_words)
    notes = (*plan.diagnostics, _UNRANKED) if question.asks_rerank else plan.diagnostics
    return replace(
        plan,
        method="keyword",
        branches=(LISTING_MODULE,),
        reasoning=reasoning,
        diagnostics=notes,
        sort=question.sort,
        exhaustive=question.exhaustive,
        words=replace(plan.words, any_word=False),
    )


def _refuse_unheard(
    question: SearchQuery, limits: PlanLimits, *, by_words: bool
) -> None:
    """Refuse the options that a list by time would ignore, naming each."""
    if question.by_thread:
        message = "A list by time, or of all that match, has every entry of a thread."
        raise InvalidRequestError.field("collapse", "not_by_time", message)
    if not by_words:
        return
    said = {name: question.ordering.get(name) for name in _RANKING}
    said["modules"] = question.modules
    others = {*limits.outside, *(one.name for one in limits.pipelines)}
    said["mode"] = question.mode if question.mode in others else None
    for name, value in said.items():
        if value is not None and value is not False:
            message = f"{name}: a list by time, or of all that match, heeds words only."
            raise InvalidRequestError.field(name, "not_by_time", message)
