"""Edits and deletions that a tail cannot see: what is stored, held against the source.

A listing of ids where there is one, else everything of the window is read again.
"""

from __future__ import annotations

import functools
from datetime import datetime, timedelta
from typing import Any

from shared.due import rows as due
from shared.entries.adapter import Window
from shared.postgres import connection
from shared.sources import compare, listing, prune
from shared.sources.intake import Intake, Steps


def steps(intake: Intake) -> Steps:
    """Compare a window, or everything when a prune is due; then prune."""
    opened = intake.opened
    began = opened.io.now()
    place = intake.cursor or {"v": 1}
    prunes = opened.capabilities.deletes in {"index", "rescan"} and _is_due(
        intake, place, began
    )
    window = _window(intake, began, whole=prunes)
    lists = hasattr(opened.adapter, "list_ids")
    list_all = functools.partial(
        compare.take_down if lists else _read_again, intake, window
    )
    list_again = (
        list_all
        if lists
        else functools.partial(_read_again, intake, window, again=True)
    )
    intake.work_class = due.LIVE
    if not lists:
        with connection(intake.pool) as conn:
            listing.clear(conn, intake.run.id)
    yield from list_all()
    if intake.is_cut:
        return
    # Entries at the edge of the window move in and out of what the source answers.
    found = compare.listed(intake, window, before=began)
    if lists:
        yield from compare.fetch_changed(intake, found)
    if prunes and not intake.is_cut:
        with connection(intake.pool) as conn:
            listed = listing.count(conn, intake.run.id)
        yield from prune.steps(intake, found, listed=listed, list_again=list_again)
        place = {**place, "pruned_at": began.isoformat()}
    with connection(intake.pool) as conn:
        listing.clear(conn, intake.run.id)
        intake.keep(conn, place)


def _read_again(intake: Intake, window: Window | None, *, again: bool = False) -> Steps:
    for page in intake.opened.adapter.pages(None, window):
        yield intake.store(
            page.items, None, page=page, listed_by=intake.run.id, again=again
        )
        if intake.is_cut:
            return


def _is_due(intake: Intake, place: dict[str, Any], began: datetime) -> bool:
    last = place.get("pruned_at")
    if intake.run.asked.get("confirm_prune") or not isinstance(last, str):
        return True
    every = timedelta(seconds=intake.opened.settings.prune_every_seconds)
    return datetime.fromisoformat(last) + every <= began


def _window(intake: Intake, began: datetime, *, whole: bool) -> Window | None:
    run, opened = intake.run, intake.opened
    if run.window_from is not None or run.window_to is not None:
        return Window(run.window_from, run.window_to)
    if whole and hasattr(opened.adapter, "list_ids"):
        return None
    if not opened.capabilities.windows:
        return None
    return Window(began - timedelta(days=opened.settings.reconcile_days), None)
