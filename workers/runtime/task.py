"""The task base: context in, one classification of every exception, never a raise.

This is the one place in the workers that catches everything.
"""

import inspect
import time
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any
from uuid import UUID

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from celery import Celery
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from shared.errors import (
    Category,
    EmbeddingOutageError,
    InternalError,
    LogchordError,
    MessageRejectedError,
    TaskTimeoutError,
)
from shared.log import get_logger
from shared.messaging import task_names
from shared.postgres.pool import connection
from shared.work import due_work, stage_pauses
from shared.work.due_work import Claim
from shared.work.leases import MAX_STRIKES
from workers.runtime import (
    memory_limits,
    quarantine_work,
    refused_messages,
    worker_metrics,
)
from workers.runtime.context import Context, Resources

log = get_logger()

# One entry may take many seconds: a batch must end well within its lease's limit.
BATCH_SECONDS = 10.0

Ids = Annotated[tuple[UUID, ...], Field(max_length=128)]

# Where tasks are; to import one of them makes its tasks known.
MODULES = (
    *("workers.tasks.agent", "workers.tasks.alert", "workers.tasks.answer"),
    *("workers.tasks.attachments", "workers.tasks.chores", "workers.tasks.duplicates"),
    *("workers.tasks.enhance", "workers.tasks.index", "workers.tasks.ingest"),
    *("workers.tasks.search", "workers.tasks.stages", "workers.tasks.synthesize"),
)

# What a message carries of the request that it belongs to.
_TRACE = ("request_id", "traceparent")
# What fails for everybody is not the entry's fault: the attempt is given back.
_BACKEND_CATEGORIES = frozenset(
    {Category.DATABASE, Category.NETWORK, Category.CAPACITY}
)

Function = Callable[..., None]
_FUNCTIONS: dict[str, Function] = {}


def task(name: str) -> Callable[[Function], Function]:
    """Make a function the body of a task; its first argument is the context."""

    def keep(function: Function) -> Function:
        _FUNCTIONS[name] = function
        return function

    return keep


def attempt(step: Callable[..., object], *args: object) -> LogchordError | None:
    """Run a step and return its error, classified; never raises an exception."""
    try:
        step(*args)
    except LogchordError as exc:
        return exc
    except SoftTimeLimitExceeded:
        return TaskTimeoutError()
    except MemoryError:
        # Beside others it may be anybody's: each is tried alone before it is told.
        memory_limits.open_reserve()
        log.exception("out_of_memory")
        return InternalError(technical="MemoryError", retriable=True)
    except Exception as exc:
        log.exception("unexpected_error", error=type(exc).__name__)
        return InternalError(technical=f"{type(exc).__name__}: {exc}")
    return None


def each(
    ctx: Context, claims: Sequence[Claim], step: Callable[[Claim], object]
) -> None:
    """Run the step for every claim; one entry's failure is its own alone."""
    for claim in claims:
        error = attempt(step, claim)
        if error is not None:
            retry_or_quarantine(ctx, claim, error)


def each_in_time(
    ctx: Context, claims: Sequence[Claim], step: Callable[[Claim], object]
) -> None:
    """Run the step for those that there is time for; the others go back untouched."""
    ends = time.monotonic() + BATCH_SECONDS
    for claim in claims:
        if time.monotonic() >= ends:
            with connection(ctx.pool) as conn:
                due_work.release(conn, claim.claim)
            return
        each(ctx, [claim], step)


def settle_batch(
    ctx: Context,
    claims: Sequence[Claim],
    error: LogchordError,
    step: Callable[[Claim], object],
) -> None:
    """Settle a batch that failed; one entry's own fault costs only itself, alone."""
    if len(claims) > 1 and not error.retriable and not is_outage(error):
        each_in_time(ctx, claims, step)
        return
    for claim in claims:
        retry_or_quarantine(ctx, claim, error)


def is_outage(error: LogchordError) -> bool:
    """Tell whether the next entry would fail likewise, so that it is no strike."""
    return (
        (error.retriable and error.category in _BACKEND_CATEGORIES)
        or isinstance(error, EmbeddingOutageError)
        # A worker started without an address, or before the schema was migrated.
        or error.category is Category.CONFIGURATION
        or error.error_code == "schema_missing"
    )


