"""What a question names is known as terms of entries before anything is searched."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.search.pipelines.plan_settings import ordering_of
from shared.search.query.context import ranking_context
from shared.search.query.ordering import Ordering
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.settings.settings import Settings
from shared.text.facility import devices
from shared.text.facility.facility import PLAIN
from shared.times.calendar import NO_CLOCK
from tests.unit.search.query.test_plan import SCOPE

THINGS = devices.parse_devices(
    "name,kind,system,aliases\n"
    "HCM01,device,,\nHCM02,device,,steerer two\nHCM03,device,,\nHCM05,device,,\n"
    "Vacuum,system,,\n"
)
OWN = replace(PLAIN, things=THINGS)
LIMITS = PlanLimits()
NOON = replace(NO_CLOCK, now=datetime(2026, 3, 2, 12, tzinfo=UTC))


def ordered(query: str, limits: PlanLimits = LIMITS, **fields: Any) -> Ordering:
    asked = SearchQuery(query, **{"mode": "hybrid", **fields})
    plan = make_plan(asked, SCOPE, limits, NOON, OWN)
    ordering = ranking_context.add_ranking_context(plan, OWN, NOON, asked.ambient)
    there = replace(plan, ordering=ordering)
    assert Plan.from_json(there.to_json()) == there
    return ordering


@pytest.mark.parametrize(
    ("query", "named", "beside"),
    [
        ("beam lost", [], []),
        ("steerer two warm", ["=device=hcm 2"], ["=device=hcm 1", "=device=hcm 3"]),
        ("HCM 5 is warm", ["=device=hcm 5"], []),
        ("HCM03 or HCM02", ["=device=hcm 3", "=device=hcm 2"], ["=device=hcm 1"]),
        ("bad vacuum", ["=system=vacuum"], []),
        # In no list, a name is known by how it is written.
        ("QF7 warm", ["=device=qf 7"], []),
        ("SR:C01-MG:PS1 off", ["sr:c01-mg:ps1", "i:sr:c01-mg:ps1"], []),
        # What is excluded, a size and a filter: no entry is better for these.
        ("pump -HCM03 at 300 mA device:HCM02", [], []),
    ],
)
def test_names_of_a_question_are_terms_and_so_is_what_is_next_to_them(
    query: str, named: list[str], beside: list[str]
) -> None:
    near = ordered(query).near
    # Also as another thing's alias.
    own = [one for one in near.get("named", []) if "~" not in one]
    others = [one for one in near.get("beside", []) if "~" not in one]
    assert (own, others) == (named, beside)


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("HCM03 warm", {"mode": "keyword"}),
        ("HCM03", {"mode": "auto"}),
        ("HCM03 warm", {"mode": "hybrid", "sort": "newest"}),
    ],
)
def test_where_all_hits_have_the_names_or_stand_by_time_nothing_is_looked_for(
    query: str, fields: dict[str, Any]
) -> None:
    assert ordered(query, **fields).near == {}


def test_a_question_of_many_names_looks_for_so_many_and_no_more() -> None:
    many = " ".join(f"QF{number}" for number in range(1, 99))
    assert len(ordered(many).near["named"]) == ranking_context.MAX_TERMS


def test_ages_are_counted_from_the_facilitys_day_if_they_count_at_all() -> None:
    assert ordered("beam").day is None
    limits = PlanLimits(ordering=Ordering(half_lives={"incident": 30.0}))
    assert ordered("beam", limits).day == "2026-03-02"


def test_settings_say_how_much_names_and_ages_count() -> None:
    shipped = ordering_of(Settings.load({}))
    assert (shipped.entity_factor, shipped.half_lives) == (1.2, {})
    own = {
        "LOGCHORD_UNIFIED_SEARCH__WEIGHTING__ENTITY": "1",
        "LOGCHORD_UNIFIED_SEARCH__FRESHNESS__HALF_LIFE_DAYS": '{"incident": 30}',
    }
    said = ordering_of(Settings.load(own))
    assert (said.entity_factor, said.half_lives) == (1.0, {"incident": 30.0})
    limits = PlanLimits(ordering=said)
    assert ordered("HCM03 warm", limits).near == {}
