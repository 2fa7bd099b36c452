"""What every handler is given: this process's clients, and who calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from api.caller_info import CallerInfo
from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.cards.make_cards import make_cards
from shared.errors import LogchordError
from shared.search.response.job_answer import JobReader

if TYPE_CHECKING:
    import redis
    from celery import Celery
    from opensearchpy import OpenSearch

    from api.access.audit import Audit
    from api.access.callers import Callers
    from api.access.key_use import KeyUse
    from api.entries.carried_cache import CarriedCache
    from api.entries.push_backpressure import Backlog
    from api.entries.uploads import Uploads
    from api.operations.probes import Probes
    from api.search.exports import Exports
    from api.search.searches import Searches
    from api.search.sessions import Sessions
    from api.search.suggestions import Suggestions
    from api.search.telemetry import Telemetry
    from shared.access.cursors import Signer
    from shared.access.limits import Kind, Limiter
    from shared.embedding.vectors.semantic_preconditions import EmbeddingCounts
    from shared.messaging.broker_clock import BrokerClock
    from shared.messaging.nudges import Nudger
    from shared.postgres.count_cache import Sparing
    from shared.postgres.pool import Pool
    from shared.settings.settings import Settings
    from shared.sources.admin.source_overview import Stock
    from shared.work.lag import Lag


@dataclass(slots=True)
class ApiContext:
    """The resources of one API process, opened by its lifespan."""

    settings: Settings
    pool: Pool
    app: Celery
    jobs: redis.Redis
    clock: BrokerClock
    nudger: Nudger
    searches: Searches
    sessions: Sessions
    suggestions: Suggestions
    telemetry: Telemetry
    callers: Callers
    limiter: Limiter
    secret: Callable[[], bytes]
    signer: Callable[[], Signer]
    probes: Probes
    # Probes the server that makes the vectors.
    provider: Probes
    backlog: Backlog
    key_use: KeyUse
    audit: Audit
    # How far each stage is, by tenant; entries and what the index lacks, by rights.
    counts: Sparing[Lag]
    entry_counts: Sparing[tuple[int, int]]
    # What is stored of each source, by rights.
    stocks: Sparing[Stock]
    # By tenant and live model; None: not counted in time, which is kept, too.
    vector_counts: Sparing[EmbeddingCounts | None]
    # What digests carry over from before their time, by rights and that time.
    carried: CarriedCache[Any]
    opensearch: OpenSearch | None
    uploads: Uploads
    exports: Exports

    def reader(self, scope: Scope) -> JobReader:
        """Return a reader of stored jobs that applies the caller's present rights."""
        honest = self.settings.search.acl_honesty
        context = self.searches.context
        return JobReader(context, scope, honest, make_cards, answer_question)


async def context(request: Request) -> ApiContext:
    """Return the context of this process; asynchronous, for a thread costs 0.3 ms."""
    found: ApiContext = request.app.state.context
    return found


Ctx = Annotated[ApiContext, Depends(context)]


async def caller(request: Request, ctx: Ctx) -> CallerInfo:
    """Find who calls, and take one of their requests of this minute, once."""
    known: CallerInfo | None = getattr(request.state, "caller", None)
    if known is not None:
        # Who calls is asked before the body is read.
        return replace(known, arrived=request.state.arrived)
    scope = await ctx.callers.find(request)
    request.state.is_admin = scope.is_admin
    await ctx.callers.limit(request, scope, request.scope["route"].counts_as)
    state = request.state
    state.caller = found = CallerInfo(scope, state.trace, state.arrived)
    return found


Caller = Annotated[CallerInfo, Depends(caller)]


async def guest(request: Request, ctx: Ctx) -> None:
    """Find who calls where nobody has to be known; the page names them if it can."""
    with suppress(LogchordError):
        await caller(request, ctx)


# Who needs this scope asks for what it is named after.
_COUNTS_AS: Mapping[str, Kind] = {"search": "search", "ingest": "ingest"}


def needs(scope: str, *, counts_as: Kind | None = None) -> Callable[..., Any]:
    """Return the dependency of a route that needs this scope.

    Its requests count against the limit of that scope, or the one that it names.
    """

    async def check(who: Caller) -> None:
        who.scope.require(scope)

    check.__name__ = f"needs_{scope}"
    # Read by the route, whose callers are counted before what it needs is asked.
    vars(check)["counts_as"] = counts_as or _COUNTS_AS.get(scope)
    vars(check)["needed"] = scope
    return check


async def needs_whole_facility(who: Caller) -> None:
    """Refuse an admin of some logbooks: here entries of all of them are named."""
    who.scope.require("admin")
    who.scope.require_all_logbooks()


vars(needs_whole_facility)["needed"] = "admin"
