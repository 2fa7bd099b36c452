"""Questions that a page offers: five states, and viable is what is grounded."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.answers.evaluate_suggestion import (
    Suggestion,
    evaluate_suggestion,
    find_readiness,
)
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.response.end_search import Beside, end_search
from tests.support.ended_searches import job_of
from tests.support.fixtures.asking import ANNA, BEN, Asking

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
NOWHERE: dict[str, Any] = {}


def write(asking: Asking) -> None:
    asking.write(
        EntryDraft(
            "api",
            "OPS-1",
            "Gate valve 8 closed because the compressed air had sagged to 3 bar.",
            entry_time=BEGIN,
            title="Gate valve 8 closed, beam lost",
        ),
        EntryDraft("api", "OPS-2", "Turbine 2 was greased.", entry_time=BEGIN),
        EntryDraft(
            "api", "P-1", "Coffee for anna.", entry_time=BEGIN, readers=("anna",)
        ),
    )


def evaluate(
    asking: Asking,
    query: str,
    scope: Scope = ANNA,
    within: dict[str, Any] = NOWHERE,
) -> Suggestion:
    plan = asking.plan(query, scope, synthesize=True)
    ready = find_readiness(asking.context, scope, within)
    return evaluate_suggestion(asking.context, plan, ready)


@pytest.mark.requirement("S4-61", "S4-72", "S4-74", "S4-75", "S4-76")
@pytest.mark.parametrize(
    ("query", "within", "state", "scope_ready"),
    [
        ("Why did gate valve 8 close?", {}, "grounded", True),
        ("Why did gate valve 8 explode?", {}, "needs_clarification", True),
        ("zebra", {}, "no_match", True),
        ("gate valve 8", {"kinds": ["procedure"]}, "scope_unready", False),
    ],
)
def test_a_question_is_viable_only_with_grounded_evidence(
    asking: Asking, query: str, within: dict[str, Any], state: str, *, scope_ready: bool
) -> None:
    write(asking)
    found = evaluate(asking, query, within=within)
    assert (found.state, found.scope_ready) == (state, scope_ready)
    assert found.viable is (state == "grounded")
    assert bool(found.evidence_count) is found.viable


@pytest.mark.requirement("S4-74")
def test_with_nothing_that_the_caller_may_see_the_corpus_is_not_ready(asking) -> None:
    write(asking)
    elsewhere = Scope("default", "carl", logbooks=("Elsewhere",))
    found = evaluate(asking, "Why did gate valve 8 close?", elsewhere)
    assert (found.state, found.viable) == ("corpus_unready", False)


def test_scopes_are_ready_by_each_of_their_parts(asking: Asking) -> None:
    asking.write(EntryDraft("api", "a", "HCM03 drifts", entry_time=BEGIN))
    for within, is_ready in (
        ({"sources": ["api"]}, True),
        ({"sources": ["elog"]}, False),
        ({"devices": ["HCM-3"]}, True),
        ({"devices": ["HCM-4"]}, False),
        ({"logbooks": ["Secret"]}, False),
    ):
        assert find_readiness(asking.context, ANNA, within).scope is is_ready, within


@pytest.mark.requirement("S4-76")
def test_what_only_others_may_read_makes_no_question_viable(asking: Asking) -> None:
    write(asking)
    assert evaluate(asking, "coffee for anna").viable
    assert evaluate(asking, "coffee for anna", BEN).state == "no_match"


@pytest.mark.requirement("S4-76")
def test_what_is_viable_is_grounded_when_it_is_asked_with_a_model(asking) -> None:
    write(asking)
    for query in ("Why did gate valve 8 close?", "turbine 2", "coffee for anna"):
        assert evaluate(asking, query).viable
        plan = asking.plan(query, mode="hybrid")
        job = job_of(asking.context, plan)
        arrived = asking.carried_out(plan)
        ended = end_search(
            asking.context, job, plan, arrived, Beside(answer_question)
        ).answer
        assert ended is not None
        assert ended.context_answer is not None
        assert ended.context_answer["status"] == "grounded", query


@pytest.mark.requirement("S4-77")
def test_no_job_is_kept_of_it(asking: Asking) -> None:
    write(asking)
    assert evaluate(asking, "Why did gate valve 8 close?").viable
    with connection(asking.pool) as conn:
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (0,)
