"""Plans of saved searches: made anew each time, as a search would be at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from shared.access.scope import Scope
from shared.errors import InvalidRequestError
from shared.glossary import glossary_terms
from shared.postgres.pool import connection
from shared.search.pipelines.plan_settings import calendar_of, limits_of
from shared.search.query import plan as planning
from shared.search.query.glossary_expansions import Approved
from shared.search.query.plan import Plan, PlanLimits, SearchQuery
from shared.search.retrieval.search_context import SearchContext
from shared.settings.settings import Settings
from shared.times.calendar import Clock


@dataclass(frozen=True, slots=True)
class SavedPlans:
    """The plans of a saved search: by words, and by meaning if that is asked for."""

    by_words: Plan
    by_meaning: Plan | None


class SavedPlanner:
    """Plans saved searches by the settings, the facility's words and its glossary."""

    def __init__(self, settings: Settings, context: SearchContext) -> None:
        self._limits: PlanLimits = limits_of(settings)
        self._calendar = calendar_of(settings)
        self._context = context

    @property
    def calendar(self) -> Clock:
        """Return the facility's calendar, with the present time."""
        return replace(self._calendar, now=datetime.now(UTC))

    def plan(
        self,
        request: Mapping[str, Any],
        scope: Scope,
        *,
        semantic: bool,
        threshold: float | None,
    ) -> SavedPlans:
        """Return the plans of a request, or refuse what no new entry can be told by."""
        asked = SearchQuery(
            query=request.get("query", ""),
            mode="keyword",
            filters=request.get("filters", {}),
            exhaustive=True,
        )
        with connection(self._context.pool) as conn:
            pairs = glossary_terms.list_approved(conn, scope.tenant)
        approved = Approved(pairs, self._context.facility)
        by_words = self._made(asked, scope, approved)
        if not by_words.branches:
            message = "A saved search needs words or a filter."
            raise InvalidRequestError.field("request", "empty_query", message)
        _refuse_times(by_words)
        if not (semantic and by_words.asks_for_words and self.has_meaning):
            return SavedPlans(by_words, None)
        given = {} if threshold is None else {"similarity_threshold": threshold}
        meant = replace(asked, mode="semantic", exhaustive=False, ordering=given)
        return SavedPlans(by_words, self._made(meant, scope, approved))

    @property
    def has_meaning(self) -> bool:
        """Tell whether anything is searched by meaning here."""
        return "semantic" in self._limits.enabled

    def _made(self, asked: SearchQuery, scope: Scope, approved: Approved) -> Plan:
        facility = self._context.facility
        clock = self.calendar
        plan = planning.make_plan(asked, scope, self._limits, clock, facility)
        terms = approved.asked(plan.tree)
        return replace(plan, words=replace(plan.words, glossary=terms))


def _refuse_times(plan: Plan) -> None:
    """Refuse times: an alert is about what comes, whenever the search was saved."""
    filters = plan.filters
    ends = (filters.since, filters.until, filters.happened_since)
    if plan.time.happened or any((*ends, filters.happened_until)):
        message = "An alert is about what comes: leave the times out."
        raise InvalidRequestError.field("request", "time_not_here", message)
