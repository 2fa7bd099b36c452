"""Rows about loading: all of it, once, whatever the pages and whoever dies."""

import gc
import json
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Any

from shared.adapter_contract.contract import MAX_CURSOR_BYTES, RawItem
from shared.sources import run_records
from workers.adapters.kit.keeping import SECRET_VARIABLE, Keeping, Killed
from workers.adapters.kit.reading import KitReading
from workers.adapters.kit.stub import StubEntry

MANY = 1000
VERY_MANY = 10_000
# The size of a text that is almost too large for an entry.
BIG_BYTES = 900_000
# How many entries appear while a run is reading.
LATE = 3
STOP_SECONDS = 2
# At how many places a run is killed, at most.
DEATHS = 4
WALK_SECONDS = 4
MOST_HELD = 20
# What a poll of a source in which nothing has changed may ask.
IDLE_REQUESTS = 6
_STRANGE_CURSORS: tuple[dict[str, Any], ...] = (
    {"v": 999, "done": "2024-01-01"},
    {"v": None},
    {"v": 1},
    {"v": 1, "done": 5, "walk": "x", "files": None},
    {},
)


def full_load(keeping: Keeping) -> None:
    """ADP2: a thousand entries arrive as a thousand, in the order of their times."""
    entries = keeping.some(MANY)
    random.Random(5).shuffle(entries)  # noqa: S311 - no secret
    ids = dict(zip(keeping.add(*entries), entries, strict=True))
    assert len(ids) == MANY, "the stub gives every entry an id of its own"
    keeping.load()
    with keeping.stock() as stock:
        stored = stock.entries()
        assert stock.aside() == []
    assert {one.external_id for one in stored} == set(ids)
    assert not any(one.deleted for one in stored)
    scripted = sorted(ids, key=lambda one: ids[one].time)
    assert [one.external_id for one in stored] == scripted
    assert all(one.revision == 1 for one in stored)


