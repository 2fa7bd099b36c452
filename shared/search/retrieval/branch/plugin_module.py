"""Runs a search module of another package, and looks up the entries that it names.

The module hands over ids and scores. Rights, filters and the question's exclusions are
applied here, as for every other branch.
"""

import asyncio
import contextvars
import inspect
import math
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from functools import cache
from uuid import UUID

from shared.errors import ConfigurationError, LogchordError
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import CIRCUIT_OPEN, Diagnostic
from shared.search.query import deadline_shares, modes
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext

# A module that hangs blocks its own threads alone.
THREADS = 4
# How many of a module's best entries are looked up.
MAX_NAMED = 5000


def _enough() -> float:
    """Return half of the seconds that a module has under the default deadline."""
    usual_ms = modes.make_single_mode("").deadline_ms
    return deadline_shares.branch_end(usual_ms / 1000, usual_ms) / 2


# A module that is late within less had too little time, so its circuit does not count
# it.
ENOUGH_SECONDS = _enough()


def execute(
    descriptor: SearchToolDescriptor, ask: Ask, context: SearchContext
) -> ModuleResult:
    """Run a module of another package; return those of its entries the caller may see.

    Filters and exclusions of the question are applied to them as well.
    """
    share = ask.budget_seconds
    circuit = context.circuits.of(descriptor.name)
    if not circuit.allows():
        # The module's threads hang, so waiting for one is in vain.
        return ModuleResult(skipped=CIRCUIT_OPEN)
    run = contextvars.copy_context().run
    asked = _threads(descriptor.name).submit(run, _found, descriptor, ask, context)
    answered, _ = wait([asked], timeout=share)
    if answered:
        # An error counts as an answer too: a module that raises does not hang.
        circuit.succeeded()
    elif share >= ENOUGH_SECONDS:
        circuit.failed()
    try:
        found = asked.result(timeout=0)
    except TimeoutError as exc:
        asked.cancel()
        raise LogchordError("The branch was late.", code="branch_timeout") from exc
    best = _best(descriptor, found)
    question = branch_query.build_branch_query(ask, context, descriptor.name)
    with timed_connection(context.pool, ask.budget_ms) as conn:
        shown = candidate_rows.load_candidate_rows(conn, question.params, list(best))
    tenant = ask.plan.scope.tenant
    hits = [
        shown[entry_id].candidate(tenant, score)
        for entry_id, score in best.items()
        if entry_id in shown
    ]
    return ModuleResult(
        tuple(hits[: ask.limit]),
        as_of=found.as_of,
        diagnostics=found.diagnostics,
        skipped=found.skipped,
        exact=bool(found.exact),
    )


@cache
def _threads(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix=f"module-{name}")


def _found(
    descriptor: SearchToolDescriptor, ask: Ask, context: SearchContext
) -> ModuleResult:
    made = descriptor.execute(ask, context)
    found = asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made
    if not isinstance(found, ModuleResult) or found.hits:
        raise _wrong(descriptor, "it returned no Found with what it names")
    # A flaw that passes here would fail the whole search later.
    if not all(isinstance(one, Diagnostic) for one in found.diagnostics):
        raise _wrong(descriptor, "one of its diagnostics is none")
    if not isinstance(found.skipped, str | None):
        raise _wrong(descriptor, "why it was skipped is no text")
    if not isinstance(found.as_of, datetime | None):
        raise _wrong(descriptor, "`as_of` is no time")
    return found


async def _awaited(made: Awaitable[ModuleResult]) -> ModuleResult:
    return await made


def _best(descriptor: SearchToolDescriptor, found: ModuleResult) -> dict[UUID, float]:
    """Return the best score of each entry, the best first; a tie goes by the id."""
    best: dict[UUID, float] = {}
    for one in found.named:
        if not isinstance(one.entry_id, UUID):
            raise _wrong(descriptor, "what it names has no UUID")
        if not math.isfinite(one.score):
            raise _wrong(descriptor, "a score is no number")
        # Another library's number type cannot be written as JSON.
        score = float(one.score)
        best[one.entry_id] = max(score, best.get(one.entry_id, -math.inf))
    ordered = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:MAX_NAMED])


def _wrong(descriptor: SearchToolDescriptor, why: str) -> ConfigurationError:
    message = f"The search module {descriptor.name} answered wrongly: {why}."
    return ConfigurationError(message, config_key=f"search_modules.{descriptor.name}")
