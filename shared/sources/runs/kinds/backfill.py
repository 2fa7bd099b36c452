"""The history of a source: newest window first, resumable, behind what is live."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, LiteralString

from shared.adapter_contract.contract import AdapterPage, Window
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import connection
from shared.sources import load_adapter, run_records
from shared.sources.intake.store_page import Intake, Steps
from shared.sources.run_records import Counts
from shared.work import due_work as due
from shared.work import schedule

# What is asked for most is there first, and is live work: searchable at once. A server
# that wants a request for each entry has those of the last shifts after a few.
_FIRST_DAYS, _LIVE_DAYS = 2, 30
# An empty stretch of years is crossed in wider and wider steps.
_WIDEST_DAYS = 3650
_OLDEST: LiteralString = """
    SELECT min(e.entry_time) FROM entry e
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s"""


def steps(intake: Intake) -> Steps:
    """Take in window by window, from now back to the start of the history."""
    if intake.opened.capabilities.windows:
        yield from _by_windows(intake)
    else:
        yield from _one_walk(intake)


def _one_walk(intake: Intake) -> Steps:
    """Walk the whole source in its own order; the tail goes on from its end."""
    began = intake.opened.io.now()
    place = intake.cursor or {"v": 1, "inner": None}
    # A source of one page is searchable at once; whatever else it has is history.
    intake.work_class = due.LIVE if place["inner"] is None else due.BULK
    found = intake.opened.adapter.pages(place["inner"], None)
    for counts in intake.walk(found, lambda page: {"v": 1, "inner": dict(page.cursor)}):
        intake.work_class = due.BULK
        yield counts
    if intake.is_cut or intake.run.is_dry:
        return
    place = intake.cursor or place
    with connection(intake.pool) as conn:
        schedule.hand_over(conn, intake.name, run_records.TAIL, place["inner"])
        start = load_adapter.history_start(intake.opened)
        if intake.opened.capabilities.only_newest:
            values = {"tenant": intake.tenant, "source": intake.name}
            start = fetch_value(conn, _OLDEST, values) or began
        overlap = timedelta(seconds=intake.opened.source.overlap_seconds)
        intake.note_complete(conn, start=start, end=began - overlap)


def _by_windows(intake: Intake) -> Steps:
    first = intake.run.window_from or load_adapter.history_start(intake.opened)
    last = intake.run.window_to or intake.opened.io.now()
    place = intake.cursor or _first_place(intake, first, last)
    while (upper := datetime.fromisoformat(place["upper"])) > first:
        lower = max(first, datetime.fromisoformat(place["lower"]))
        intake.work_class = due.LIVE if place["live"] else due.BULK
        before = intake.seen
        was_through = place.get("through", False)
        if not was_through:
            window = Window(lower, upper)
            found = intake.opened.adapter.pages(place["inner"], window)
            yield from intake.walk(found, partial(_after, place))
            if intake.is_cut:
                return
            place = intake.cursor or place
        is_known_empty = place["inner"] is None or intake.seen == before
        was_empty = is_known_empty and not was_through
        place = _next_place(intake, place, lower, was_empty=was_empty)
        with connection(intake.pool) as conn:
            intake.note_complete(conn, start=lower)
            intake.keep(conn, place)
        yield Counts()


def _after(place: dict[str, Any], page: AdapterPage) -> dict[str, Any]:
    """Return the place behind a page.

    That a window is through goes with its last page: a death before the next one would
    cost it a second time.
    """
    return {**place, "inner": dict(page.cursor), "through": page.is_last}


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
    width = datetime.fromisoformat(place["upper"]) - lower
    is_live = place["live"] and width <= timedelta(days=_FIRST_DAYS)
    if is_live:
        days = _LIVE_DAYS - _FIRST_DAYS
    elif was_empty and not place["live"]:
        days = min(_WIDEST_DAYS, 2 * int(place["days"]))
    earliest = datetime(1900, 1, 1, tzinfo=UTC)
    next_lower = max(earliest, lower - timedelta(days=days))
    return {
        "v": 1,
        "upper": lower.isoformat(),
        "lower": next_lower.isoformat(),
        "days": days,
        "live": is_live,
        "inner": None,
    }
