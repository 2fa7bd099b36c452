"""Rows about what changes in a source once it is stored: edits, deletions, clocks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.adapter_contract.contract import AdapterCapabilities
from shared.sources import run_records
from shared.sources.run_records import RunRequest
from workers.adapters.kit.keeping import Keeping
from workers.adapters.kit.stored import StoredEntry
from workers.adapters.kit.stub import FaultMode, StubFile

LIMIT = 2
# So many ids later, as an hour later, no overlap hides that edits are not looked for.
FAR_BACK = 300
# Enough that what a cut listing lacks is more than may ever vanish unasked.
MANY = 120
LONG_AGO = timedelta(days=30)
WRONG_BY_SECONDS = 300
_LIES: tuple[FaultMode, ...] = ("empty_listing", "cut_listing", "login_page")
# More than a run and its retries ask for.
_ALL_REQUESTS = 100


def back_dated(keeping: Keeping) -> None:
    """ADP6: an entry of thirty days ago is found, as the capabilities promise."""
    keeping.add(*keeping.some(5))
    keeping.load()
    late = keeping.add(*keeping.some(1, time=keeping.recent - LONG_AGO))[0]
    keeping.catch_up()
    can = keeping.open().capabilities
    promised = (
        {can.edits, can.deletes} & {"index", "rescan"}
        or can.order.startswith("modified")
        or can.order == "none"
    )
    assert late in keeping.live() or not promised


def edits(keeping: Keeping) -> None:
    """ADP7: each change is one revision, the way back too; no change is none."""
    old: dict[str, Any] = {
        "title": "Title of one",
        "text": "The old text",
        "tags": ("RF",),
        "files": (StubFile("first.txt", b"First"),),
    }
    entry = keeping.some(1, **old)[0]
    by_id = keeping.open().capabilities.order == "id_asc"
    later = keeping.recent + timedelta(hours=1)
    others = keeping.some(FAR_BACK if by_id else 3, time=later)
    external_id = keeping.add(entry, *others)[0]
    keeping.load()
    before = _stored(keeping, external_id)
    changes: list[dict[str, Any]] = [{"title": "Another title"}, {"text": "New text"}]
    if "RF" in before.tags:
        changes.append({"tags": ("RF", "Vacuum")})
    with keeping.stock() as stock:
        if stock.attachments():
            changes.append({"files": (*old["files"], StubFile("trip.txt", b"Trip"))})
    changes.append({"text": "The old text"})
    expected = before.revision
    for change in changes:
        external_id = keeping.stub.edit(external_id, **change)
        keeping.catch_up()
        expected += 1
        now = _stored(keeping, external_id)
        assert now.revision == expected, f"{change} made revision {now.revision}"
    keeping.stub.edit(external_id, text="The old text")
    keeping.catch_up()
    now = _stored(keeping, external_id)
    assert now.revision == expected, "an edit that changes nothing is no revision"
    assert "The old text" in now.text
    assert now.title.startswith("Another title")


def edits_with_new_ids(keeping: Keeping) -> None:
    """ADP8: the old id is a tombstone, linked from the new one, which alone is live."""
    old = keeping.add(*keeping.some(2))[0]
    keeping.load()
    new = keeping.stub.edit(old, text="New text")
    assert new != old
    keeping.catch_up()
    with keeping.stock() as stock:
        assert stock.entry(old).deleted
        assert not stock.entry(new).deleted
        assert (new, "supersedes", old) in stock.links()


def deletions(keeping: Keeping) -> None:
    """ADP9: what is deleted is a tombstone; what comes back is a new revision."""
    entries = keeping.some(5)
    ids = keeping.add(*entries)
    keeping.load()
    keeping.stub.delete(ids[2])
    keeping.catch_up()
    keeping.catch_up()
    assert keeping.live() == set(ids) - {ids[2]}
    before = _stored(keeping, ids[2])
    assert keeping.stub.add(entries[2]) == ids[2]
    keeping.catch_up()
    assert keeping.live() == set(ids)
    assert _stored(keeping, ids[2]).revision == before.revision + 1


def lying_listings(keeping: Keeping) -> None:
    """ADP10: an empty, cut or foreign answer deletes nothing, and is told."""
    tried = [mode for mode in _LIES if _lies_in_vain(keeping, mode)]
    assert tried, "the stub can tell no lie; see its `fault`"


def _lies_in_vain(keeping: Keeping, mode: FaultMode) -> bool:
    """Hold that a lie deletes nothing; false where the source cannot tell it."""
    with keeping.anew() as one:
        ids = set(one.add(*one.some(MANY)))
        one.load()
        try:
            one.stub.fault(mode, times=_ALL_REQUESTS)
        except LookupError:
            return False
        run = one.run(run_records.RECONCILE)
        gone = ids - one.live()
        assert not gone, f"{mode} has deleted {len(gone)}"
        told = run.error or one.standing().degraded
        assert told, f"{mode} is told nobody, or the stub's listing does not lie"
    return True


def wrong_clock(keeping: Keeping) -> None:
    """ADP16: with the source's clock five minutes off, nothing is lost."""
    ids = set(keeping.add(*keeping.some(3)))
    keeping.load()
    for seconds in (WRONG_BY_SECONDS, -WRONG_BY_SECONDS, 0):
        _set_clock(keeping, seconds)
        for _ in range(2):
            ids |= set(keeping.add(keeping.fresh()))
            keeping.run_well()
    keeping.catch_up()
    assert keeping.live() == ids


