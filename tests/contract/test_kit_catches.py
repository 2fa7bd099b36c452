"""The conformance kit fails adapters that look right and are not, each by its row."""

import html
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import httpx2
import pytest

from docs.examples.adapter.logchord_acme.adapter import Acme
from docs.examples.adapter.tests.stub import AcmeStub
from shared.adapter_contract.contract import AdapterPage, IdStamp
from shared.errors import IngestionError, MalformedEntryError, SourceUnreachableError
from shared.sources import load_adapter
from workers.adapters.kit.checks import changes, faults, load, parse, text, times
from workers.adapters.kit.keeping import keeping
from workers.adapters.kit.subject import Subject


class FirstPageOnly(Acme):
    def pages(self, since, window=None):
        yield from [next(super().pages(since, window))]


class NewIdEachTime(Acme):
    numbers = count()

    def pages(self, since, window=None):
        for page in super().pages(since, window):
            items = tuple(
                replace(item, external_id=f"{item.external_id}-{next(self.numbers)}")
                for item in page.items
            )
            yield replace(page, items=items)


class CursorAtNow(Acme):
    def pages(self, since, window=None):
        for page in super().pages(since, window):
            ahead = datetime(2100, 1, 1, tzinfo=UTC).isoformat()
            yield replace(page, cursor={"v": 1, "at": ahead})


class BlindToDeletions(Acme):
    def pages(self, since, window=None):
        for page in super().pages(since, window):
            items = tuple(one for one in page.items if "deleted" not in one.payload)
            yield replace(page, items=items)


class NowForBadTimes(Acme):
    def parse(self, raw):
        try:
            return super().parse(raw)
        except MalformedEntryError:
            now = datetime.now(UTC).isoformat()
            return super().parse(replace(raw, payload={**raw.payload, "written": now}))


class LooksAtTheClock(Acme):
    def parse(self, raw):
        entry = super().parse(raw)
        return replace(entry, metadata={"read_at": str(time.time())})


class TrustsItsSource(Acme):
    def parse(self, raw):
        entry = super().parse(raw)
        return replace(entry, title=raw.payload["title"].strip())


class UnescapesOnceMore(Acme):
    def parse(self, raw):
        entry = super().parse(raw)
        return replace(entry, text=html.unescape(entry.text))


class SwallowsErrors(Acme):
    def pages(self, since, window=None):
        try:
            yield from super().pages(since, window)
        except IngestionError:
            yield AdapterPage((), since or {"v": 1, "at": None})


class RemembersAllInItsCursor(Acme):
    def pages(self, since, window=None):
        known: list[str] = []
        for page in super().pages(since, window):
            # Long names: however few pages the walk has time for, they are too many.
            known += [item.external_id.rjust(400, "0") for item in page.items]
            yield replace(page, cursor={**page.cursor, "known": list(known)})


class HoldsTheWholeSource(Acme):
    def pages(self, since, window=None):
        yield from list(super().pages(since, window))


class TrustsAnyCertificate(Acme):
    """Asks by a client of its own, which believes whoever answers."""

    def _ask(self, since, after):
        params = {
            "since": since.isoformat() if since else "",
            "after": after,
            "limit": str(self._source.page_size),
            "section": self._source.args.section,
        }
        url = f"{self._source.base_url}/changes"
        try:
            answer = httpx2.get(url, params=params, verify=False)
        except httpx2.HTTPError as exc:
            raise SourceUnreachableError(str(exc)) from exc
        return answer.json()["changes"]


class TailWithoutDeletions(Acme):
    """Sees edits by its tail, and tells of no deletion there."""

    def pages(self, since, window=None):
        for page in super().pages(since, window):
            items = tuple(one for one in page.items if "deleted" not in one.payload)
            yield replace(page, items=items)


class ListsIdsAlone(TailWithoutDeletions):
    """Its list of ids tells what is gone, and of no edit."""

    descriptor = replace(
        Acme.descriptor,
        capabilities=replace(Acme.descriptor.capabilities, deletes="index"),
    )

    def list_ids(self, window):
        for page in self.pages(None, window):
            for item in page.items:
                yield IdStamp(item.external_id, None)

    def fetch(self, external_id):
        items = (item for page in self.pages(None) for item in page.items)
        return next((one for one in items if one.external_id == external_id), None)


class ReadsAgain(TailWithoutDeletions):
    """What is deleted is absent when all is read again."""

    descriptor = replace(
        Acme.descriptor,
        capabilities=replace(Acme.descriptor.capabilities, deletes="rescan"),
    )


class BlindTail:
    """Sees no edit but when everything is read."""

    def pages(self, since, window=None):
        for page in super().pages(since, window):
            items = page.items
            if since is not None:
                items = tuple(i for i in items if i.payload["body"] != "Edited text")
            yield replace(page, items=items)


class BlindToEdits(BlindTail, ListsIdsAlone):
    pass


class BlindUntilReadAgain(BlindTail, ReadsAgain):
    pass


