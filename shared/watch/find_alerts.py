"""Entries of a batch matched with the saved searches of their facility: the alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg import Connection

from shared.access.scope import Scope
from shared.errors import (
    DatabaseQueryError,
    EmbeddingGenerationError,
    EmbeddingOutageError,
    LogchordError,
)
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.query.plan import Plan
from shared.search.retrieval.search_context import SearchContext
from shared.settings.settings import Settings
from shared.times.calendar import Clock
from shared.watch import match_entries, saved_searches
from shared.watch.alert_rows import fire
from shared.watch.match_entries import Matches
from shared.watch.owners import find_rights
from shared.watch.saved_plans import SavedPlanner, SavedPlans
from shared.watch.saved_searches import AlertRule, SavedSearch

log = get_logger()

# What one saved search may take of a batch.
SECONDS = 4.0
VECTORS_AT_ONCE = 100
_DAY = timedelta(days=1)

Found = list[tuple["SavedSearch", "Matches"]]


def make_vectors(context: SearchContext, planner: SavedPlanner) -> None:
    """Make the vectors that saved searches lack, by the models in use."""
    models = match_entries.name_models(context)
    # Where meaning is switched off no vector is missing, nor is it known that none is.
    if models is None or not planner.has_meaning:
        return
    with connection(context.pool) as conn:
        lacking = saved_searches.list_without_vector(conn, models, VECTORS_AT_ONCE)
    for saved in lacking:
        plans = _plans(planner, saved, Scope(saved.tenant, saved.subject))
        vector = None
        if plans is not None and plans.by_meaning is not None:
            vector = _vector_of(context, saved, plans.by_meaning)
        with connection(context.pool) as conn:
            saved_searches.keep_vector(conn, saved, models, vector)


def find_matches(
    context: SearchContext,
    planner: SavedPlanner,
    settings: Settings,
    tenant: str,
    ids: Sequence[UUID],
) -> Found:
    """Return the matches of each saved search among entries that its owner sees."""
    with connection(context.pool) as conn:
        watching = saved_searches.list_watching(conn, tenant)
        owners = [find_rights(conn, settings, saved) for saved in watching]
    models = match_entries.name_models(context) if watching else None
    found: Found = []
    for saved, owner in zip(watching, owners, strict=True):
        plans = None if owner is None else _plans(planner, saved, owner)
        if plans is None:
            continue
        is_known = models is None or saved.vector_model == models
        if plans.by_meaning is not None and not is_known:
            # What it means is not known yet: the entries stay due.
            raise EmbeddingOutageError(technical="a saved search has no vector")
        matches = _matches_of(context, saved, plans, ids)
        if matches:
            found.append((saved, matches))
    return found


def fire_all(conn: Connection, planner: SavedPlanner, found: Found) -> int:
    """Store the alerts of a batch, in the order of their saved searches; count them."""
    clock = planner.calendar
    return sum(
        len(fire(conn, saved, matches, find_due_time(saved.rule, clock)))
        for saved, matches in found
    )


def find_due_time(rule: AlertRule, clock: Clock) -> datetime | None:
    """Return when an alert of now is due: at once, with a digest, after quiet hours.

    None: it is sent nowhere.
    """
    if rule.webhook_url is None:
        return None
    due = clock.now
    assert due is not None
    if rule.digest == "shift" and clock.shifts.shifts:
        due = next(clock.shifts_until_now()).until or due
    elif rule.digest != "none":
        # Where nobody has said what shifts are, a shift is a day.
        today = clock.today
        assert today is not None
        due = clock.day(today).until or due
    return find_quiet_end(due, rule, clock) or due


def find_quiet_end(moment: datetime, rule: AlertRule, clock: Clock) -> datetime | None:
    """Return the end of the quiet hours that a moment falls into; None: into none."""
    if rule.quiet_hours is None:
        return None
    begins, ends = (time.fromisoformat(one) for one in rule.quiet_hours)
    wall = moment.astimezone(ZoneInfo(clock.zone)).replace(tzinfo=None)
    for day in (wall.date() - _DAY, wall.date()):
        until = day if begins < ends else day + _DAY
        if datetime.combine(day, begins) <= wall < datetime.combine(until, ends):
            return clock.moment(datetime.combine(until, ends))
    return None


def _vector_of(context: SearchContext, saved: SavedSearch, plan: Plan) -> str | None:
    """Return the vector of a saved question; None where no model takes its text."""
    try:
        return match_entries.make_vector(context, plan, SECONDS)
    except EmbeddingOutageError:
        raise
    except EmbeddingGenerationError as exc:
        log.warning(
            "saved_search_without_vector", id=str(saved.id), code=exc.error_code
        )
        return None


def _matches_of(
    context: SearchContext, saved: SavedSearch, plans: SavedPlans, ids: Sequence[UUID]
) -> Matches:
    """Return the matches of a saved search; none where it fails by itself.

    One that takes too long, or cannot be carried out, costs its owner alone.
    """
    try:
        return match_entries.match(context, plans, saved.vector, ids, SECONDS)
    except LogchordError as exc:
        takes_too_long = isinstance(exc, DatabaseQueryError) and exc.out_of_time
        if exc.retriable and not takes_too_long:
            raise
        log.warning("saved_search_not_matched", id=str(saved.id), code=exc.error_code)
        return {}


def _plans(
    planner: SavedPlanner, saved: SavedSearch, scope: Scope
) -> SavedPlans | None:
    try:
        return planner.plan(
            saved.request,
            scope,
            semantic=saved.semantic,
            threshold=saved.similarity_threshold,
        )
    except LogchordError as exc:
        if exc.retriable:
            raise
        # The settings have changed since it was saved: that is its owner's alone.
        log.warning("saved_search_refused", id=str(saved.id), code=exc.error_code)
        return None