def load_in_a_worker(keeping: Keeping) -> None:
    """ADP2: the memory that a worker's child has as shipped is enough to read it."""
    entries = keeping.some(20)
    entries.append(replace(keeping.fresh(), text="word " * (BIG_BYTES // 5)))
    ids = set(keeping.add(*entries))
    history, tail = keeping.run_bounded(run_records.BACKFILL, run_records.TAIL)
    assert history.error is None, history.error
    assert tail.error is None, tail.error
    assert keeping.live() == ids


def unchanged_source(keeping: Keeping) -> None:
    """ADP3: a second run over the same source writes nothing and asks little."""
    keeping.add(*keeping.some(30))
    keeping.load()
    with keeping.stock() as stock:
        revisions = stock.revisions()
        stock.finish_work()
    asked = len(keeping.stub.requests())
    run = keeping.run()
    again = len(keeping.stub.requests()) - asked
    assert run.error is None
    assert (run.added, run.updated, run.deleted) == (0, 0, 0)
    keeping.catch_up()
    with keeping.stock() as stock:
        assert stock.revisions() == revisions
        assert stock.due() == 0
    assert again <= IDLE_REQUESTS, f"{again} requests to learn of nothing new"


def killed_after_each_page(keeping: Keeping) -> None:
    """ADP4: killed behind each page in turn, and resumed: nothing lost or doubled."""
    keeping.changes = {"page_size": 3}
    ids = set(keeping.add(*keeping.some(7)))
    for page in range(1, DEATHS + 1):
        with keeping.under_another_name() as other:
            has_died = _run_with_a_death(other, run_records.BACKFILL, behind=page)
            _check_each_once(other, ids)
        if not has_died:
            break
    keeping.load()
    for page in range(1, DEATHS + 1):
        ids |= set(keeping.add(*(keeping.fresh() for _ in range(7))))
        has_died = _run_with_a_death(keeping, run_records.TAIL, behind=page)
        _check_each_once(keeping, ids)
        if not has_died:
            break


def _check_each_once(keeping: Keeping, ids: set[str]) -> None:
    with keeping.stock() as stock:
        entries = stock.entries()
    found = {one.external_id for one in entries}
    assert found == ids, f"lost: {sorted(ids - found)}, invented: {sorted(found - ids)}"
    assert all(one.revision == 1 for one in entries), "read twice, written twice"


def _run_with_a_death(keeping: Keeping, kind: str, *, behind: int) -> bool:
    """Kill a run behind so many commits, then let another go on; false if it ended."""
    left = count(behind, -1)

    def die() -> None:
        if next(left) == 1:
            raise Killed

    keeping.trigger(kind)
    keeping.on_step = die
    walk = keeping.take(kind)
    assert walk is not None
    try:
        walk.take_steps(float("inf"))
    except Killed:
        keeping.on_step = None
        # Whoever comes next waits for the lease of the dead to run out.
        with keeping.stock() as stock:
            stock.expire_leases()
        keeping.finish(kind)
        return True
    keeping.on_step = None
    walk.settle(None)
    return False


def appear_during_a_run(keeping: Keeping) -> None:
    """ADP5: what appears while pages are read is there after the next run."""
    keeping.changes = {"page_size": 3}
    ids = set(keeping.add(*keeping.some(4)))
    keeping.load()
    ids |= set(keeping.add(*(keeping.fresh() for _ in range(9))))
    late: list[str] = []

    def appear() -> None:
        # Behind a page that is committed, before the next is asked for.
        if len(late) < LATE:
            late.extend(keeping.add(keeping.fresh()))

    keeping.on_step = appear
    keeping.run_well()
    keeping.on_step = None
    assert late, "nothing was read"
    keeping.run_well()
    assert keeping.live() == {*ids, *late}


def same_second(keeping: Keeping) -> None:
    """ADP13: entries of one second across a page's edge are all taken in."""
    size = 5
    keeping.changes = {"page_size": size}
    ids = set(keeping.add(*keeping.some(size + 5, time=keeping.recent)))
    keeping.load()
    assert keeping.live() == ids
    now = datetime.now(UTC).replace(microsecond=0)
    ids |= set(keeping.add(*keeping.some(size + 5, time=now)))
    keeping.run_well()
    assert keeping.live() == ids


def beyond_the_cap(keeping: Keeping) -> None:
    """ADP14: more in one second than a page may hold: all stored, or a gap is told."""
    cap = keeping.open().descriptor.max_records_per_page
    keeping.changes = {"page_size": min(10_000, cap)}
    ids = set(keeping.add(*keeping.some(cap + 5, time=keeping.recent)))
    keeping.load()
    missing = ids - keeping.live()
    assert not missing or keeping.standing().gaps, f"{len(missing)} lost in silence"


def cursor(keeping: Keeping) -> None:
    """ADP23: small, JSON, without secrets; an unknown one is no crash."""
    if "auth" not in keeping.stub.settings():
        keeping.changes = {"auth": {"kind": "bearer", "secret": SECRET_VARIABLE}}
    entries = [
        StubEntry(
            keeping.number(),
            time=keeping.recent + timedelta(seconds=place),
            title=f"Title {place}",
            text="x",
        )
        for place in range(VERY_MANY)
    ]
    keeping.add(*entries)
    opened = keeping.open(**keeping.changes)
    last: Mapping[str, Any] = {}
    seen = 0
    # A source of many small pages shows in some of them what it would in all.
    ends = time.monotonic() + WALK_SECONDS
    for page in opened.adapter.pages(None):
        last = page.cursor
        seen += len(page.items)
        text = json.dumps(last)
        assert len(text.encode()) <= MAX_CURSOR_BYTES, f"{len(text)} bytes"
        assert json.loads(text) == dict(last), "a cursor survives JSON"
        assert "kit-secret" not in text
        assert "v" in last, "a cursor names its format"
        if time.monotonic() > ends:
            break
    assert seen, "there are pages"
    again = keeping.open(**keeping.changes).adapter.pages(json.loads(json.dumps(last)))
    assert all(isinstance(page.items, tuple) for page in islice(again, 1))
    with keeping.anew() as small:
        small.add(*small.some(3))
        for strange in _STRANGE_CURSORS:
            for page in islice(small.open().adapter.pages(strange), 3):
                assert isinstance(page.items, tuple)


def stops_between_pages(reading: KitReading) -> None:
    """ADP27: ends soon when it is stopped, and holds no page that it has yielded."""
    for number in range(1, 61):
        reading.stub.add(StubEntry(number, time=datetime(2024, 6, 10, tzinfo=UTC)))
    # What was there before is none of its pages, and need not be looked through.
    gc.collect()
    gc.freeze()
    try:
        _stop_between_pages(reading)
    finally:
        gc.unfreeze()


def _stop_between_pages(reading: KitReading) -> None:
    pages = iter(reading.open(page_size=5).adapter.pages(None))
    yielded: set[str] = set()
    # A stretch of time without entries is a page, too.
    for page in islice((one for one in pages if one.items), 10):
        now = {item.external_id for item in page.items}
        gc.collect()
        alive = {o.external_id for o in gc.get_objects() if isinstance(o, RawItem)}
        held = len(alive & (yielded - now))
        # One answer may be several pages; what goes on growing is the whole source.
        assert held <= MOST_HELD, f"{held} items of pages before are still held"
        yielded |= now
    begun = time.monotonic()
    close = getattr(pages, "close", None)
    if close is not None:
        close()
    assert time.monotonic() - begun < STOP_SECONDS
    assert yielded, "there are pages"


def page_sizes(reading: KitReading) -> None:
    """ADP28: whatever the size of a page, the same entries."""
    ids = {
        reading.stub.add(
            StubEntry(number, time=datetime(2024, 6, 10, 4, number // 2, tzinfo=UTC))
        )
        for number in range(1, 14)
    }
    most = reading.open().descriptor.max_records_per_page
    for size in (1, 2, min(10_000, most)):
        assert set(reading.items(page_size=size)) == ids, f"pages of {size}"
