"""What an agent's closer looks tell: no people, and nothing of excluded logbooks."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

import pytest

from shared.access.scope import Scope
from shared.agents import tools
from shared.agents.carry_out_call import carry_out_call
from shared.postgres.pool import Pool
from shared.search.query import modes
from shared.search.query.filters.filters import Filters
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.modules import filter_options
from shared.search.retrieval.modules.filter_options import Options
from shared.search.retrieval.search_context import SearchContext
from shared.times.calendar import Clock

PIPELINES = (modes.make_agent_mode(("keyword",), 120_000),)
PLAN = make_plan(
    SearchQuery("klystron", mode="agent"),
    Scope("default", "anna"),
    PlanLimits(opensearch=False, pipelines=PIPELINES),
    Clock(),
)


@pytest.mark.requirement("I23")
def test_no_names_of_people_are_listed() -> None:
    tool = tools.list_tools(PLAN)[tools.FILTER_VALUES]
    assert "author" not in str(tool.describe())
    with pytest.raises(ValueError, match="field"):
        tool.read({"field": "author"})


@pytest.mark.parametrize("before", [None, ("Water",)])
def test_values_of_excluded_logbooks_are_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, before: tuple[str, ...] | None
) -> None:
    asked: list[Filters] = []

    def list_options(plan: Plan, *_: Any, **__: Any) -> Options:
        asked.append(plan.filters)
        return Options((("RF", 2),), exact=True)

    monkeypatch.setattr(filter_options, "list_options", list_options)
    tool = tools.list_tools(PLAN)[tools.FILTER_VALUES]
    plan = replace(PLAN, filters=Filters(sources=("api",), not_logbooks=before))
    context = SearchContext(pool=cast("Pool", None))
    (found,) = carry_out_call(
        context,
        plan,
        tool,
        tool.read({"field": "logbook"}),
        Clock(),
        time.time() + 5,
        time.time,
        frozenset({"Safety"}),
    )
    assert found.counts == {"field": "logbook", "values": [{"value": "RF", "count": 2}]}
    wanted = tuple(sorted({"Safety", *(before or ())}))
    assert asked == [Filters(sources=("api",), not_logbooks=wanted)]
