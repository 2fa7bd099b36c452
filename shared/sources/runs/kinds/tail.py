"""The tail of a source: what is new since the cursor, again and again."""

from datetime import timedelta

from shared.adapter_contract.contract import ListsIds, Window
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.intake.store_page import Intake, Steps
from shared.sources.runs.kinds import compare_listing
from shared.work import schedule

# A first poll looks back at least so far, while the backfill only begins.
_LEAST_WINDOW_SECONDS = 3600.0


def steps(intake: Intake) -> Steps:
    """Take in one page after the other; all is committed at each yield."""
    opened = intake.opened
    began = opened.io.now()
    if _has_only_a_listing(intake):
        yield from compare_listing.steps(intake, None)
    else:
        window = None
        if intake.cursor is None and opened.capabilities.windows:
            # What is older comes by the backfill, which does not hold this up.
            back = max(_LEAST_WINDOW_SECONDS, opened.source.overlap_seconds)
            window = Window(began - timedelta(seconds=back), None)
        found = opened.adapter.pages(intake.cursor, window)
        yield from intake.walk(found, lambda page: page.cursor)
        if intake.is_cut:
            return
        compare_listing.note_unread(intake)
    with connection(intake.pool) as conn:
        end = began - timedelta(seconds=opened.source.overlap_seconds)
        intake.note_complete(conn, end=end)


def _has_only_a_listing(intake: Intake) -> bool:
    """Tell whether the tail is a comparison: once the history is in, not before."""
    opened = intake.opened
    if opened.capabilities.order != "none" or not isinstance(opened.adapter, ListsIds):
        return False
    with connection(intake.pool) as conn:
        backfill = schedule.load_standings(conn, intake.name).get(run_records.BACKFILL)
    # Else every entry of the history would be fetched one by one, a second time.
    return not opened.capabilities.windows or (
        backfill is None or (backfill.next_run_at is None and not backfill.is_cancelled)
    )