def retry_or_quarantine(
    ctx: Context, claim: Claim, error: LogchordError, *, pause: bool = True
) -> None:
    """Make a failed row due again, or quarantine it with the reason.

    What fails for everybody pauses the stage, unless others of the batch got through.
    """
    backend = is_outage(error)
    # In a batch the time, or the memory, may have been a neighbour's.
    shared_fault = (
        isinstance(error, TaskTimeoutError) or error.technical == "MemoryError"
    )
    strike = claim.alone or not shared_fault
    strikes = claim.strikes + (strike and not claim.alone)
    give_up = not backend and (not error.retriable or strikes >= MAX_STRIKES)
    with connection(ctx.pool) as conn:
        if give_up:
            is_quarantined = quarantine_work.quarantine_work(
                conn, claim, error, ctx.current_settings(conn), lambda: ctx.facility
            )
        else:
            is_ours = due_work.retry_later(
                conn, claim, error, backend=backend, strike=strike
            )
            is_quarantined = False if is_ours else None
            if backend and pause and stage_pauses.pause(conn, claim.stage, error):
                log.warning("stage_paused", stage=claim.stage, code=error.error_code)
    # These three log events tell what becomes of a claim that is no longer ours.
    told = {True: "entry_quarantined", False: "entry_due_again", None: "claim_lost"}
    log.warning(
        told[is_quarantined],
        entry_id=str(claim.entry_id),
        stage=claim.stage,
        attempts=claim.attempts,
        strikes=strikes,
        code=error.error_code,
        technical=error.technical,
    )


def register(app: Celery, resources: Resources) -> None:
    """Make a Celery task of every function known; called once per process."""
    silent = task_names.OF_SEARCHES
    if resources.settings.flower.direct_searches:
        silent = frozenset()
    for name, function in _FUNCTIONS.items():
        app.task(
            _body(function, name, resources),
            name=name,
            bind=True,
            ignore_result=True,
            shared=False,
            # Events cost 40 % of the throughput of tasks as small as these.
            send_events=name not in silent,
            Strategy="workers.runtime.celery_consumer:strategy",
        )


def _body(function: Function, name: str, resources: Resources) -> Callable[..., None]:
    read = _reader(function)

    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        headers = self.request.headers or {}
        bound = {"task": name, "task_id": self.request.id}
        bound |= {key: headers[key] for key in _TRACE if headers.get(key)}
        structlog.contextvars.bind_contextvars(**bound)
        started = time.perf_counter()
        ctx = Context(resources, headers)
        try:
            given = read(args, kwargs)
        except (TypeError, ValidationError) as exc:
            error: LogchordError | None = _refuse(self.request, exc)
        else:
            error = attempt(function, ctx, *given)
        if error is not None:
            log.error("task_failed", code=error.error_code, technical=error.technical)
        worker_metrics.task_done(name, error, time.perf_counter() - started)
        structlog.contextvars.unbind_contextvars(*bound)

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    return run


def _refuse(request: Any, exc: TypeError | ValidationError) -> LogchordError:
    """Count a message whose arguments are not those of its task."""
    reason = _why(exc)
    queue = (request.delivery_info or {}).get("routing_key")
    refused_messages.count_refusal(queue, request.task, request.id, reason)
    return MessageRejectedError(technical=reason)


def _why(exc: TypeError | ValidationError) -> str:
    """Name the wrong arguments without repeating any of their values."""
    if not isinstance(exc, ValidationError):
        return "the arguments are not those of this task"
    found = exc.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{item['loc']}: {item['type']}" for item in found[:3])


def _reader(function: Function) -> Callable[..., list[Any]]:
    """Return a function that checks a message's arguments by the function's types."""
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    names = list(signature.parameters)[1:]
    config = ConfigDict(arbitrary_types_allowed=True)
    adapters = {
        name: TypeAdapter(hints[name], config=None if _plain(hints[name]) else config)
        for name in names
    }

    def read(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return [adapters[n].validate_python(bound.arguments[n]) for n in names]

    return read


def _plain(hint: Any) -> bool:
    return hasattr(hint, "model_config")
