"""Questions that make a careless expression walk the same text again and again."""

from datetime import UTC, datetime

import pytest

from shared.access.scope import Scope
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.times.calendar import Clock
from tests.support.linear_cost import assert_linear

# As long as a request may make it; an installation may let all of it be searched for.
LONGEST = 10_000
LIMITS = PlanLimits(max_query_chars=LONGEST)
CLOCK = Clock(datetime(2026, 11, 23, tzinfo=UTC), "Europe/Berlin")


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "text",
    [
        *("a" * LONGEST + "!", "'\"", "(", ")", "((a ", "NOT ", "- ", "--", "AND OR "),
        *("date:", "date:2024..", "a:", "*", "?", "a* ", "SR:C??-RF* ", "~", "\\"),
        "[1",
        *("1 ", "9:9", "12:30 ", "2024-", "from 2024 to ", "since ", "last night and "),
        *("yesterday at ", "between 06:00 and ", "HCM 03 ", "hcm-", "a-1_", "1e", "^-"),
        *("\u00e4\u00df ", "\u6c34", "\u2019s", "a\u0301", "<!--", "&#", "\n", " "),
    ],
    ids=lambda text: text[:12].strip().encode("unicode_escape").decode() or "blank",
)
def test_a_hostile_question_costs_little(text: str) -> None:
    assert_linear(plan_of, (text * LONGEST)[:LONGEST])


def plan_of(text: str) -> None:
    make_plan(SearchQuery(query=text), Scope("default", "anna"), LIMITS, CLOCK)
