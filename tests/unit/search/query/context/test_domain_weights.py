"""Which kinds of entries count more for a question, and by how much."""

import pytest

from shared.access.scope import Scope
from shared.search.query.context.ranking_context import weigh_domains
from shared.search.query.ordering import Ordering
from shared.search.query.plan import SearchQuery, make_plan
from tests.unit.search.query.test_plan import LIMITS

ALL_WEIGH = Ordering(
    domain_weights={"incident": 0.9},
    domain_factor=1.2,
    intent_factor=1.1,
    role_factor=1.3,
    role_domains={"rf": ["maintenance"]},
)


@pytest.mark.requirement("S4-10", "S4-84")
@pytest.mark.parametrize(
    ("query", "groups", "weights"),
    [
        ("beam lifetime", (), {"incident": 0.9}),
        ("work order of pump 3", (), {"incident": 0.9, "maintenance": 1.2}),
        ("why did the pump stop", (), {"incident": 0.9 * 1.1, "maintenance": 1.1}),
        ("beam lifetime", ("rf", "guests"), {"incident": 0.9, "maintenance": 1.3}),
        (
            "why was the maintenance late",
            ("rf",),
            {"incident": 0.9 * 1.1, "maintenance": 1.2 * 1.1 * 1.3},
        ),
    ],
)
def test_kinds_asked_for_fit_for_and_ones_own_count_more(query, groups, weights):
    scope = Scope("default", "anna", groups)
    plan = make_plan(SearchQuery(query, mode="hybrid"), scope, LIMITS)
    found = weigh_domains(ALL_WEIGH, query, plan.intent, groups)
    assert found == pytest.approx(weights)


def test_as_shipped_no_kind_counts_more() -> None:
    assert weigh_domains(Ordering(), "why work orders", "troubleshoot", ("rf",)) == {}
