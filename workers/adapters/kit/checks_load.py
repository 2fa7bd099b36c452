"""Rows about loading: all of it, once, whatever the pages and whoever dies."""

from __future__ import annotations

import gc
import json
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from shared.entries.adapter import MAX_CURSOR_BYTES, RawItem
from shared.sources import runs
from workers.adapters.kit.keeping import SECRET_VARIABLE, Keeping, Killed
from workers.adapters.kit.reading import Reading
from workers.adapters.kit.stub import StubEntry

MANY = 1000
VERY_MANY = 10_000
# How many entries appear while a run is reading.
LATE = 3
STOP_SECONDS = 2
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
    """ADP4: killed behind every page in turn, and resumed: nothing lost or doubled."""
    keeping.changes = {"page_size": 3}
    ids = set(keeping.add(*keeping.some(10)))
    _run_with_deaths(keeping, runs.BACKFILL)
    assert keeping.live() == ids
    ids |= set(keeping.add(*(keeping.fresh() for _ in range(7))))
    _run_with_deaths(keeping, runs.TAIL)
    assert keeping.live() == ids
    with keeping.stock() as stock:
        assert all(one.revision == 1 for one in stock.entries())


def _run_with_deaths(keeping: Keeping, kind: str) -> None:
    def die() -> None:
        raise Killed

    keeping.trigger(kind)
    keeping.on_nudge = die
    deaths = 0
    for _ in range(200):
        one = keeping.take(kind)
        if one is None:
            break
        try:
            one.take_steps(0.0)
        except Killed:
            deaths += 1
        else:
            if not one.goes_on:
                one.settle(None)
                break
        # Dead or silent: whoever comes next waits for the lease to run out.
        with keeping.stock() as stock:
            stock.expire_leases()
    keeping.on_nudge = None


def appear_during_a_run(keeping: Keeping) -> None:
    """ADP5: what appears while pages are read is there after the next run."""
    keeping.changes = {"page_size": 3}
    ids = set(keeping.add(*keeping.some(4)))
    keeping.load()
    ids |= set(keeping.add(*(keeping.fresh() for _ in range(9))))
    keeping.trigger(runs.TAIL)
    goes_on = True
    steps = 0
    while goes_on:
        goes_on = keeping.go_on(runs.TAIL)
        steps += 1
        if steps <= LATE:
            ids |= set(keeping.add(keeping.fresh()))
    ids |= set(keeping.add(*(keeping.fresh() for _ in range(max(0, LATE - steps)))))
    run = keeping.run()
    assert run.error is None, run.error
    assert keeping.live() == ids


def same_second(keeping: Keeping) -> None:
    """ADP13: entries of one second across a page's edge are all taken in."""
    size = 5
    keeping.changes = {"page_size": size}
    ids = set(keeping.add(*keeping.some(size + 5, time=keeping.recent)))
    keeping.load()
    assert keeping.live() == ids
    now = datetime.now(UTC).replace(microsecond=0)
    ids |= set(keeping.add(*keeping.some(size + 5, time=now)))
    run = keeping.run()
    assert run.error is None, run.error
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
    for page in opened.adapter.pages(None):
        last = page.cursor
        seen += len(page.items)
        text = json.dumps(last)
        assert len(text.encode()) <= MAX_CURSOR_BYTES, f"{len(text)} bytes"
        assert json.loads(text) == dict(last), "a cursor survives JSON"
        assert "kit-secret" not in text
        assert "v" in last, "a cursor names its format"
    assert seen >= VERY_MANY, f"{seen} of {VERY_MANY} entries"
    for strange in (json.loads(json.dumps(dict(last))), *_STRANGE_CURSORS):
        pages = keeping.open(**keeping.changes).adapter.pages(strange)
        for page in islice(pages, 3):
            assert isinstance(page.items, tuple)


def stops_between_pages(reading: Reading) -> None:
    """ADP27: ends soon when it is stopped, and holds no page that it has yielded."""
    for number in range(1, 41):
        reading.stub.add(StubEntry(number, time=datetime(2024, 6, 10, tzinfo=UTC)))
    pages = iter(reading.open(page_size=5).adapter.pages(None))
    sizes = []
    for page in islice(pages, 3):
        sizes.append(len(page.items))
        del page
        gc.collect()
        held = sum(isinstance(one, RawItem) for one in gc.get_objects())
        assert held == 0, f"{held} items are held while nobody has asked for more"
    begun = time.monotonic()
    close = getattr(pages, "close", None)
    if close is not None:
        close()
    assert time.monotonic() - begun < STOP_SECONDS
    assert sizes, "there are pages"


def page_sizes(reading: Reading) -> None:
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
