"""How people fare: events of pages and feedback in, signals and alerts out."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Query, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.search.schemas.quality import (
    AnalyticsIn,
    AnalyticsOut,
    FeedbackIn,
    QualityAlertOut,
    QualityAlerts,
    QualityMetrics,
    SearchEventIn,
)
from api.search.unified_search import require_unified_search
from api.server.body_model import dump_fields
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.postgres.statement_deadline import timed_connection
from shared.search.quality import (
    feedback,
    quality_signals,
    search_events,
)
from shared.search.quality.quality_signals import MOST_ALERTS, AlertRules
from shared.search.quality.search_events import EventKeys, SearchEvent
from shared.text import door

log = get_logger()

_EARLIEST = timedelta(hours=1)
_WRITE_MS = 2_000
Hours = Annotated[int, Query(ge=1, le=24 * 31)]

# What a page tells takes none of its caller's searches.
_TELLS = needs("search", counts_as="default")

router = strict_router("/v1/search", "search", require_unified_search)


@router.post("/analytics")
@described("Tell what happened on a page", AnalyticsOut, scope=_TELLS, status_code=202)
def post_analytics(body: AnalyticsIn, caller: Caller, ctx: Ctx) -> Response:
    """Keep no text: hashed keys and bounded details; 0 where telemetry is off."""
    if not ctx.telemetry.is_on:
        return as_json({"recorded": 0}, 202)
    keys, now = ctx.telemetry.keys_of(caller.scope.tenant), datetime.now(UTC)
    events = [_event(one, keys, now) for one in body.events]
    try:
        with timed_connection(ctx.pool, _WRITE_MS) as conn:
            search_events.store_events(conn, caller.scope.tenant, events)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # A page must not stumble over what it need not tell.
        log.warning("search_events_dropped", code=exc.error_code, events=len(events))
        return as_json({"recorded": 0}, 202)
    return as_json({"recorded": len(events)}, 202)


def _event(one: SearchEventIn, keys: EventKeys, now: datetime) -> SearchEvent:
    at = min(now, max(one.occurred_at or now, now - _EARLIEST))
    whose = (keys.of_query(one.query), keys.of_session(one.session_id))
    return SearchEvent(one.type, at, *whose, one.job_id, one.details)


@router.post("/feedback")
@described("Say what an answer was worth", AnalyticsOut, scope=_TELLS, status_code=202)
def post_feedback(body: FeedbackIn, caller: Caller, ctx: Ctx) -> Response:
    """Keep it for an admin to read; 0 where telemetry is off."""
    if not ctx.telemetry.is_on:
        return as_json({"recorded": 0}, 202)
    said = None if body.comment is None else door.admit(body.comment, "comment")
    with connection(ctx.pool) as conn:
        feedback.store_feedback(
            conn, caller.scope.tenant, body.job_id, body.verdict, body.entry_id, said
        )
    return as_json({"recorded": 1}, 202)


@router.get("/quality/metrics")
@described("Read how searches fared", QualityMetrics, scope="admin")
def get_metrics(caller: Caller, ctx: Ctx, window_hours: Hours = 24) -> Response:
    """Six signals over a window, and what they are shares of."""
    since, until = _window(window_hours)
    tenant, rules = caller.scope.tenant, _rules(ctx)
    with connection(ctx.pool) as conn:
        told = quality_signals.load_metrics(conn, tenant, since, until, rules)
    return as_json(told)


@router.get("/quality/alerts")
@described("Read where people get stuck", QualityAlerts, scope="admin")
def get_alerts(caller: Caller, ctx: Ctx, window_hours: Hours = 24) -> Response:
    """Questions whose askers were answered in vain again and again, or gave up."""
    since, until = _window(window_hours)
    tenant, rules = caller.scope.tenant, _rules(ctx)
    with connection(ctx.pool) as conn:
        found = quality_signals.load_alerts(conn, tenant, since, until, rules)
    items = [dump_fields(QualityAlertOut, one) for one in found[:MOST_ALERTS]]
    return as_json({"items": items})


def _window(hours: int) -> tuple[datetime, datetime]:
    until = datetime.now(UTC)
    return until - timedelta(hours=hours), until


def _rules(ctx: ApiContext) -> AlertRules:
    inactivity = timedelta(seconds=ctx.settings.session.inactivity_seconds)
    return AlertRules(inactivity, ctx.settings.telemetry.fallback_loop)
