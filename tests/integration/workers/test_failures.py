"""A row whose work failed is due again, or quarantined with the reason."""

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from structlog.testing import capture_logs

from shared.errors import (
    DatabaseConnectionError,
    EmbeddingGenerationError,
    InternalError,
    OpenSearchError,
)
from shared.log import get_logger
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import connection
from shared.work import due_work
from shared.work.leases import MAX_STRIKES
from tests.support.saving import save_many
from workers.runtime import task
from workers.runtime.task import each


@pytest.fixture
def ctx(make_context):
    return make_context(BROKER_URL="redis://127.0.0.1:9/0")


@pytest.fixture
def take(ctx, conn):
    """Claim entries that have failed some times before."""

    def take(count: int = 1, attempts: int = 0, strikes: int = 0):
        save_many(conn, count, stages=[METADATA_STAGE])
        conn.execute("UPDATE work SET attempts = %s, strikes = %s", (attempts, strikes))
        conn.commit()
        with connection(ctx.pool) as mine:
            return due_work.claim(mine, METADATA_STAGE, limit=count)

    return take


def fail(error: Exception):
    def step(_: object) -> None:
        raise error

    return step


def due(conn):
    conn.rollback()
    return conn.execute(
        "SELECT attempts, claim, due_at > now(), last_error ->> 'code' FROM work"
        " WHERE stage = 'metadata'"
    ).fetchall()


def aside(conn):
    conn.rollback()
    return conn.execute(
        "SELECT stage, attempts, error ->> 'code',"
        "       error -> 'details' ->> 'technical' FROM quarantine"
    ).fetchall()


@pytest.mark.parametrize("error", [OpenSearchError(), DatabaseConnectionError()])
def test_a_backends_failure_gives_the_attempt_back_however_often(
    ctx, conn, take, error
):
    each(ctx, take(attempts=7), fail(error))

    assert due(conn) == [(7, None, True, error.error_code)]
    assert aside(conn) == []


def test_a_soft_time_limit_makes_the_entry_due_again_and_counts(ctx, conn, take):
    each(ctx, take(), fail(SoftTimeLimitExceeded()))

    assert due(conn) == [(1, None, True, "task_timeout")]
    assert aside(conn) == []


def test_a_failure_of_its_own_is_tried_again(ctx, conn, take):
    error = EmbeddingGenerationError()

    each(ctx, take(attempts=5, strikes=MAX_STRIKES - 2), fail(error))

    assert due(conn) == [(6, None, True, error.error_code)]
    assert aside(conn) == []


def test_a_failure_of_its_own_is_put_aside_at_its_third_strike(ctx, conn, take):
    error = EmbeddingGenerationError()

    each(ctx, take(attempts=5, strikes=MAX_STRIKES - 1), fail(error))

    assert due(conn) == []
    assert aside(conn) == [(METADATA_STAGE, 6, error.error_code, None)]


def test_an_error_that_no_retry_helps_is_put_aside_at_once_with_the_reason(
    ctx, conn, take
):
    each(ctx, take(), fail(ZeroDivisionError("division by zero")))

    assert due(conn) == []
    reason = "ZeroDivisionError: division by zero"
    assert aside(conn) == [(METADATA_STAGE, 1, "internal_error", reason)]


def test_one_entrys_failure_is_its_own_alone(ctx, conn, take):
    claims = take(count=5)
    done = []

    def step(claim) -> None:
        if claim is claims[2]:
            raise ZeroDivisionError
        done.append(claim)

    each(ctx, claims, step)

    assert done == [*claims[:2], *claims[3:]]
    assert len(aside(conn)) == 1


def test_an_edit_meanwhile_does_not_wait_for_what_its_old_text_did(ctx, conn, take):
    claims = take(attempts=2)
    with connection(ctx.pool) as other:
        due_work.add(other, "default", [claims[0].entry_id], [METADATA_STAGE])

    each(ctx, claims, fail(OpenSearchError()))

    ((attempts, claim, later, _),) = due(conn)
    assert (attempts, claim, later) == (0, None, False)


def test_a_lost_claim_settles_nothing(ctx, conn, take):
    lost = take()
    conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
    conn.commit()
    with connection(ctx.pool) as other:
        (ours,) = due_work.claim(other, METADATA_STAGE, limit=1)

    each(ctx, lost, fail(ZeroDivisionError()))
    each(ctx, lost, fail(OpenSearchError()))

    ((attempts, claim, _, error),) = due(conn)
    assert (attempts, claim, error) == (2, ours.claim, None)
    assert aside(conn) == []


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(InternalError(), id="for good"),
        pytest.param(OpenSearchError(), id="for now"),
    ],
)
def test_of_a_claim_that_was_lost_nothing_is_told_but_that(
    ctx, conn, take, error, monkeypatch
):
    # One that has logged before may keep to what was configured then.
    monkeypatch.setattr(task, "log", get_logger())
    (lost,) = take()
    conn.execute("UPDATE work SET leased_until = now()")
    conn.commit()
    with connection(ctx.pool) as other:
        (taken,) = due_work.claim(other, METADATA_STAGE, limit=1)

    with capture_logs() as logs:
        each(ctx, [lost], fail(error))

    told = {one["event"] for one in logs} - {"stage_paused"}
    assert told == {"claim_lost"}
    assert due(conn) == [(2, taken.claim, False, None)]
    assert aside(conn) == []
