"""What a source lists no more becomes a tombstone, unless it looks like a mistake."""

from collections.abc import Generator
from typing import TypeAlias

from shared.adapter_contract.contract import Fetches, RawItem
from shared.entries.tombstones import ABSENT_AT_SOURCE
from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.sources.intake.store_page import Intake, Steps
from shared.sources.listed_ids import Absent, Listed, StoredCounts
from shared.sources.run_records import Counts

# Fewer than these are never too many, however small the logbook.
_NEVER_TOO_MANY = 20
_AT_ONCE = 20

# Takes the listing down a second time; returns whether it is whole.
Again: TypeAlias = Generator[Counts, None, bool]


def steps(
    intake: Intake, found: Listed, *, listed: int | None, list_again: Again | None
) -> Steps:
    """Delete what two listings lack and the source cannot show; or ask an admin.

    Absent from one listing may be the listing's fault. The second is taken at once, or
    is that of the next poll: None, where each poll lists everything anyway. `listed` is
    None where the source says that its listing lacks something.
    """
    with connection(intake.pool) as conn:
        if not intake.run.is_dry:
            found.note_present(conn)
        counts = found.count_stored(conn)
        if intake.run.is_dry:
            # Whether they are really gone is asked when they are to go.
            run_records.count(conn, intake.run, Counts(deleted=counts.absent))
            return
    if counts.absent == 0:
        _unblock(intake)
        return
    if _is_too_much(intake, counts, listed):
        _block(intake, counts, listed)
        return
    _unblock(intake)
    if list_again is None:
        yield from _delete_marked(intake, found)
        yield from _mark(intake, found)
        return
    yield from _mark(intake, found)
    yield from delete_unlisted(intake, found, list_again)


def delete_unlisted(intake: Intake, found: Listed, list_again: Again) -> Steps:
    """Delete what was marked and the second listing lacks, too, if that is whole."""
    is_whole = yield from list_again
    if intake.is_cut or not is_whole:
        return
    with connection(intake.pool) as conn:
        found.note_present(conn)
    yield from _delete_marked(intake, found)


def _mark(intake: Intake, found: Listed) -> Steps:
    after = ""
    while page := _absent(intake, found, after):
        after = page[-1].external_id
        with connection(intake.pool) as conn:
            found.mark(conn, [one.external_id for one in page])
            intake.keep(conn, None)
        yield Counts()


def _delete_marked(intake: Intake, found: Listed) -> Steps:
    """Delete entries that were absent twice, unless the source still returns them."""
    adapter = intake.opened.adapter
    after = ""
    while page := _absent(intake, found, after):
        after = page[-1].external_id
        gone: list[str] = []
        alive: list[RawItem] = []
        for one in page:
            if not one.was_absent_before:
                continue
            item = None
            if isinstance(adapter, Fetches):
                item = adapter.fetch(one.external_id)
            if item is None:
                gone.append(one.external_id)
            else:
                alive.append(item)
        intake.delete(gone, reason=ABSENT_AT_SOURCE)
        # Who comes here again, when time is over, asks for none of these twice.
        yield intake.store(intake.read(alive), None, listed_by=intake.run.id)


def _absent(intake: Intake, found: Listed, after: str) -> list[Absent]:
    with connection(intake.pool) as conn:
        return found.absent(conn, after=after, limit=_AT_ONCE)


def _is_too_much(intake: Intake, counts: StoredCounts, listed: int | None) -> bool:
    if intake.run.asked.get("confirm_prune"):
        return False
    share = intake.opened.settings.prune_max_fraction
    return not listed or counts.missed > max(_NEVER_TOO_MANY, share * counts.stored)


def _block(intake: Intake, counts: StoredCounts, listed: int | None) -> None:
    lists = "fewer entries than it counts" if listed is None else f"{listed} entries"
    why = {
        "code": "prune_blocked",
        "message": (
            f"The source lists {lists}, without {counts.absent} of the"
            f" {counts.stored} that are stored here; nothing was deleted."
            " If that is right, run"
            f" `logchord source trigger {intake.name} --kind reconcile"
            " --confirm-prune`."
        ),
    }
    with connection(intake.pool) as conn:
        source_state.degrade(conn, intake.tenant, intake.name, why)


def _unblock(intake: Intake) -> None:
    with connection(intake.pool) as conn:
        now = source_state.load_source_state(conn, intake.tenant, intake.name)
        if now is not None and (now.degraded or {}).get("code") == "prune_blocked":
            source_state.degrade(conn, intake.tenant, intake.name, None)
