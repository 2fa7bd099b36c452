"""What an answer says beside its hits: who marks their texts, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from shared.errors import LogchordError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.search.absence import absence, near_misses, outside_time_range
from shared.search.absence.absence import PRESENT, Absence
from shared.search.absence.near_misses import NearMisses
from shared.search.query.compiled.compiled_question import NOTHING_ASKED, compiled
from shared.search.query.plan import Plan
from shared.search.response import engine_queries
from shared.search.results import highlights, visible_expansions
from shared.search.results.conclude import Conclusion
from shared.search.results.highlights import Highlighter
from shared.search.results.result_page import ResultPage
from shared.search.results.visible_expansions import Became
from shared.search.retrieval.engines.remaining_time import Remaining
from shared.search.retrieval.module_contract import Ask, Ground
from shared.search.retrieval.modules import hidden_count

if TYPE_CHECKING:
    from shared.postgres.pool import Pool
    from shared.text.facility.facility import Facility

log = get_logger()

# Of what is left, for a number that no hit depends on.
HIDDEN_MS, HIDDEN_SHARE = 300, 0.3
# With less time left, that nothing was found is told and no more: it must not be late.
LEAST_MS = 200


class Beside(NamedTuple):
    """What one answer needs that its hits do not hold."""

    texts: Highlighter
    absence: Absence = PRESENT
    # How many match that the caller may not see; None: not counted.
    hidden: int | None = None
    # What words of the question were taken for, and with `debug` what was sent.
    became: Became = visible_expansions.NOTHING
    sent: Mapping[str, object] = MappingProxyType({})


def build_response_parts(
    pool: Pool,
    plan: Plan,
    conclusion: Conclusion,
    page: ResultPage,
    facility: Facility,
    timeout_ms: int,
) -> Beside:
    """Return it; why a page is empty is read only where one is."""
    left = Remaining.lasting(timeout_ms)
    texts = Highlighter(NOTHING_ASKED, facility)
    if page or near_misses.compares(plan, conclusion):
        languages = {shown.row.language for shown in page}
        told = conclusion.branches
        texts = highlights.reader(pool, plan, told, facility, languages)
    unseen = _hidden(pool, plan, facility, timeout_ms)
    taken = _became(pool, plan, conclusion, page, texts, facility)
    sent: Mapping[str, object] = {}
    if plan.debug:
        known = taken.known(texts.known)
        sent = engine_queries.describe_engine_queries(
            pool, plan, conclusion, known, facility, left.ms
        )
    elsewhen = outside_time_range.count_outside_time_range(
        pool, plan, facility, left.ms
    )
    if page:
        found = Absence(relaxation=elsewhen)
        return Beside(texts, found, unseen, became=taken, sent=sent)
    if not plan.branches or left.ms < LEAST_MS:
        return unread(plan, conclusion)._replace(hidden=unseen, sent=sent)
    said = absence.explain_empty_page(pool, plan, conclusion, texts.question, left.ms)
    if elsewhen is not None:
        # Filters are meant: what they keep out stands in the summary.
        said = replace(said, relaxation=elsewhen)
    return Beside(texts, said, unseen, sent=sent)


def _became(
    pool: Pool,
    plan: Plan,
    conclusion: Conclusion,
    page: ResultPage,
    texts: Highlighter,
    facility: Facility,
) -> Became:
    """Return what the question's words were taken for: of most there is nothing."""
    facility = synonyms.widened(facility, plan.glossary)
    if not page or not (texts.known or facility.glossary):
        return visible_expansions.NOTHING
    ways = visible_expansions.ways_of(texts.question, texts.known, facility)
    hits = [shown.item.entry_id for shown in page]
    if plan.debug:
        hits = [item.entry_id for item in conclusion.ranked]
    return visible_expansions.load_visible_expansions(pool, plan.scope, ways, hits)


def _hidden(pool: Pool, plan: Plan, facility: Facility, timeout_ms: int) -> int | None:
    """Return the number where it may be told, and can be in time."""
    ms = min(HIDDEN_MS, int(HIDDEN_SHARE * timeout_ms))
    if not plan.acl_honesty or not plan.branches or ms <= 0:
        return None
    try:
        return hidden_count.count(Ask.lasting(plan, ms / 1000), Ground(pool, facility))
    except LogchordError as exc:
        log.warning("hidden_not_counted", code=exc.error_code)
        return None


def unread(plan: Plan, conclusion: Conclusion) -> Beside:
    """Return what is known without asking anybody."""
    texts = Highlighter(compiled(plan.tree, max_terms=plan.max_terms))
    if conclusion.ranked:
        return Beside(texts)
    return Beside(texts, absence.build_absence(plan, conclusion, None, NearMisses()))
