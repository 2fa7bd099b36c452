"""What an agent's closer looks tell: no people, and nothing of excluded logbooks."""

import time
from dataclasses import replace
from typing import Any, cast

import pytest

from shared.access.scope import Scope
from shared.agents import tools
from shared.agents.run_call import carry_out_call, plan_call
from shared.postgres.pool import Pool
from shared.search.query import modes
from shared.search.query.filters.filters import Filters
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.modules import filter_options
from shared.search.retrieval.modules.filter_options import Options
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.search_parameters import ParameterDescriptor
from shared.search.retrieval.tool_schema import SearchArguments
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
def test_values_of_excluded_logbooks_are_not_asked_for(monkeypatch, before) -> None:
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


@pytest.mark.requirement("S0-67")
@pytest.mark.parametrize(
    ("asked", "called", "span"),
    [
        ({}, {}, (None, None)),
        (
            {"date_from": "2026-03-01", "date_to": "2026-03-03"},
            {},
            ("2026-03-01T00:00:00.000+00:00", "2026-03-04T00:00:00.000+00:00"),
        ),
        (
            {"date_from": "2026-03-01", "date_to": "2026-03-03", "source": "api"},
            {"start_date": "2025-06-01"},
            ("2025-06-01T00:00:00.000+00:00", None),
        ),
    ],
    ids=["none", "the request's", "the call's"],
)
def test_times_are_the_call_s_else_the_request_s(asked, called, span) -> None:
    plan = make_plan(
        SearchQuery("klystron", mode="agent", filters=asked),
        Scope("default", "anna"),
        PlanLimits(opensearch=False, pipelines=PIPELINES),
        Clock(),
    )
    tool = tools.list_tools(plan)["keyword"]
    wanted = plan_call(plan, tool, tool.read({"query": "trip", **called}), Clock())
    assert (wanted.filters.since, wanted.filters.until) == span
    # All else that the request filters by holds.
    assert wanted.filters.sources == plan.filters.sources


def test_what_a_package_takes_is_an_argument_held_to_its_bounds() -> None:
    taken = tools.add_parameters(
        SearchArguments,
        (
            ParameterDescriptor("days", "Days back", "int", default=7, min=1, max=30),
            ParameterDescriptor(
                "kind", "Kind", "select", "pin", options=("pin", "map")
            ),
            # What every search takes is taken from nobody.
            ParameterDescriptor("limit", "Mine", "text", default=""),
        ),
    )
    tool = tools.AgentTool("alarms", "What rang.", taken, "alarms")
    told = tool.describe()["function"]["parameters"]["properties"]
    assert (told["days"]["type"], told["days"]["description"]) == (
        "integer",
        "Days back",
    )
    assert told["limit"]["type"] == "integer"
    read = tool.read({"query": "x", "days": 30}).model_dump()
    assert (read["days"], read["kind"]) == (30, "pin")
    for wrong in ({"days": 31}, {"days": "x"}, {"kind": "car"}, {"day": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            tool.read({"query": "x", **wrong})
