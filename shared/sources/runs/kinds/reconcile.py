"""Edits and deletions that a tail cannot see: what is stored, held against the source.

A listing of ids where there is one and it shows edits; else everything of the window is
read again.
"""

from datetime import datetime, timedelta
from typing import Any

from shared.adapter_contract.contract import AdapterPage, Fetches, ListsIds, Window
from shared.postgres.pool import connection
from shared.sources import listed_ids
from shared.sources.intake.store_page import Intake, Steps
from shared.sources.run_records import Counts
from shared.sources.runs.kinds import compare_listing, prune
from shared.sources.runs.kinds.compare_listing import Comparison
from shared.work import due_work as due

_PRUNED = "pruned_at"


def steps(intake: Intake) -> Steps:
    """Compare a window, or everything when a prune is due; then prune."""
    intake.work_class = due.LIVE
    opened = intake.opened
    at = Comparison.resume(intake)
    prunes = opened.capabilities.deletes in {"index", "rescan"} and _is_due(intake, at)
    window = _window(intake, at.began, whole=prunes)
    lists = isinstance(opened.adapter, ListsIds)
    recent = _window(intake, at.began, whole=False)
    rereads = not lists or opened.capabilities.edits == "rescan"
    if rereads:
        # A listing without stamps tells what is gone, and of no edit.
        yield from _read(intake, recent, at, is_listing=not lists)
    if lists and not intake.is_cut:
        yield from compare_listing.take_down(intake, window, at)
    if intake.is_cut:
        return
    # Entries at the edge of the window move in and out of what the source answers.
    found = compare_listing.listed(intake, window, at)
    fetches = lists and isinstance(opened.adapter, Fetches)
    if fetches and not (rereads and recent is None):
        yield from compare_listing.fetch_changed(intake, found, at)
    if prunes and not intake.is_cut:
        again = _list_again(intake, window, at)
        if at.is_second:
            yield from prune.delete_unlisted(intake, found, again)
        else:
            with connection(intake.pool) as conn:
                listed = listed_ids.count(conn, intake.run.id)
            # What is not listed is asked for where that can be done.
            can_ask = isinstance(opened.adapter, Fetches)
            whole = None if at.has_gaps and not can_ask else listed
            yield from prune.steps(intake, found, listed=whole, list_again=again)
        if not _has_own_window(intake):
            began = at.began.isoformat()
            intake.cursor = {**(intake.cursor or {"v": 1}), _PRUNED: began}
    compare_listing.end(intake)


def _read(
    intake: Intake, window: Window | None, at: Comparison, *, is_listing: bool
) -> Steps:
    """Read a window anew, page by page; its pages may serve as the listing of ids."""
    if at.is_read:
        return
    listed_by = intake.run.id if is_listing else None
    found = intake.opened.adapter.pages(at.inner, window)

    def after(page: AdapterPage) -> dict[str, Any]:
        # The last page's commit says so: a death after it would cost all of them.
        at.inner, at.is_read = dict(page.cursor), page.is_last
        at.has_gaps |= is_listing and bool(page.gaps)
        return at.cursor(intake)

    yield from intake.walk(found, after, listed_by=listed_by)
    if intake.is_cut or intake.is_through:
        return
    at.is_read, at.inner = True, None
    with connection(intake.pool) as conn:
        intake.keep(conn, at.cursor(intake))
    yield Counts()


def _list_again(intake: Intake, window: Window | None, at: Comparison) -> prune.Again:
    """Take the listing down a second time; what can be fetched is asked for instead.

    A listing by pages may take many turns: the next one goes on where this one ended.
    Returns whether it is whole.
    """
    adapter = intake.opened.adapter
    if isinstance(adapter, ListsIds):
        compare_listing.list_all(intake, window)
        return True
    if isinstance(adapter, Fetches):
        return True
    if not at.is_second:
        at.is_second, at.inner, at.has_gaps = True, None, False
        with connection(intake.pool) as conn:
            listed_ids.clear(conn, intake.run.id)
            intake.keep(conn, at.cursor(intake))

    def after(page: AdapterPage) -> dict[str, Any]:
        at.inner = dict(page.cursor)
        at.has_gaps |= bool(page.gaps)
        return at.cursor(intake)

    found = adapter.pages(at.inner, window)
    yield from intake.walk(found, after, listed_by=intake.run.id, again=True)
    return not at.has_gaps or bool(intake.run.asked.get("confirm_prune"))


def _is_due(intake: Intake, at: Comparison) -> bool:
    last = (intake.cursor or {}).get(_PRUNED)
    if intake.run.is_requested or not isinstance(last, str):
        return True
    every = timedelta(seconds=intake.opened.settings.prune_every_seconds)
    return datetime.fromisoformat(last) + every <= at.began


def _window(intake: Intake, began: datetime, *, whole: bool) -> Window | None:
    run, opened = intake.run, intake.opened
    if _has_own_window(intake):
        return Window(run.window_from, run.window_to)
    if whole and isinstance(opened.adapter, ListsIds):
        return None
    if not opened.capabilities.windows:
        return None
    return Window(began - timedelta(days=opened.settings.reconcile_days), None)


def _has_own_window(intake: Intake) -> bool:
    run = intake.run
    return run.window_from is not None or run.window_to is not None
