"""The ELOG adapter against a server with all the habits of elogd."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapter_contract.contract import RawItem, Window
from shared.errors import IngestionError, MalformedEntryError
from tests.contract.elogs import DAY, fetched, listed, message, over_server
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.walking import NOON, fill, ids
from workers.adapters.elog.elog_http import ElogHTTP
from workers.adapters.kit.stub import StubEntry, StubFile

STUB = ElogServerStub


@pytest.fixture
def io() -> Iterator[PlainIO]:
    with PlainIO(secrets={"ELOG_PASSWORD": "s3cret"}, max_retries=0) as made:
        yield made


def _bulk(adapter: ElogHTTP, external_id: str) -> RawItem:
    items = [item for page in adapter.pages(None) for item in page.items]
    return next(item for item in items if item.external_id == external_id)


def test_a_reply_changes_the_listed_hash_of_its_parent_and_not_its_entry(stub, io):
    adapter = over_server(stub, io)
    stub.add(message(1))
    before = fetched(adapter, "Operations/1")
    stamp = next(iter(adapter.list_ids(None))).stamp
    stub.add(message(2, reply_to=1))
    assert next(iter(adapter.list_ids(None))).stamp != stamp
    assert fetched(adapter, "Operations/1") == before
    assert fetched(adapter, "Operations/2").reply_to == "Operations/1"


def test_a_deleted_message_takes_its_replies_along(stub, io):
    adapter = over_server(stub, io)
    for number, parent in ((1, None), (2, 1), (3, 2), (4, None)):
        stub.add(message(number, reply_to=parent))
    stub.delete("Operations/1")
    assert [one.external_id for one in adapter.list_ids(None)] == ["Operations/4"]


@pytest.mark.parametrize("how", ["hangs_up", "is_old", "says_missing_in_html"], ids=str)
def test_a_message_that_is_gone_is_none(stub, io, how):
    setattr(stub, how, True)
    stub.add(message(1))
    assert over_server(stub, io).fetch("Operations/77") is None


def test_a_message_that_is_listed_and_not_to_be_had_is_not_gone(stub, io):
    stub.add(message(1))
    stub.never_answers = {1}
    with pytest.raises(IngestionError) as caught:
        over_server(stub, io).fetch("Operations/1")
    assert caught.value.reason == "unexpected_shape"


def test_an_empty_logbook_is_one_without_messages(stub, io):
    report = over_server(stub, io).check()
    assert (report.entries, report.newest) == (0, None)


def test_a_number_that_is_given_out_again_is_another_message(stub, io):
    adapter = over_server(stub, io)
    stub.add(message(1, text="First"))
    stamp = next(iter(adapter.list_ids(None))).stamp
    stub.delete("Operations/1")
    stub.add(message(1, text="Second"))
    assert next(iter(adapter.list_ids(None))).stamp != stamp
    assert fetched(adapter, "Operations/1").text == "Second"


def test_two_logbooks_share_their_numbers_and_not_their_messages(stub, io):
    stub.add(message(1, text="Ours", logbook="Operations"))
    stub.add(message(1, text="Theirs", logbook="Night shift"))
    adapter = over_server(stub, io)
    both = {"Operations/1", "Night shift/1"}
    assert set(listed(adapter)) == both
    assert set(ids(adapter.pages(None))) == both
    entry = fetched(adapter, "Night shift/1")
    assert (entry.text, entry.logbooks) == ("Theirs", ("Night shift",))


def test_bulk_and_download_say_the_same_and_bulk_knows_the_listed_hash(stub, io):
    adapter = over_server(stub, io)
    text = "Line one\n\n$@MID@$ is how a message begins: $@MID@$: 7\nlast\n"
    stub.add(message(1, text=text, metadata={"Station": "Vacuum | Injection"}))
    stub.add(message(2))
    stub.add(message(3))
    stamps = listed(adapter)
    item = _bulk(adapter, "Operations/1")
    entry = adapter.parse(item)
    assert entry == fetched(adapter, "Operations/1")
    assert entry.text == text.rstrip("\n")
    assert item.stamp == stamps["Operations/1"]


def test_no_draft_is_among_the_messages_of_a_bulk_answer(stub, io):
    adapter = over_server(stub, io)
    stub.add(message(1))
    stub.add(message(2, draft=True))
    with pytest.raises(MalformedEntryError) as caught:
        adapter.parse(_bulk(adapter, "Operations/2"))
    assert caught.value.reason == "pending"
    stub.edit("Operations/2", draft=False)
    assert adapter.parse(_bulk(adapter, "Operations/2")).title == "Title"


def test_what_a_bulk_answer_lacks_of_a_message_is_downloaded_and_nothing_else(stub, io):
    adapter = over_server(stub, io, page_size=2)
    for number in range(1, 6):
        told = {"Old": "kept"} if number == 3 else {}
        stub.add(message(number, text="One\r\ntwo\n\n", metadata=told))
    stub.unconfigured = frozenset({"Old"})
    stub.add(message(6, text="Three\r\n"))
    items = [item for page in adapter.pages(None) for item in page.items]
    assert len(items) == 6
    entry = adapter.parse(next(one for one in items if one.external_id[-1] == "3"))
    assert entry.metadata == {"Old": "kept"}
    downloaded = [one for one in stub.requests() if "cmd=Download" in one]
    assert downloaded == ["GET /Operations/3?cmd=Download"]
    assert {item.external_id: item.stamp for item in items} == listed(adapter)


def test_many_that_are_to_be_downloaded_come_in_small_pages(stub, io):
    fill(stub, 50, step=timedelta(), metadata={"Old": "kept"})
    stub.unconfigured = frozenset({"Old"})
    pages = list(over_server(stub, io).pages(None))
    assert [len(page.items) for page in pages if page.items] == [20, 20, 10]
    assert len(set(ids(pages))) == 50


def test_history_comes_newest_first_in_stretches_that_fit(stub, io):
    fill(stub, 60, step=-20 * DAY)
    pages = list(over_server(stub, io, page_size=7).pages(None))
    assert ids(pages) == [f"Operations/{number}" for number in range(1, 61)]
    assert all(len(page.items) <= 7 for page in pages)
    assert pages[-1].cursor["at"] < io.now().isoformat()
    bulk = [one for one in stub.requests() if "mode=Raw" in one]
    assert len(bulk) < 20


def test_history_ends_though_nobody_says_when_it_begins(stub, io):
    stub.add(message(1))
    for start in (
        None,
        datetime(1990, 1, 1, tzinfo=UTC),
        datetime(1971, 1, 1, tzinfo=UTC),
    ):
        pages = list(over_server(stub, io).pages(None, Window(start, io.now())))
        assert ids(pages) == ["Operations/1"]
        assert pages[-1].is_last


def test_a_message_dated_ahead_is_read_by_a_poll_while_history_is_loaded(stub, io):
    adapter = over_server(stub, io)
    stub.add(StubEntry(number=1, time=io.now() + 365 * DAY))
    window = Window(io.now() - timedelta(hours=1), None)
    first = list(adapter.pages(None, window))
    assert ids(first) == ["Operations/1"]
    stub.add(StubEntry(number=2, time=io.now()))
    assert "Operations/2" in ids(adapter.pages(first[-1].cursor))


def test_an_answer_too_large_is_asked_for_in_shorter_stretches(stub):
    fill(stub, 30, step=-DAY, text="x" * 2000)
    with PlainIO(max_response_bytes=20_000, max_retries=0) as io:
        pages = list(over_server(stub, io).pages(None, Window(NOON - 40 * DAY, NOON)))
    assert len(ids(pages)) == 30


@pytest.mark.parametrize("mode", ["login_page", "html_error"])
def test_a_page_instead_of_a_listing_is_no_empty_logbook(stub, io, mode):
    stub.add(message(1))
    reason = "login_required" if mode == "login_page" else "unexpected_shape"
    adapter = over_server(stub, io)
    asked = (
        lambda: list(adapter.list_ids(None)),
        lambda: adapter.fetch("Operations/1"),
        lambda: list(adapter.pages(None)),
    )
    for ask in asked:
        stub.fault(mode)
        with pytest.raises(IngestionError) as caught:
            ask()
        assert caught.value.reason == reason


def test_files_are_linked_where_the_server_serves_them(stub, io):
    stub.add(
        message(1, files=(StubFile("pump #7.png", b"png"), StubFile("a.txt", b"a")))
    )
    refs = fetched(over_server(stub, io), "Operations/1").attachments
    assert [ref.filename for ref in refs] == ["pump_#7.png", "a.txt"]
    assert [io.http.get(ref.url or "").body for ref in refs] == [b"png", b"a"]


@pytest.mark.parametrize("is_old", [False, True])
def test_the_page_of_a_file_that_is_gone_is_not_the_file(stub, io, is_old):
    stub.is_old = is_old
    adapter = over_server(stub, io)
    lost = StubFile("notes.txt", b"", missing=True)
    stub.add(message(1, files=(lost, StubFile("b.txt", b"404 Not Found"))))
    gone, kept = fetched(adapter, "Operations/1").attachments
    assert b"".join(adapter.fetch_attachment(kept)) == b"404 Not Found"
    with pytest.raises(IngestionError) as caught:
        list(adapter.fetch_attachment(gone))
    assert caught.value.reason == ("refused" if is_old else "gone")


def test_the_declared_charset_does_not_spoil_what_people_have_pasted(stub, io):
    adapter = over_server(stub, io)
    stub.add(message(1, text="Überdruck, 5 µbar"))
    stub.add(message(2))
    stub.set_bytes("Operations/2", "text", "12 € („kalt“)".encode("cp1252"))
    assert fetched(adapter, "Operations/1").text == "Überdruck, 5 µbar"
    guessed = fetched(adapter, "Operations/2")
    assert guessed.text == "12 € („kalt“)"
    assert guessed.flags == ("charset_guess",)


def test_a_draft_does_not_appear_until_it_is_finished(stub, io):
    adapter = over_server(stub, io)
    stub.add(message(1, draft=True))
    with pytest.raises(MalformedEntryError) as caught:
        fetched(adapter, "Operations/1")
    assert caught.value.reason == "pending"
    stub.edit("Operations/1", draft=False)
    assert fetched(adapter, "Operations/1").title == "Title"


def test_a_message_that_somebody_edits_waits_unless_the_settings_say_otherwise(
    stub, io
):
    stub.add(message(1))
    stub.logbooks.find("Operations/1").locked_by = "ana on console-3"
    with pytest.raises(MalformedEntryError) as caught:
        fetched(over_server(stub, io), "Operations/1")
    assert caught.value.reason == "pending"
    reading = over_server(stub, io, args={"read_locked": True})
    assert fetched(reading, "Operations/1").title == "Title"


@pytest.mark.parametrize(
    "cursor",
    [
        {"v": 99},
        {"v": 1, "at": "yesterday", "walk": {"book": "x"}},
        {"v": 1, "at": "0001-01-01T00:00:00+00:00", "walk": [1]},
    ],
)
def test_a_cursor_of_another_format_starts_over_where_reconciling_does(
    stub, io, cursor
):
    stub.add(message(1))
    stub.add(StubEntry(number=2, time=io.now() - 3 * DAY))
    assert ids(over_server(stub, io).pages(cursor)) == ["Operations/2"]


@pytest.mark.parametrize("face", ["server", "is_group", "is_old"])
def test_an_elog_is_recognised_by_a_logbook_or_by_the_page_that_names_them(
    stub, io, face
):
    stub.is_group, stub.is_old = face == "is_group", face == "is_old"
    stub.add(message(1, logbook="Vacuum"))
    by_book = ElogHTTP.recognise(f"{stub.base_url}/Operations/", io)
    assert by_book is not None
    assert by_book.settings == {
        "base_url": stub.base_url,
        "args": {"logbooks": ["Operations"]},
    }
    by_page = ElogHTTP.recognise(stub.base_url, io)
    assert by_page is not None
    assert by_page.settings["args"] == {"logbooks": ["Operations", "Vacuum"]}
    assert ElogHTTP.recognise(f"{stub.base_url}/Operations/no/such", io) is None


@pytest.mark.parametrize("raw_time", [None, "Fri May 03 09:15:00 2002"])
def test_a_zone_is_asked_for_only_where_a_date_has_none(stub, io, raw_time):
    stub.add(message(1, raw_time=raw_time))
    found = ElogHTTP.recognise(stub.base_url, io)
    assert found is not None
    assert found.asks == (("timezone",) if raw_time else ())


def test_the_check_counts_dates_and_finds_the_offset(stub, io):
    stub.add(message(1))
    stub.add(message(2, timedelta(hours=1)))
    report = over_server(stub, io).check()
    assert (report.entries, report.newest) == (2, NOON + timedelta(hours=1))
    assert report.timezone_guess == "+02:00"
