"""A source's listing of ids, compared with what is stored; what differs is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Self

from shared.adapter_contract.contract import (
    Fetches,
    Gap,
    IdStamp,
    ListsIds,
    RawItem,
    ReadsInPart,
    Window,
)
from shared.postgres.pool import connection
from shared.sources import listed_ids, run_records, source_state
from shared.sources.intake.store_page import Intake, Steps
from shared.sources.listed_ids import Listed
from shared.sources.run_records import Counts
from shared.sources.runs.kinds import prune
from shared.work import schedule

CHUNK = 1000
FETCHED_AT_ONCE = 20


@dataclass(slots=True)
class Comparison:
    """How far one comparison of a run has come; kept with each commit."""

    began: datetime
    is_listed: bool = False
    # Where the pages of a window that is read again go on.
    inner: dict[str, Any] | None = None
    # The last id that was looked at.
    after: str = ""
    # Whether all of the window was read again.
    is_read: bool = False
    # How the ids of what the source has refused begin.
    unread: tuple[str, ...] = ()
    # Whether the listing is being taken down a second time.
    is_second: bool = False
    # Whether the source said that a listing lacks something.
    has_gaps: bool = False

    @classmethod
    def resume(cls, intake: Intake) -> Self:
        """Return where this run stands; another run's place is nothing to it."""
        kept = (intake.cursor or {}).get("at")
        if not isinstance(kept, dict) or kept.get("run") != str(intake.run.id):
            with connection(intake.pool) as conn:
                listed_ids.clear(conn, intake.run.id)
            return cls(intake.opened.io.now())
        began = datetime.fromisoformat(kept["began"])
        is_read = bool(kept.get("read", kept["listed"]))
        unread = tuple(kept.get("unread", ()))
        return cls(
            began,
            kept["listed"],
            kept["inner"],
            kept["after"],
            is_read,
            unread,
            bool(kept.get("second")),
            bool(kept.get("gaps")),
        )

    def cursor(self, intake: Intake) -> dict[str, Any]:
        """Return the run's cursor with this place in it."""
        at = {
            "run": str(intake.run.id),
            "began": self.began.isoformat(),
            "listed": self.is_listed,
            "inner": self.inner,
            "after": self.after,
            "read": self.is_read,
            "unread": list(self.unread),
            "second": self.is_second,
            "gaps": self.has_gaps,
        }
        return {**(intake.cursor or {"v": 1}), "at": at}


def steps(intake: Intake, window: Window | None) -> Steps:
    """List, fetch what is unknown or changed, and delete what is gone."""
    at = Comparison.resume(intake)
    yield from take_down(intake, window, at)
    found = listed(intake, window, at)
    yield from fetch_changed(intake, found, at)
    if intake.is_cut:
        return
    if intake.opened.capabilities.deletes == "index":
        with connection(intake.pool) as conn:
            count = listed_ids.count(conn, intake.run.id)
        yield from prune.steps(intake, found, listed=count, list_again=None)
    end(intake)


def take_down(intake: Intake, window: Window | None, at: Comparison) -> Steps:
    """Take the whole listing down, unless this run has done so already."""
    if at.is_listed:
        return
    list_all(intake, window)
    at.is_listed, at.unread = True, tuple(note_unread(intake))
    with connection(intake.pool) as conn:
        intake.keep(conn, at.cursor(intake))
    yield Counts()


def list_all(intake: Intake, window: Window | None) -> None:
    """Take the whole listing down at one go: it has no place to go on from."""
    adapter = intake.opened.adapter
    assert isinstance(adapter, ListsIds)
    run_id = intake.run.id
    with connection(intake.pool) as conn:
        listed_ids.clear(conn, run_id)
    ids = adapter.list_ids(window)
    while chunk := list(islice(ids, CHUNK)):
        with connection(intake.pool) as conn:
            listed_ids.add(conn, run_id, chunk)
            intake.keep(conn, None)


def end(intake: Intake) -> None:
    """Forget the listing, and where the run stood in it."""
    cursor = {key: one for key, one in (intake.cursor or {}).items() if key != "at"}
    with connection(intake.pool) as conn:
        listed_ids.clear(conn, intake.run.id)
        intake.keep(conn, cursor or {"v": 1})


def note_unread(intake: Intake) -> Mapping[str, str]:
    """Note at the source which parts it refuses to show, and return them."""
    adapter = intake.opened.adapter
    unread = adapter.unread() if isinstance(adapter, ReadsInPart) else {}
    if isinstance(adapter, ReadsInPart) and not intake.run.is_dry:
        with connection(intake.pool) as conn:
            source_state.note_unread(conn, intake.tenant, intake.name, unread)
    return unread


def listed(intake: Intake, window: Window | None, at: Comparison) -> Listed:
    """Return the listing of this run."""
    return Listed(
        intake.run.id,
        intake.tenant,
        intake.name,
        at.began,
        window.start if window else None,
        window.end if window else None,
        at.unread,
        nests_replies=intake.opened.capabilities.replies == "nested",
    )


def fetch_changed(intake: Intake, found: Listed, at: Comparison) -> Steps:
    """Fetch every listed entry that is unknown here or stood otherwise."""
    only_known = _history_comes(intake)
    while True:
        with connection(intake.pool) as conn:
            ids = found.changed(
                conn, after=at.after, limit=FETCHED_AT_ONCE, only_known=only_known
            )
        if not ids:
            return
        before, at.after = at.after, ids[-1].external_id
        items, lost = _fetched(intake, ids)
        if lost:
            with connection(intake.pool) as conn:
                intake.note_gaps(conn, lost)
        counts = intake.store(intake.read(items), at.cursor(intake))
        if intake.is_cut:
            at.after = before
            return
        yield counts


def _history_comes(intake: Intake) -> bool:
    """Tell whether a backfill brings many entries by a request, now or once asked."""
    with connection(intake.pool) as conn:
        backfill = schedule.load_standings(conn, intake.name).get(run_records.BACKFILL)
    if backfill is None:
        return False
    if backfill.is_cancelled and intake.opened.capabilities.windows:
        return True
    return backfill.cursor is not None and backfill.next_run_at is not None


def _fetched(intake: Intake, ids: list[IdStamp]) -> tuple[list[RawItem], list[Gap]]:
    adapter = intake.opened.adapter
    assert isinstance(adapter, Fetches), "what lists ids can read one of them"
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