def _set_clock(keeping: Keeping, seconds: float) -> None:
    """Set the source's clock; one that decides no cursor need not go wrong."""
    try:
        keeping.stub.clock_offset(seconds)
    except LookupError:
        order = keeping.open().capabilities.order
        if order not in {"id_asc", "none"}:
            message = f"it is read {order}: the stub's `clock_offset` is needed"
            raise AssertionError(message) from None


def far_future(keeping: Keeping) -> None:
    """ADP15: an entry that says it is of next year does not drag the cursor there."""
    ids = set(keeping.add(*keeping.some(3)))
    keeping.load()
    future = keeping.stub.add(keeping.fresh(time=keeping.recent + LONG_AGO * 12))
    keeping.run_well()
    ids |= set(keeping.add(keeping.fresh()))
    keeping.run_well()
    assert keeping.live() - {future} == ids
    if future in keeping.live():
        assert "time_in_future" in _stored(keeping, future).flags


def malformed_item(keeping: Keeping) -> None:
    """ADP19: a spoilt item is quarantined as it came, and read once it is mended."""
    ids = keeping.add(*keeping.some(5))
    keeping.stub.malform(ids[2])
    keeping.load()
    assert keeping.live() == set(ids) - {ids[2]}
    with keeping.stock() as stock:
        aside = stock.aside()
    assert len(aside) == 1, aside
    assert aside[0]["has_raw"], "the raw payload is kept"
    assert aside[0]["error"].get("details", {}).get("reason"), aside[0]["error"]
    keeping.stub.edit(ids[2], text="Mended")
    keeping.run_well(run_records.BACKFILL)
    assert keeping.live() == set(ids)
    with keeping.stock() as stock:
        assert stock.aside() == []


def drafts(keeping: Keeping) -> None:
    """ADP26: what is not finished is not shown, and is once it is."""
    ids = keeping.add(*keeping.some(2))
    keeping.load()
    draft = keeping.stub.add(replace(keeping.fresh(), draft=True))
    keeping.catch_up()
    assert keeping.live() == set(ids)
    assert keeping.stub.edit(draft, draft=False) == draft
    keeping.catch_up()
    assert keeping.live() == {*ids, draft}


def counts(keeping: Keeping) -> None:
    """ADP29: the row of a run says what it did; a limit bounds work, not truth."""
    can = keeping.open().capabilities
    old = keeping.add(*keeping.some(4))
    keeping.load()
    new = keeping.add(*keeping.some(3))
    bad = keeping.add(*keeping.some(1))[0]
    keeping.stub.malform(bad)
    expected = {"added": 3, "updated": 0, "deleted": 0, "quarantined": 1}
    if can.edits not in {"append_only", "invisible"}:
        for one in old[:2]:
            keeping.stub.edit(one, text="Edited text")
        expected["updated"] = 2
    if can.deletes in {"flagged", "index", "rescan"}:
        keeping.stub.delete(old[2])
        expected["deleted"] = 1
    done = [keeping.run(kind) for kind in _thorough(can)]
    for run in done:
        assert run.error is None, run.error
    found = {name: sum(getattr(run, name) for run in done) for name in expected}
    # Who looks twice at what is spoilt quarantines it anew.
    found["quarantined"] = done[0].quarantined
    assert found == expected
    if len(done) > 1:
        told = f"its tail has seen {done[0].updated} edits"
        assert done[0].updated == expected["updated"], told
    # A listing brings only the entries that have changed.
    same = len(old) - expected["updated"] - expected["deleted"]
    lists = hasattr(keeping.open().adapter, "list_ids")
    if len(done) == 1:
        unchanged = done[0].unchanged
        assert unchanged == same or (lists and unchanged == 0), unchanged
    else:
        assert done[0].unchanged <= same, done[0].unchanged
    gone = {old[2]} if expected["deleted"] else set()
    _check_limit(keeping, {*new, *old} - gone)


def _check_limit(keeping: Keeping, before: set[str]) -> None:
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=30)
    ids = set(keeping.add(*keeping.some(5, time=now)))
    run = keeping.run(run_records.TAIL, RunRequest(limit=LIMIT))
    assert run.seen <= LIMIT, f"a limit of {LIMIT} has read {run.seen}"
    keeping.run_well(run_records.TAIL)
    assert keeping.live() == before | ids, "a limited run has moved the cursor too far"


def _thorough(can: AdapterCapabilities) -> tuple[str, ...]:
    """Return the runs that promise, together, to show everything that has changed.

    A tail that sees edits is held to it: a listing may tell what is gone, and no more.
    """
    compares = {can.edits, can.deletes} & {"index", "rescan"}
    if can.edits == "cursor" and compares:
        return run_records.TAIL, run_records.RECONCILE
    return (run_records.RECONCILE if compares else run_records.TAIL,)


def _stored(keeping: Keeping, external_id: str) -> StoredEntry:
    with keeping.stock() as stock:
        return stock.entry(external_id)
