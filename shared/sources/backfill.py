"""The history of a source: newest window first, resumable, behind what is live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from shared.due import rows as due
from shared.due import schedule
from shared.entries.adapter import Window
from shared.postgres import connection
from shared.sources import loading, runs, state
from shared.sources.intake import Intake, Steps
from shared.sources.runs import Counts

# What is asked for most is there first, and is live work: searchable at once.
_FIRST_DAYS = 30
# An empty stretch of years is crossed in wider and wider steps.
_WIDEST_DAYS = 3650


def steps(intake: Intake) -> Steps:
    """Take in window by window, from now back to the start of the history."""
    if intake.opened.capabilities.windows:
        yield from _by_windows(intake)
    else:
        yield from _one_walk(intake)


def _one_walk(intake: Intake) -> Steps:
    """Walk the whole source in its own order; the tail goes on from its end."""
    intake.work_class = due.BULK
    began = intake.opened.io.now()
    place = intake.cursor or {"v": 1, "inner": None}
    for page in intake.opened.adapter.pages(place["inner"], None):
        place = {"v": 1, "inner": dict(page.cursor)}
        counts = intake.store(page.items, place, page=page)
        if intake.is_cut:
            return
        if intake.is_through:
            break
        yield counts
    with connection(intake.pool) as conn:
        schedule.hand_over(conn, intake.name, runs.TAIL, place["inner"])
        start = loading.history_start(intake.opened)
        overlap = timedelta(seconds=intake.opened.overlap_seconds)
        state.note_complete(
            conn, intake.tenant, intake.name, start=start, end=began - overlap
        )


def _by_windows(intake: Intake) -> Steps:
    first, last = _bounds(intake)
    place = intake.cursor or _first_place(intake, first, last)
    while (upper := _time(place["upper"])) > first:
        lower = max(first, _time(place["lower"]))
        intake.work_class = due.LIVE if place["live"] else due.BULK
        before = intake.seen
        for page in intake.opened.adapter.pages(place["inner"], Window(lower, upper)):
            place = {**place, "inner": dict(page.cursor)}
            counts = intake.store(page.items, place, page=page)
            if intake.is_cut:
                return
            if intake.is_through:
                break
            yield counts
        was_empty = place["inner"] is None or intake.seen == before
        place = _next_place(intake, place, lower, was_empty=was_empty)
        with connection(intake.pool) as conn:
            state.note_complete(conn, intake.tenant, intake.name, start=lower)
            intake.keep(conn, place)
        yield Counts()


def _bounds(intake: Intake) -> tuple[datetime, datetime]:
    run = intake.run
    first = run.window_from or loading.history_start(intake.opened)
    return first, run.window_to or intake.opened.io.now()


def _first_place(intake: Intake, first: datetime, last: datetime) -> dict[str, Any]:
    lower = max(first, last - timedelta(days=_FIRST_DAYS))
    return {
        "v": 1,
        "upper": last.isoformat(),
        "lower": lower.isoformat(),
        "days": intake.opened.settings.chunk_days,
        "live": True,
        "inner": None,
    }


def _next_place(
    intake: Intake, place: dict[str, Any], lower: datetime, *, was_empty: bool
) -> dict[str, Any]:
    days = intake.opened.settings.chunk_days
    if was_empty and not place["live"]:
        days = min(_WIDEST_DAYS, 2 * int(place["days"]))
    earliest = datetime(1900, 1, 1, tzinfo=UTC)
    next_lower = max(earliest, lower - timedelta(days=days))
    return {
        "v": 1,
        "upper": lower.isoformat(),
        "lower": next_lower.isoformat(),
        "days": days,
        "live": False,
        "inner": None,
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
