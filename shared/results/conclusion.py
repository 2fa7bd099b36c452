"""What a search came to: pure, whoever concludes it and however late it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shared.errors import (
    CODES,
    LogchordError,
    SearchExecutionError,
    SearchTimeoutError,
    Severity,
)
from shared.jobs.outcome import Outcome, overdue
from shared.query.plan import Plan
from shared.ranking.rank import Ranked, rank
from shared.retrieval.module import module

State = Literal["done", "partial", "failed"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The end of a search, without the text of its page."""

    state: State
    branches: tuple[Outcome, ...]
    ranked: tuple[Ranked, ...]
    degraded: bool
    error: LogchordError | None = None

    @property
    def window(self) -> dict[str, Any]:
        """Return the ranked window as a stored job keeps it: ids and scores."""
        return {"window": [asdict(item) for item in self.ranked]}


def conclude(plan: Plan, arrived: Mapping[int, Sequence[Outcome]]) -> Conclusion:
    """Rank what has arrived; what has not is named as a branch that was late."""
    branches: list[Outcome] = []
    carried_out: list[bool] = []
    for number, name in enumerate(plan.branches):
        outcomes = arrived.get(number) or [_missing(name)]
        branches.extend(outcomes)
        carried_out.append(any(_good(outcome) for outcome in outcomes))
    degraded = any(
        outcome.failed or outcome.fallback_for or outcome.reason == "circuit_open"
        for outcome in branches
    )
    if plan.branches and not any(carried_out):
        error = _error(plan, branches)
        return Conclusion("failed", tuple(branches), (), degraded, error)
    ranked = tuple(rank(branches, plan))
    state: State = "done" if all(carried_out) else "partial"
    return Conclusion(state, tuple(branches), ranked, degraded)


def _good(outcome: Outcome) -> bool:
    if outcome.status == "skipped":
        return outcome.reason != "circuit_open"
    return not outcome.failed


def _missing(name: str) -> Outcome:
    return overdue(name, module(name).unit)


def _error(plan: Plan, branches: Sequence[Outcome]) -> LogchordError:
    details = {"branches": [outcome.summary() for outcome in branches]}
    if all(outcome.status == "timeout" for outcome in branches):
        return SearchTimeoutError(
            timeout_seconds=plan.deadline_ms / 1000,
            operation=plan.method,
            details=details,
        )
    failed = [CODES[o.error_code] for o in branches if o.error_code]
    again = all(row.severity is Severity.RETRIABLE for row in failed)
    return SearchExecutionError(
        "Every part of the search failed; its branches say why.",
        severity=Severity.RETRIABLE if again else Severity.CRITICAL,
        query=plan.query,
        search_mode=plan.method,
        details=details,
    )
