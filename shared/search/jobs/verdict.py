"""Judges from the outcomes of its branches how a search ended: one rule for everybody.

The last branch, the API that waited too long and the finisher in upkeep all use it.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

from shared import errors
from shared.search.jobs.outcome import FACETS, Outcome

State = Literal["done", "partial", "failed"]


class FailedSearch(NamedTuple):
    """The question, mode and deadline that the error of a failed search names."""

    query: str
    method: str
    deadline_ms: int


def judge(
    branches: Sequence[Sequence[Outcome]], asked: FailedSearch
) -> tuple[State, errors.LogchordError | None]:
    """Return the state of a search, and its error when it failed.

    Each branch counts as carried out when its module, or its fallback, was. Counts
    alone are no answer, and hits without the counts asked for are a part of one.
    """
    searching = [branch for branch in branches if branch[0].name != FACETS]
    if searching and not any(map(_carried_out, searching)):
        return "failed", _error(list(chain.from_iterable(searching)), asked)
    return ("done" if all(map(_carried_out, branches)) else "partial"), None


def is_degraded(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether the module meant for any part of a search did not carry it out.

    A module that replaces one that is switched off counts as the one meant.
    """
    return any(outcome.unsearched for outcome in outcomes)


def is_replayable(state: str, outcomes: Sequence[Outcome]) -> bool:
    """Tell whether a search can be repeated alike: one that time cut cannot."""
    return state == "done" and not any(one.ran_out_of_time for one in outcomes)


def _carried_out(branch: Sequence[Outcome]) -> bool:
    return any(not outcome.unsearched for outcome in branch)


def _error(outcomes: Sequence[Outcome], asked: FailedSearch) -> errors.LogchordError:
    details = {"branches": [outcome.summary() for outcome in outcomes]}
    if all(outcome.status == "timeout" for outcome in outcomes):
        return errors.SearchTimeoutError(
            timeout_seconds=asked.deadline_ms / 1000,
            operation=asked.method,
            details=details,
        )
    failed = [errors.CODES[o.error_code] for o in outcomes if o.error_code]
    again = all(row.severity is errors.Severity.RETRIABLE for row in failed)
    return errors.SearchExecutionError(
        "Every part of the search failed; its branches say why.",
        severity=errors.Severity.RETRIABLE if again else errors.Severity.CRITICAL,
        query=asked.query,
        search_mode=asked.method,
        details=details,
    )
