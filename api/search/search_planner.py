"""Questions planned as the settings, the facility's words and its rights have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from api.search.glossaries import Glossaries
from api.search.measured_scores import MeasuredScores
from shared.search.pipelines import installed_pipelines as pipelines
from shared.search.pipelines import plan_settings
from shared.search.query import plan as planning
from shared.search.query.context import ranking_context
from shared.search.query.glossary_expansions import NOTHING_APPROVED, Approved
from shared.search.query.plan import Plan, SearchQuery
from shared.search.query.plan_parts import PlanRecord
from shared.search.retrieval.search_context import make_search_context, no_encoder
from shared.search.retrieval.search_parameters import check_parameters

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from shared.access.cursors import Signer
    from shared.access.scope import Scope
    from shared.embedding.models.encoder_contract import CrossEncoder, Encoder
    from shared.postgres.pool import Pool
    from shared.search.jobs.job import StoredJob
    from shared.settings.settings import Settings
    from shared.times.calendar import Clock


class SearchPlanner:
    """One per process that plans searches, and what they are ended with."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        now: Callable[[], float],
        signer: Callable[[], Signer],
        opensearch: Callable[[], OpenSearch | None],
        encoder: Callable[[str], Encoder] = no_encoder,
        cross_encoder: Callable[[], CrossEncoder] | None = None,
    ) -> None:
        self.limits = plan_settings.limits_of(settings)
        self._calendar = plan_settings.calendar_of(settings)
        self.facility = plan_settings.facility_of(settings)
        self.context = make_search_context(
            settings,
            pool=pool,
            now=now,
            signer=signer,
            facility=self.facility,
            opensearch=opensearch,
            encoder=encoder,
            cross_encoder=cross_encoder,
        )
        self.glossaries = Glossaries(pool, self.facility)
        self.scores = MeasuredScores(
            pool,
            lambda scale: plan_settings.config_hash(settings, self.facility, scale),
        )

    @property
    def calendar(self) -> Clock:
        """Return the facility's calendar, with the present time."""
        return replace(self._calendar, now=datetime.now(UTC))

    def plan(
        self, question: SearchQuery, scope: Scope, approved: Approved = NOTHING_APPROVED
    ) -> Plan:
        """Return the plan of a question, or refuse it."""
        clock = self.calendar
        plan = planning.make_plan(question, scope, self.limits, clock, self.facility)
        asked = {plan.method, *plan.branches}
        composed = self.limits.pipelines
        taken = pipelines.list_parameters((plan.method, *plan.branches), composed)
        glossary = approved.asked(plan.tree)
        if not asked.isdisjoint(one.name for one in composed):
            # It may ask in other words than these.
            glossary = approved.pairs
        ordering = ranking_context.add_ranking_context(
            plan, self.facility, clock, question.ambient
        )
        return replace(
            plan,
            parameters=check_parameters(question.parameters, taken),
            ordering=replace(ordering, saturation=self.scores.scale),
            words=replace(plan.words, glossary=glossary),
            record=PlanRecord(question.request, self.scores.config_hash),
        )

    def again(self, job: StoredJob, scope: Scope) -> Plan:
        """Return the stored plan of a job, with the rights of the present caller."""
        # Dates stay what they were; a fault that was asked for is not asked for again.
        plan = Plan.from_values(job.plan)
        record = PlanRecord(plan.record.request, self.scores.config_hash, str(job.id))
        return replace(plan, scope=scope, fault=None, record=record)
