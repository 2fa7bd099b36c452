"""The task base: one classification of every exception, arguments read by type."""

from uuid import UUID

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from pydantic import ValidationError

from shared.errors import InternalError, InvalidRequestError, Severity
from workers.runtime.context import Context
from workers.runtime.task import Ids, _reader, _why, attempt, each

ENTRY = "01a1fe25-5439-7033-affc-8aa7ae67c81f"
PRIVATE = "what-a-stranger-wrote"


def work(ctx: Context, model: str, entry_ids: Ids = ()) -> None:
    """Take what the tasks of the workers take."""


read = _reader(work)


def test_what_is_refused_is_named_by_place_and_kind():
    with pytest.raises(ValidationError) as refused:
        read(["model", [PRIVATE]], {})

    assert _why(refused.value) == "(0,): uuid_parsing"


def fail(error: BaseException):
    def step() -> None:
        raise error

    return step


def test_a_step_that_succeeds_has_no_error():
    assert attempt(lambda: 1) is None


def test_an_error_of_ours_is_returned_as_it_is():
    error = InvalidRequestError("No such filter.")
    assert attempt(fail(error)) is error


def test_any_other_exception_becomes_one_internal_error_that_is_not_tried_again():
    error = attempt(fail(KeyError("x")))

    assert isinstance(error, InternalError)
    assert (error.retriable, error.severity) == (False, Severity.CRITICAL)
    assert error.technical == "KeyError: 'x'"


def test_a_soft_time_limit_is_worth_another_try():
    error = attempt(fail(SoftTimeLimitExceeded()))

    assert error is not None
    assert error.retriable


@pytest.mark.parametrize("end", [SystemExit(), KeyboardInterrupt()])
def test_the_end_of_the_process_is_not_held_up(end):
    with pytest.raises(type(end)):
        attempt(fail(end))


def test_nothing_claimed_is_nothing_to_do():
    each(None, [], fail(KeyError()))  # type: ignore[arg-type]


def test_arguments_are_read_by_their_types():
    assert read(["model", [ENTRY]], {}) == ["model", (UUID(ENTRY),)]
    assert read(["model"], {"entry_ids": []}) == ["model", ()]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ([], {}),
        (["model", [], PRIVATE], {}),
        (["model"], {PRIVATE: 1}),
        ([None], {}),
        ([["model"]], {}),
        (["model", PRIVATE], {}),
        (["model", [PRIVATE]], {}),
        (["model", [ENTRY] * 129], {}),
    ],
)
def test_arguments_that_are_not_the_tasks_are_refused_without_repeating_them(
    args, kwargs
):
    with pytest.raises((TypeError, ValidationError)) as refused:
        read(args, kwargs)

    assert PRIVATE not in _why(refused.value)  # type: ignore[arg-type]


def test_as_many_ids_as_a_nudge_carries_are_taken():
    assert len(read(["model", [ENTRY] * 128], {})[1]) == 128
