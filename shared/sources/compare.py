"""A source's listing of ids, compared with what is stored; what differs is fetched."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import cast

from shared.entries.adapter import (
    Fetches,
    Gap,
    IdStamp,
    ListsIds,
    RawItem,
    Window,
)
from shared.postgres import connection
from shared.sources import listing, state
from shared.sources.intake import Intake, Steps
from shared.sources.listing import Listed
from shared.sources.runs import Counts

CHUNK = 1000
FETCHED_AT_ONCE = 20


def steps(intake: Intake, window: Window | None) -> Steps:
    """List, then fetch what is unknown or changed; the listing stays for a prune."""
    began = intake.opened.io.now()
    yield from take_down(intake, window)
    yield from fetch_changed(intake, listed(intake, window, before=began))


def take_down(intake: Intake, window: Window | None) -> Steps:
    """Take the whole listing down, anew."""
    adapter = cast("ListsIds", intake.opened.adapter)
    run_id = intake.run.id
    with connection(intake.pool) as conn:
        listing.clear(conn, run_id)
    ids = adapter.list_ids(window)
    while chunk := list(islice(ids, CHUNK)):
        with connection(intake.pool) as conn:
            listing.add(conn, run_id, chunk)
            intake.keep(conn, None)
        yield Counts()


def listed(intake: Intake, window: Window | None, *, before: datetime) -> Listed:
    """Return the listing of this run."""
    return Listed(
        intake.run.id,
        intake.tenant,
        intake.name,
        before,
        window.start if window else None,
        window.end if window else None,
    )


def fetch_changed(intake: Intake, found: Listed) -> Steps:
    """Fetch every listed entry that is unknown here or stood otherwise."""
    after = ""
    while True:
        with connection(intake.pool) as conn:
            ids = found.changed(conn, after=after, limit=FETCHED_AT_ONCE)
        if not ids:
            return
        after = ids[-1].external_id
        items, lost = _fetched(intake, ids)
        if lost:
            with connection(intake.pool) as conn:
                state.note_gaps(conn, intake.tenant, intake.name, lost)
        yield intake.store(items, None)
        if intake.is_cut:
            return


def _fetched(intake: Intake, ids: list[IdStamp]) -> tuple[list[RawItem], list[Gap]]:
    adapter = cast("Fetches", intake.opened.adapter)
    items: list[RawItem] = []
    gaps: list[Gap] = []
    for one in ids:
        item = adapter.fetch(one.external_id)
        if item is None:
            # Listed and gone a moment later: the next listing tells.
            gaps.append(Gap(None, None, f"{one.external_id} is listed, not found"))
        else:
            items.append(replace(item, stamp=one.stamp))
    return items, gaps
