"""Runs one branch, with its module, fallback and faults, to an outcome."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shared.errors import LogchordError
from shared.log import get_logger
from shared.search.jobs.outcome import (
    CIRCUIT_OPEN,
    Outcome,
    Status,
    make_failure,
    make_overdue,
)
from shared.search.query.fault import Fault
from shared.search.query.plan import Plan
from shared.search.retrieval import module_contract
from shared.search.retrieval.branch import add_hits, plugin_module, retry
from shared.search.retrieval.branch.retry import Paces
from shared.search.retrieval.installed_modules import Installed, load_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.times.rfc3339 import timestamp

log = get_logger()

# A fault's delay ends at the budget, as a slow backend's does.
_OVER_BUDGET_SECONDS = 0.001
# The time that a module leaves to its fallback: at least the p95 of full text, beside a
# backfill too (a quarter of a second was too little there), and never more than it
# keeps, so that a short deadline is shared.
FALLBACK_SECONDS = 0.5
FALLBACK_SHARE = 0.4
# A module takes no longer, however much time its search has: a backend that hangs must
# not hold up a search whose deadline leaves time for a model.
_MOST_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Branch:
    """Everything that a task needs to carry out one branch of a search."""

    plan: Plan
    name: str
    # Epoch seconds by the broker's clock; the branch's own, before the job's deadline.
    ends_at: float
    now: Callable[[], float]
    queued_ms: float = 0.0
    # The number of the sub-query that the plan is for.
    part: int = 0
    # How long modules take in this process, to decide on a second attempt.
    paces: Paces = field(default_factory=Paces)


def carry_out(branch: Branch, context: SearchContext) -> list[Outcome]:
    """Carry out a branch by its module and, after a failure, by its fallback."""
    ends_at = min(branch.ends_at, branch.now() + _MOST_SECONDS)
    return outcomes_of(
        load_module(branch.name), replace(branch, ends_at=ends_at), context
    )


def outcomes_of(
    one: Installed, branch: Branch, context: SearchContext
) -> list[Outcome]:
    """Carry out a branch with a module that is already at hand."""
    first = one.descriptor
    if branch.now() >= branch.ends_at:
        late = make_overdue(first.name, first.unit, "expired_in_queue")
        return [replace(late, queued_ms=branch.queued_ms)]
    outcome = _one(branch, one, context, keep_back=first.fallback is not None)
    outcomes = [replace(outcome, fallback_for=branch.plan.instead_of(first.name))]
    if first.fallback and outcomes[0].unsearched:
        second = load_module(first.fallback)
        if branch.now() < branch.ends_at:
            outcome = _one(branch, second, context, keep_back=False)
            outcomes.append(replace(outcome, fallback_for=first.name))
    return outcomes


def _one(
    branch: Branch, one: Installed, context: SearchContext, *, keep_back: bool
) -> Outcome:
    began = time.perf_counter()
    left = branch.ends_at - branch.now()
    if keep_back:
        left -= min(FALLBACK_SECONDS, FALLBACK_SHARE * left)
    outcome = _tried(branch, one, Ask.lasting(branch.plan, left), context)
    took = (time.perf_counter() - began) * 1000
    return replace(outcome, took_ms=round(took, 3), queued_ms=branch.queued_ms)


def _tried(branch: Branch, one: Installed, ask: Ask, context: SearchContext) -> Outcome:
    """Run a module; try a second time where that may end otherwise."""
    outcome, error = _once(branch, one, ask, context)
    if error is None:
        return outcome
    left = ask.ends_at - time.monotonic()
    wait = retry.wait_for(error, left, branch.paces.p95(one.descriptor.name))
    if wait is None:
        return outcome
    time.sleep(wait)
    second, _ = _once(branch, one, replace(ask, again=True), context)
    if second.reason == CIRCUIT_OPEN:
        # The circuit let no second attempt through.
        return outcome
    log.info("branch_tried_again", module=second.name, ended=second.status)
    return replace(second, attempts=2)


def _once(
    branch: Branch, one: Installed, ask: Ask, context: SearchContext
) -> tuple[Outcome, LogchordError | None]:
    descriptor = one.descriptor
    began = time.monotonic()
    try:
        found = _faulty(branch.plan.fault, descriptor, ask)
        if found is None:
            found = _found(one, ask, context)
    except LogchordError as exc:
        return make_failure(descriptor.name, descriptor.unit, exc), exc
    if not found.skipped:
        # Only searches count: a module that skips is done at once.
        branch.paces.note(descriptor.name, time.monotonic() - began)
    return _outcome(descriptor, found), None


def _found(one: Installed, ask: Ask, context: SearchContext) -> ModuleResult:
    if not one.is_ours:
        return plugin_module.execute(one.descriptor, ask, context)
    found: ModuleResult = one.descriptor.execute(ask, context)
    found = add_hits.add_missing_hits(found, one.descriptor, ask, context)
    return add_hits.put_number_first(found, one.descriptor, ask, context)


def _outcome(
    descriptor: module_contract.SearchToolDescriptor, found: ModuleResult
) -> Outcome:
    as_of = timestamp(found.as_of)
    amount = max(len(found.hits), found.matches)
    status: Status = "skipped" if found.skipped else "ok" if amount else "empty"
    return Outcome(
        name=descriptor.name,
        status=status,
        unit=descriptor.unit,
        reason=found.skipped,
        candidates=amount,
        kept=len(found.hits),
        index_watermark=as_of,
        as_of=as_of,
        hits=found.hits,
        diagnostics=found.diagnostics,
        model=found.model,
        vector=found.vector,
        floor=found.floor,
        exact=found.exact,
        words=found.words,
        whole=found.whole,
        meant=found.meant,
        counts=found.counts,
        counted=found.counted,
    )


def _faulty(
    fault: Fault | None, descriptor: module_contract.SearchToolDescriptor, ask: Ask
) -> ModuleResult | None:
    """Carry out a fault that an admin ordered for this branch; None: run the module."""
    if fault is None or not fault.hits(descriptor.name, descriptor.search_mode):
        return None
    if fault.delay_ms:
        budget = ask.budget_seconds
        time.sleep(min(fault.delay_ms / 1000, budget))
        if fault.delay_ms / 1000 >= budget - _OVER_BUDGET_SECONDS:
            raise LogchordError("The branch was late.", code="branch_timeout")
    if fault.error:
        raise LogchordError("A fault was asked for.", code=fault.error)
    return ModuleResult() if fault.empty else None
