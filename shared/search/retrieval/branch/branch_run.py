"""Runs one branch, with its module, fallback and faults, to an outcome."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

from psycopg import Connection

from shared.access import rights
from shared.errors import LogchordError
from shared.ids import parse_uuid
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array
from shared.postgres.statement_deadline import timed_pipeline
from shared.search.jobs.outcome import (
    CIRCUIT_OPEN,
    Outcome,
    Status,
    make_failure,
    make_overdue,
)
from shared.search.query import branch_choice, name_query
from shared.search.query.fault import Fault
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.filters.filters import Filters
from shared.search.query.plan import Plan
from shared.search.retrieval import module_contract
from shared.search.retrieval.branch import plugin_module, retry
from shared.search.retrieval.branch.retry import Paces
from shared.search.retrieval.engines import branch_query, candidate_rows
from shared.search.retrieval.engines.candidate_rows import Columns
from shared.search.retrieval.installed_modules import Installed, load_module
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    SearchToolDescriptor,
)
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
_ORIGIN, _HUMAN, _MACHINE = "origin", "human", "machine"
# A full branch with a larger share of hits by machines is searched again.
_MACHINE_SHARE = 0.5

# Several sources may each have an entry with the same number.
_CALLED: LiteralString = """
       AND (e.external_id = ANY (%(names)s::text[]) OR e.id = ANY (%(keys)s::uuid[]))
     ORDER BY e.source, e.external_id, e.id
     LIMIT 20"""
_COLUMNS: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time"""
_NARROWED_BY_NUMBER: LiteralString = _COLUMNS + candidate_rows.left() + _CALLED
_BY_NUMBER: LiteralString = f"""{_COLUMNS}
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}{_CALLED}"""


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
        overdue = make_overdue(first.name, first.unit, "expired_in_queue")
        return [replace(overdue, queued_ms=branch.queued_ms)]
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
    found = add_missing_hits(found, one.descriptor, ask, context)
    return put_number_first(found, one.descriptor, ask, context)


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


def add_missing_hits(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Return the hits; of a full branch with others that had no place among them."""
    if ask.plan.is_listing or len(found.hits) < ask.limit:
        return found
    try:
        people = _people_alone(found, ask.plan.filters)
        if people is not None:
            found = _add(found, descriptor, ask, context, people)
        others = _other_sources_alone(found, ask, context)
        if others is not None:
            found = _add(found, descriptor, ask, context, others)
    except LogchordError as exc:
        # The hits found so far stand: this search only adds to them.
        log.info("missing_hits_not_asked", module=descriptor.name, code=exc.error_code)
    return found


def put_number_first(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
) -> ModuleResult:
    """Put the entries first whose number is the whole question, before hits by words.

    A question that is no number, as most are, costs no query.
    """
    if descriptor.search_mode != branch_choice.KEYWORD or found.skipped:
        return found
    names = () if ask.plan.is_listing else name_query.numbers(ask.plan.tree)
    if not names:
        return found
    params = branch_query.kept_of(ask, context, descriptor.name).params
    with timed_pipeline(context.pool, ask.budget_ms) as conn:
        rows = _called(conn, params, names)
    tenant = ask.plan.scope.tenant
    known = {hit.entry_id for hit in found.hits}
    # An entry that words did not find has no score by words.
    missing = [row.candidate(tenant, 0.0) for row in rows if str(row.id) not in known]
    meant = tuple(str(row.id) for row in rows)
    return replace(found, hits=(*missing, *found.hits), meant=meant)


def _people_alone(found: ModuleResult, filters: Filters) -> Filters | None:
    """Return filters for people's entries, if machines have taken their places."""
    machines = sum(hit.origin == _MACHINE for hit in found.hits)
    chosen = any(one.field == _ORIGIN for one in filters.facts)
    if chosen or machines <= _MACHINE_SHARE * len(found.hits):
        return None
    return replace(filters, facts=(*filters.facts, WantedFact(_ORIGIN, (_HUMAN,))))


def _other_sources_alone(
    found: ModuleResult, ask: Ask, context: SearchContext
) -> Filters | None:
    """Return filters for other sources, if one has taken all the places.

    One that stuffs its entries with the words of questions hides nobody else's.
    """
    filters, sources = ask.plan.filters, {hit.source for hit in found.hits}
    if len(sources) > 1:
        return None
    (source,) = sources
    named = filters.sources
    if named is None:
        # By their names: "all but one" would be compared with every entry of that one.
        named = context.tenant_sources.list_sources(
            context.pool, ask.plan.scope.tenant, ask.budget_ms
        )
    wanted = tuple(one for one in named if one != source)
    return replace(filters, sources=wanted) if wanted else None


def _add(
    found: ModuleResult,
    descriptor: SearchToolDescriptor,
    ask: Ask,
    context: SearchContext,
    filters: Filters,
) -> ModuleResult:
    narrowed = replace(ask, plan=replace(ask.plan, filters=filters))
    execute: Callable[[Ask, SearchContext], ModuleResult] = descriptor.execute
    more = execute(replace(narrowed, limit=max(1, ask.limit // 2)), context)
    if set(more.diagnostics) - set(found.diagnostics):
        # These entries matched a relaxed question alone, not the one asked.
        return found
    if more.model != found.model:
        # The model was switched in between: its cosines are on another scale.
        return found
    known = {hit.entry_id for hit in found.hits}
    added = [hit for hit in more.hits if hit.entry_id not in known]
    return replace(found, hits=(*found.hits, *added))


def _called(
    conn: Connection, params: dict[str, Any], names: Sequence[str]
) -> list[Columns]:
    is_plain = candidate_rows.are_plain(params)
    statement = _BY_NUMBER if is_plain else _NARROWED_BY_NUMBER
    key = parse_uuid(names[0])
    keys = format_array([key] if key else [])
    given = {"names": list(names), "keys": keys, **params}
    return fetch_all(conn, Columns, statement, given, prepare=is_plain)
