"""The Olog adapter against a service with all the habits of the real one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.adapter_contract.contract import AdapterPage, Cursor, Source, Window
from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.olog import OlogStub
from tests.contract.walking import fill, ids
from workers.adapters.kit.stub import StubEntry, StubFile
from workers.adapters.olog.olog import Olog, OlogArgs

STUB = OlogStub
_NOON = datetime(2024, 6, 10, 12, 0, 0, 250_000, tzinfo=UTC)


def _adapter(stub: OlogStub, io: PlainIO, **changes: Any) -> Olog:
    args = changes.pop("args", OlogArgs())
    base_url = str(stub.settings()["base_url"])
    return Olog(Source(name="ring", base_url=base_url, args=args, **changes), io)


def _entry(number: int, after: timedelta = timedelta(), **changes: Any) -> StubEntry:
    return StubEntry(number=number, time=_NOON + after, **changes)


def _entries(adapter: Olog, pages: list[AdapterPage]) -> dict[str, Entry]:
    parsed = [adapter.parse(item) for page in pages for item in page.items]
    return {entry.external_id: entry for entry in parsed}


def test_every_log_comes_once_in_the_order_of_its_creation(stub, io):
    fill(stub, 45, first=0, start=_NOON)
    pages = list(_adapter(stub, io, page_size=10).pages(None))
    assert ids(pages) == [str(number) for number in range(45)]
    assert [len(page.items) for page in pages] == [10, 10, 10, 10, 5]
    assert pages[0].total == 45
    assert not any(page.gaps for page in pages)


def test_a_walk_cut_off_after_any_page_goes_on_where_it_was(stub, io):
    fill(stub, 25, first=0, start=_NOON, step=timedelta())
    cursor = None
    found: list[str] = []
    for _ in range(30):
        page = next(_adapter(stub, io, page_size=4).pages(cursor))
        cursor = page.cursor
        found += [item.external_id for item in page.items]
        if not cursor.get("walk"):
            break
    assert sorted(found, key=int) == [str(number) for number in range(25)]


def test_a_poll_asks_once_and_finds_what_came_since(stub, io):
    stub.add(_entry(1))
    adapter = _adapter(stub, io)
    cursor = list(adapter.pages(None))[-1].cursor
    before = len(stub.requests())
    stub.add(_entry(2, timedelta(seconds=1)))
    pages = list(adapter.pages(cursor))
    assert "2" in ids(pages)
    assert len(stub.requests()) == before + 1


def test_a_log_dated_ahead_is_read_and_does_not_drag_the_cursor(stub, io):
    stub.add(StubEntry(number=1, time=io.now() + timedelta(days=365)))
    adapter = _adapter(stub, io)
    cursor = list(adapter.pages(None))[-1].cursor
    stub.add(StubEntry(number=2, time=io.now()))
    assert set(ids(adapter.pages(cursor))) == {"1", "2"}


def test_a_window_holds_what_was_created_within_it_and_nothing_else(stub, io):
    fill(stub, 10, first=0, start=_NOON, step=timedelta(milliseconds=100))
    window = Window(
        _NOON + timedelta(milliseconds=200), _NOON + timedelta(milliseconds=800)
    )
    pages = list(_adapter(stub, io).pages(None, window))
    assert ids(pages) == ["2", "3", "4", "5", "6", "7"]


def test_more_logs_than_the_index_can_skip_are_read_all_the_same(stub, io):
    fill(stub, 10_250, first=0, start=_NOON, step=timedelta(seconds=1))
    pages = list(_adapter(stub, io, page_size=1000).pages(None))
    assert len(set(ids(pages))) == 10_250
    assert not any(page.gaps for page in pages)
    assert not any("from=10000" in request for request in stub.requests())


def test_more_logs_in_one_second_than_the_index_can_skip_are_a_gap(stub, io):
    fill(stub, 10_100, first=0, start=_NOON, step=timedelta())
    stub.add(_entry(20_000, timedelta(seconds=5)))
    start = _NOON - timedelta(milliseconds=250)
    window = Window(start, start + timedelta(minutes=1))
    pages = list(_adapter(stub, io, page_size=1000).pages(None, window))
    assert len(set(ids(pages))) >= 10_000
    assert "20000" in ids(pages)
    gaps = [gap for page in pages for gap in page.gaps]
    assert len(gaps) == 1
    assert "within one second" in gaps[0].reason


def test_a_listing_cut_short_is_read_on_from_where_it_ended(stub, io):
    fill(stub, 20, first=0, start=_NOON, step=timedelta(seconds=1))
    list(_adapter(stub, io).pages(None))
    stub.fault("cut_listing")
    pages = list(_adapter(stub, io).pages(None))
    assert len(set(ids(pages))) == 20


def test_a_group_that_appears_without_a_word_joins_original_and_reply(stub, io):
    adapter = _adapter(stub, io)
    stub.add(_entry(1))
    alone = _entries(adapter, list(adapter.pages(None)))["1"]
    stub.add(_entry(2, timedelta(minutes=1), reply_to=1))
    joined = _entries(adapter, list(adapter.pages(None)))
    assert alone.thread_key is None
    assert joined["1"].thread_key == joined["2"].thread_key is not None
    assert joined["1"].modified_at is None


def test_the_first_owner_stays_the_author_of_what_others_edit(stub, io):
    adapter = _adapter(stub, io)
    stub.add(_entry(1, author="a.first"))
    stub.edit("1", text="Corrected")
    stub.edit("1", text="Corrected twice")
    entry = _entries(adapter, list(adapter.pages(None)))["1"]
    assert (entry.authors, entry.editor) == (("a.first",), "e.editor")
    assert entry.text == "Corrected twice"
    assert entry.modified_at is not None
    asked = len(stub.requests())
    list(adapter.pages(None))
    # The archive is asked once only.
    assert len(stub.requests()) == asked + 1


def test_the_archive_of_other_logs_whose_number_begins_alike_names_no_author(stub, io):
    adapter = _adapter(stub, io)
    for number in (40, 4, 41):
        stub.add(_entry(number, author=f"of.{number}"))
        stub.edit(str(number), text="Corrected")
    entries = _entries(adapter, list(adapter.pages(None)))
    assert {key: entry.authors for key, entry in entries.items()} == {
        "40": ("of.40",),
        "4": ("of.4",),
        "41": ("of.41",),
    }


def test_a_version_that_the_archive_leaves_out_makes_nobody_else_the_author(stub, io):
    for number in (*range(40, 50), 4):
        stub.add(_entry(number, author=f"of.{number}"))
        stub.edit(str(number), text="Corrected")
    adapter = _adapter(stub, io)
    entries = _entries(adapter, list(adapter.pages(None)))
    # Eleven versions are of logs whose number begins with 4, and ten are answered.
    assert entries["4"].authors == ("e.editor",)
    assert entries["49"].authors == ("of.49",)


def test_an_archive_that_cannot_be_searched_ends_no_walk(stub, io):
    stub.has_archive = False
    stub.add(_entry(1, author="a.first"))
    stub.edit("1", text="Corrected")
    adapter = _adapter(stub, io)
    assert _entries(adapter, list(adapter.pages(None)))["1"].authors == ("e.editor",)
    # What was not to be learned is asked again.
    stub.has_archive = True
    assert _entries(adapter, list(adapter.pages(None)))["1"].authors == ("a.first",)


@pytest.mark.parametrize(
    "zone", ["America/Los_Angeles", "Asia/Kolkata", "Pacific/Auckland", "Etc/GMT+12"]
)
def test_a_server_that_reads_times_in_its_own_zone_hides_nothing(stub, io, zone):
    stub.heeds_tz, stub.zone = False, zone
    adapter = _adapter(stub, io)
    stub.add(StubEntry(number=1, time=io.now() - timedelta(hours=1)))
    cursor = list(adapter.pages(None))[-1].cursor
    stub.add(StubEntry(number=2, time=io.now()))
    asked = len(stub.requests())
    pages = list(adapter.pages(cursor))
    assert "2" in ids(pages)
    # What was learned is remembered, and little is read twice.
    assert len(stub.requests()) == asked + 1
    stub.add(StubEntry(number=3, time=io.now() - timedelta(hours=6)))
    assert "3" not in ids(adapter.pages(pages[-1].cursor))


def test_windows_of_a_server_with_a_zone_of_its_own_join_without_a_gap(stub, io):
    stub.heeds_tz, stub.zone = False, "America/New_York"
    for hour in range(48):
        stub.add(_entry(hour, timedelta(hours=hour)))
    middle = _NOON + timedelta(hours=20)
    adapter = _adapter(stub, io)
    before = ids(adapter.pages(None, Window(_NOON, middle)))
    after = ids(adapter.pages(None, Window(middle, _NOON + timedelta(days=2))))
    assert before == [str(hour) for hour in range(20)]
    assert after == [str(hour) for hour in range(20, 48)]


def test_one_log_is_fetched_by_its_number(stub, io):
    adapter = _adapter(stub, io)
    stub.add(_entry(7, title="Seven"))
    item = adapter.fetch("7")
    assert item is not None
    assert adapter.parse(item).title == "Seven"
    assert adapter.fetch("8") is None


def test_two_files_of_one_name_are_told_apart(stub, io):
    adapter = _adapter(stub, io)
    files = (StubFile("a.txt", b"one"), StubFile("a.txt", b"two"))
    stub.add(_entry(1, files=files))
    refs = _entries(adapter, list(adapter.pages(None)))["1"].attachments
    assert [b"".join(adapter.fetch_attachment(ref)) for ref in refs] == [b"one", b"two"]


@pytest.mark.parametrize("mode", ["html_error", "login_page"])
def test_a_page_instead_of_an_answer_ends_the_walk(stub, io, mode):
    stub.add(_entry(1))
    stub.fault(mode)
    with pytest.raises(IngestionError) as caught:
        list(_adapter(stub, io).pages(None))
    assert caught.value.reason == "unexpected_shape"


def test_a_cursor_of_another_format_starts_over_where_reconciling_does(stub, io):
    stub.add(_entry(1))
    stub.add(StubEntry(number=2, time=io.now() - timedelta(days=3)))
    cursors: list[Cursor] = [{"v": 99}, {"v": 1, "at": "x"}, {"v": 1, "at": None}]
    for cursor in cursors:
        assert ids(_adapter(stub, io).pages(cursor)) == ["2"]


def test_logbooks_can_be_chosen(stub, io):
    stub.add(_entry(1, logbook="Operations"))
    stub.add(_entry(2, logbook="Vacuum"))
    args = OlogArgs(logbooks=("Vacuum",))
    assert ids(_adapter(stub, io, args=args).pages(None)) == ["2"]


def test_an_olog_is_recognised_with_or_without_its_path(stub, io):
    base_url = str(stub.settings()["base_url"])
    for url in (base_url, f"{base_url}/Olog/"):
        found = Olog.recognise(url, io)
        assert found is not None
        assert found.settings == {"base_url": base_url}
    assert Olog.recognise(f"{base_url}/other", io) is None


def test_the_check_tells_the_newest_log_and_how_many_there_are(stub, io):
    stub.add(_entry(1))
    stub.add(_entry(2, timedelta(hours=1)))
    report = _adapter(stub, io).check()
    assert (report.entries, report.newest) == (2, _NOON + timedelta(hours=1))


def test_a_cancelled_walk_ends_between_two_pages(stub, io):
    fill(stub, 5, first=0, start=_NOON, step=timedelta())
    pages = _adapter(stub, io, page_size=1).pages(None)
    next(pages)
    io.cancelled = True
    assert list(pages) == []