CAUGHT = (
    (FirstPageOnly, load.full_load),
    (NewIdEachTime, load.unchanged_source),
    (CursorAtNow, load.appear_during_a_run),
    (BlindToDeletions, changes.deletions),
    (BlindToEdits, changes.counts),
    (BlindUntilReadAgain, changes.counts),
    (NowForBadTimes, times.times),
    (LooksAtTheClock, parse.pure),
    (TrustsItsSource, parse.spoilt_payloads),
    (UnescapesOnceMore, text.escapes),
    (SwallowsErrors, faults.server_faults),
    (TrustsAnyCertificate, faults.pollers),
    (RemembersAllInItsCursor, load.cursor),
    (HoldsTheWholeSource, load.stops_between_pages),
)


@pytest.fixture
def examined(monkeypatch, kit_pool):
    """Let an adapter be the one that every source of this test has."""

    def examine(kind, check):
        monkeypatch.setattr(load_adapter, "find_adapter_class", lambda _: kind)
        with keeping(Subject("acme", AcmeStub), kit_pool) as one:
            check(one)

    return examine


@pytest.mark.requirement("ADP29")
def test_a_list_of_ids_without_stamps_need_not_show_edits(examined):
    examined(ListsIdsAlone, changes.counts)
    examined(ListsIdsAlone, changes.deletions)


@pytest.mark.requirement("ADP29")
def test_what_is_read_again_tells_of_deletions_beside_a_tail(examined):
    examined(ReadsAgain, changes.counts)


@pytest.mark.requirement("I21")
@pytest.mark.parametrize(
    ("kind", "check"), CAUGHT, ids=[kind.__name__ for kind, _ in CAUGHT]
)
def test_a_broken_adapter_fails_its_row_and_a_good_one_does_not(kind, check, examined):
    examined(Acme, check)
    # What the kit asserts, or what the adapter itself lets out.
    with pytest.raises((AssertionError, KeyError, TypeError, AttributeError)):
        examined(kind, check)


class ClocklessStub(AcmeStub):
    """Cannot let its clock go wrong."""

    def clock_offset(self, seconds):
        raise LookupError(seconds)


class ByIds(Acme):
    descriptor = replace(
        Acme.descriptor,
        capabilities=replace(Acme.descriptor.capabilities, order="id_asc"),
    )


@pytest.mark.requirement("ADP16")
def test_only_a_source_that_is_read_by_time_needs_a_clock(monkeypatch, kit_pool):
    subject = Subject("acme", ClocklessStub)
    monkeypatch.setattr(load_adapter, "find_adapter_class", lambda _: ByIds)
    with keeping(subject, kit_pool) as one:
        changes.wrong_clock(one)
    monkeypatch.setattr(load_adapter, "find_adapter_class", lambda _: Acme)
    with (
        keeping(subject, kit_pool) as one,
        pytest.raises(AssertionError, match="clock_offset"),
    ):
        changes.wrong_clock(one)


class RevisingStub(AcmeStub):
    """Writes an edited entry anew, under another id, as some logbooks do."""

    def edit(self, external_id, **changes):
        old = self._entries.pop(external_id)
        self._changed.pop(external_id)
        new = self.add(replace(old, number=old.number + 1000, **changes))
        self._touch(new)
        self.superseded[new] = external_id
        return new

    def __init__(self):
        self.superseded: dict[str, str] = {}
        super().__init__()

    def _record(self, external_id):
        record = super()._record(external_id)
        return {**record, "supersedes": self.superseded.get(external_id)}


class Revising(Acme):
    descriptor = replace(
        Acme.descriptor,
        capabilities=replace(Acme.descriptor.capabilities, edit_makes_new_id=True),
    )

    def parse(self, raw):
        return replace(super().parse(raw), supersedes=raw.payload.get("supersedes"))


@pytest.mark.requirement("ADP8")
def test_an_edit_with_a_new_id_leaves_one_live_entry(monkeypatch, kit_pool):
    monkeypatch.setattr(load_adapter, "find_adapter_class", lambda _: Revising)
    with keeping(Subject("acme", RevisingStub), kit_pool) as one:
        changes.edits_with_new_ids(one)


class SilentStub(AcmeStub):
    """Lists ids and no more: no word of an edit, none of what is deleted."""

    def delete(self, external_id):
        del self._entries[external_id], self._changed[external_id]

    def _touch(self, external_id):
        assert external_id in self._changed


class ListsBareIds(Acme):
    descriptor = replace(
        Acme.descriptor,
        capabilities=replace(
            Acme.descriptor.capabilities,
            order="created_asc",
            edits="rescan",
            deletes="index",
        ),
    )

    def list_ids(self, window):
        for page in self.pages(None, window):
            yield from (IdStamp(one.external_id) for one in page.items)


@pytest.mark.parametrize("check", [changes.edits, changes.deletions, changes.counts])
def test_a_listing_without_stamps_hides_no_edit(check, monkeypatch, kit_pool):
    monkeypatch.setattr(load_adapter, "find_adapter_class", lambda _: ListsBareIds)
    with keeping(Subject("acme", SilentStub), kit_pool) as one:
        check(one)
