"""When a failed branch is tried once more."""

import time

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import errors
from shared.access.scope import Scope
from shared.postgres.pool import as_logchord_error
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.branch.retry import (
    MOST_WAIT_SECONDS,
    TIMES_USUAL,
    UNKNOWN_SECONDS,
    Paces,
    wait_for,
)
from tests.support.ended_searches import unasked


@pytest.mark.requirement("C44")
def test_it_is_tried_again_only_with_half_as_much_time_again_as_it_usually_takes():
    assert wait_for(errors.OpenSearchError(), 1.4, usual=1.0) is None
    wait = wait_for(errors.OpenSearchError(), 1.6, usual=1.0)
    assert wait is not None
    assert 1.6 - wait > TIMES_USUAL * 1.0


@pytest.mark.requirement("C44", "C25")
@given(
    code=st.sampled_from(sorted(errors.CODES)),
    left=st.floats(-1, 30),
    usual=st.floats(0, 10),
    asked_to_wait=st.none() | st.integers(0, 60),
)
def test_no_wait_outlasts_the_time_nor_falls_short_of_what_the_server_asks_for(
    code: str, left: float, usual: float, asked_to_wait: int | None
):
    error = errors.LogchordError(code=code, retry_after_seconds=asked_to_wait)
    wait = wait_for(error, left, usual)
    least = asked_to_wait or 0
    if wait is not None:
        assert error.retriable
        assert least < wait <= least + MOST_WAIT_SECONDS
        assert left - wait >= TIMES_USUAL * usual - 1e-9
    elif error.retriable:
        assert left - least <= TIMES_USUAL * usual


@pytest.mark.requirement("C25")
def test_what_is_not_retriable_is_never_tried_again():
    assert wait_for(errors.ConfigurationError(), 100.0, usual=0.0) is None
    late = errors.LogchordError(code="branch_timeout")
    assert wait_for(late, 100.0, usual=0.0) is None
    # What used up its own time would use up as much again.
    cancelled = as_logchord_error(psycopg.errors.QueryCanceled())
    assert cancelled.retriable
    assert wait_for(cancelled, 100.0, usual=0.0) is None
    ended = as_logchord_error(psycopg.errors.AdminShutdown())
    assert wait_for(ended, 100.0, usual=0.0) is not None
    assert wait_for(errors.EmbeddingOutageError(), 100.0, usual=0.0) is not None


def test_of_a_module_little_known_a_usual_time_is_taken_and_of_others_their_own():
    paces = Paces()
    for _ in range(4):
        paces.note("pg_fts", 9.0)
    assert paces.p95("pg_fts") == UNKNOWN_SECONDS
    for hundredths in range(1, 101):
        paces.note("pg_fts", hundredths / 100)
    assert paces.p95("pg_fts") == pytest.approx(0.95)
    assert paces.p95("semantic") == UNKNOWN_SECONDS


def test_what_took_long_a_while_ago_says_nothing_of_now():
    now = [0.0]
    paces = Paces(30.0, lambda: now[0])
    for _ in range(10):
        paces.note("hybrid", 2.9)
    assert (paces.p95("hybrid"), paces.usual("hybrid")) == (2.9, 2.9)
    now[0] = 30.1
    assert (paces.p95("hybrid"), paces.usual("hybrid")) == (UNKNOWN_SECONDS, None)
    for _ in range(5):
        paces.note("hybrid", 0.1)
    assert paces.p95("hybrid") == 0.1


@pytest.mark.requirement("C44")
def test_a_branch_that_did_not_search_says_nothing_of_how_long_it_takes():
    question = SearchQuery("-klystron", mode="semantic")
    plan = make_plan(question, Scope("default", "anna"), PlanLimits())
    paces = Paces()
    branch = Branch(
        plan, "semantic", time.monotonic() + 60, time.monotonic, paces=paces
    )
    for _ in range(10):
        (told,) = branch_run.carry_out(branch, unasked())
        assert (told.status, told.reason) == ("skipped", "empty_query")
    assert paces.p95("semantic") == UNKNOWN_SECONDS
