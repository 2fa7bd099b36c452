"""What branches came to, and what a search concludes from it."""

import json
from dataclasses import replace

import pytest

from shared import errors
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.search.jobs import outcome
from shared.search.jobs.outcome import Candidate, Diagnostic, Outcome
from shared.search.query import deadline_shares
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response import response_parts
from shared.search.response.respond import nothing_asked, respond
from shared.search.results.conclude import conclude

PLAN = make_plan(
    SearchQuery("beam", mode="hybrid"), Scope("default", "anna"), PlanLimits()
)
HIT = Candidate(
    entry_id=str(uuid7()),
    chunk_id="default/api/1#0003",
    score=0.7,
    kind="note",
    source="api",
    origin="human",
    entry_time="2026-01-01T00:00:00+00:00",
    revision=2,
    span=(10, 20),
)
FOUND = Outcome("semantic", "ok", "cosine", candidates=1, kept=1, hits=(HIT,))
EMPTY = Outcome("os_bm25", "empty", "bm25")
DOWN = outcome.make_failure("os_bm25", "bm25", errors.OpenSearchError())
INSTEAD = Outcome("pg_fts", "ok", "ts_rank", fallback_for="os_bm25", hits=(HIT,))


def test_outcomes_travel_as_json_and_come_back_the_same() -> None:
    note = Diagnostic("info", "retrieve.pg_fts", "relaxed_to_any_term", "x", "query")
    told = [DOWN, replace(INSTEAD, diagnostics=(note,)), FOUND]
    assert outcome.from_json(outcome.to_json(told)) == told


def test_all_branches_in_is_done() -> None:
    ended = conclude(PLAN, {0: [EMPTY], 1: [FOUND]})
    assert (ended.state, ended.degraded, len(ended.ranked)) == ("done", False, 1)


def test_a_fallback_is_done_but_degraded_and_both_outcomes_are_kept() -> None:
    ended = conclude(PLAN, {0: [DOWN, INSTEAD], 1: [FOUND]})
    assert (ended.state, ended.degraded) == ("done", True)
    assert [b.name for b in ended.branches] == ["os_bm25", "pg_fts", "semantic"]
    assert ended.ranked[0].found_by == ["pg_fts", "semantic"]


def test_an_open_circuit_is_degraded_when_the_fallback_took_over() -> None:
    skipped = Outcome("os_bm25", "skipped", "bm25", reason="circuit_open")
    ended = conclude(PLAN, {0: [skipped, INSTEAD], 1: [FOUND]})
    assert (ended.state, ended.degraded) == ("done", True)


@pytest.mark.requirement("C07")
def test_where_opensearch_is_off_postgres_says_so_and_nothing_is_degraded() -> None:
    question, scope = SearchQuery("beam", mode="keyword"), Scope("default", "anna")
    plan = make_plan(question, scope, PlanLimits(opensearch=False))
    assert plan.instead_of("pg_fts") == "os_bm25"
    assert Plan.from_json(plan.to_json()).instead_of("pg_fts") == "os_bm25"
    assert PLAN.instead_of("pg_fts") is None
    ended = conclude(plan, {0: [replace(INSTEAD, fallback_for="os_bm25")]})
    assert (ended.state, ended.degraded) == ("done", False)
    (late,) = conclude(plan, {}).branches
    assert (late.name, late.fallback_for) == ("pg_fts", "os_bm25")


@pytest.mark.requirement("F26")
def test_a_branch_that_never_came_is_named_as_late_and_never_as_empty() -> None:
    ended = conclude(PLAN, {1: [FOUND]})
    assert (ended.state, ended.degraded) == ("partial", True)
    missing = ended.branches[0]
    assert (missing.name, missing.status) == ("os_bm25", "timeout")
    assert missing.error_code == "branch_timeout"


def test_an_empty_branch_is_not_a_failed_one() -> None:
    ended = conclude(PLAN, {0: [EMPTY], 1: [replace(FOUND, status="empty", hits=())]})
    assert (ended.state, ended.degraded, ended.ranked) == ("done", False, ())


def test_nothing_heard_by_the_deadline_is_a_timeout() -> None:
    ended = conclude(PLAN, {})
    assert ended.state == "failed"
    assert isinstance(ended.error, errors.SearchTimeoutError)
    assert [b["name"] for b in ended.error.details["branches"]] == [
        "os_bm25",
        "semantic",
    ]


def test_all_failed_is_retriable_only_if_every_failure_was() -> None:
    fatal = outcome.make_failure(
        "semantic", "cosine", errors.EmbeddingGenerationError()
    )
    again = replace(DOWN, name="semantic")
    mixed = conclude(PLAN, {0: [DOWN], 1: [fatal]})
    assert isinstance(mixed.error, errors.SearchExecutionError)
    assert mixed.error.severity is errors.Severity.CRITICAL
    both = conclude(PLAN, {0: [DOWN], 1: [again]})
    assert both.error is not None
    assert both.error.severity is errors.Severity.RETRIABLE


def test_equal_endings_have_equal_hashes_and_empty_ones_are_answers() -> None:
    ended = conclude(PLAN, {0: [EMPTY], 1: [EMPTY]})
    parts = response_parts.parts_without_reading(PLAN, ended)
    one = respond(PLAN, uuid7(), ended, [], parts, {})
    two = respond(PLAN, uuid7(), ended, [], parts, {})
    assert one.stability_hash == two.stability_hash
    blank: Plan = replace(PLAN, branches=())
    assert nothing_asked(blank).state == "done"


@pytest.mark.parametrize("deadline_ms", [100, 2000, 6000])
def test_branches_end_before_the_api_gives_up_and_it_before_the_deadline(deadline_ms):
    deadline = 1000.0
    branch_end = deadline_shares.branch_end(deadline, deadline_ms)
    answer_end = deadline_shares.answer_end(deadline, deadline_ms)
    assert deadline - deadline_ms / 1000 < branch_end < answer_end < deadline


def test_what_a_newer_release_says_beside_the_rest_is_left_out() -> None:
    told = json.loads(outcome.to_json([EMPTY]))
    told[0]["said_later"] = 1
    assert outcome.from_json(json.dumps(told)) == [EMPTY]
    values = json.loads(PLAN.to_json())
    values["said_later"] = values["ordering"]["said_later"] = 1
    assert Plan.from_values(values) == Plan.from_json(PLAN.to_json())
