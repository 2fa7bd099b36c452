"""The JLab logbook's ways: silent windows, comments without ids, two spellings."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from shared.adapter_contract.contract import RawItem, Window
from shared.errors import IngestionError, MalformedEntryError
from tests.contract.reading_files import Poller
from tests.contract.stubs.jlab import JLabStub
from tests.contract.walking import fill
from workers.adapters.jlab.jlab import JLab
from workers.adapters.kit.stub import StubEntry, StubFile

START = datetime(2024, 6, 10, 4, 0, tzinfo=UTC)
STUB = JLabStub
RECORD: dict[str, Any] = {
    "lognumber": "4410233",
    "created": {"timestamp": "1718005500", "string": "2024-06-10 03:45"},
    "author": "tnguyen",
    "title": "Arc 4 BPM noisy",
    "body": {"format": "html", "content": "<p>IPM4A07 reads <b>2 mm</b> off</p>"},
    "books": ["ELOG"],
    "tags": ["Diagnostics"],
    "numcomments": "1",
    "entrymakers": ["tnguyen", "jroe"],
    "attachments": [],
}


def polled(stub: JLabStub, **more: Any) -> Poller:
    return Poller(stub.settings(), **more)


def read(**changes: Any) -> Any:
    given = {"adapter": "jlab", "base_url": "https://log.test/api/elog/entries"}
    item = RawItem("4410233", {**RECORD, **changes})
    return Poller(given, timezone="US/Eastern").open().adapter.parse(item)


def test_an_entry_of_a_list_is_read_as_received():
    entry = read()
    assert entry.entry_time == datetime(2024, 6, 10, 7, 45, tzinfo=UTC)
    assert (entry.title, entry.text_format) == ("Arc 4 BPM noisy", "html")
    assert entry.text == "<p>IPM4A07 reads <b>2 mm</b> off</p>"
    assert (entry.authors, entry.logbooks) == (("tnguyen",), ("ELOG",))
    assert entry.metadata == {"entrymakers": "tnguyen, jroe"}
    assert entry.url == "https://log.test/entry/4410233"


def test_either_spelling_of_what_wants_attention_is_one():
    assert read(needsAttention="1").metadata["needs_attention"] == "1"
    assert read(needsAttention="1") == read(needsattention="1", numattachments=0)
    assert "needs_attention" not in read(needsAttention=None).metadata


def test_counts_are_no_content_and_times_may_be_numbers_or_only_text():
    assert read(numcomments=7) == read(
        numComments="8", created={"timestamp": 1718005500}
    )
    naive = {"string": "2024-06-10 03:45"}
    assert read(created=naive).entry_time == datetime(2024, 6, 10, 7, 45, tzinfo=UTC)


@pytest.mark.parametrize(
    "changes",
    [
        {"created": "1718005500"},
        {"created": {"timestamp": []}},
        {"created": None},
        {"created": {}},
        {"body": [1]},
        {"title": {}},
        {"comment": 3},
    ],
)
def test_a_bad_record_costs_itself(changes: dict[str, Any]):
    with pytest.raises(MalformedEntryError):
        read(**changes)


def test_pages_are_walked_to_the_oldest_and_then_only_what_is_new(stub: JLabStub):
    fill(stub, 11, start=START)
    found = polled(stub, page_size=3)
    assert sorted(found.ids(pages=2), key=int) == ["6", "7", "8", "9", "10", "11"]
    assert found.cursor is not None
    assert found.cursor["at"] is None
    # One that arrives between two pages moves what is below it, and is lost to nobody.
    stub.add(StubEntry(12, datetime.now(UTC)))
    assert {"1", "2", "3", "4", "5"} <= set(found.ids())
    assert found.ids() == ["12"]
    assert found.entries["3"].text == "Text"
    lists = [one for one in stub.requests() if "?" in one]
    asked = [parse_qs(urlsplit(one.partition(" ")[2]).query) for one in lists]
    assert all("body" in one["field"] for one in asked)
    assert all(int(one["startdate"][0]) < int(one["enddate"][0]) for one in asked)


def test_comments_become_entries_below_theirs(stub: JLabStub):
    stub.add(StubEntry(1, START))
    stub.add(StubEntry(2, START))
    first = stub.add(StubEntry(3, START, title="Me too", text="Seen", reply_to=1))
    odd = stub.add(StubEntry(4, START, title="Yes", author=None, reply_to=1))
    found = polled(stub)
    assert set(found.ids()) == {"1", "2", first, odd}
    comment = found.entries[first]
    assert (comment.reply_to, comment.text) == ("1", "Seen")
    assert comment.logbooks == ("Operations",)
    assert found.entries[odd].authors == ()
    singles = [one for one in stub.requests() if one.endswith("/entries/1")]
    assert len(singles) == 1
    # Lists do not count comments: each entry is asked for its own.
    assert any(one.endswith("/entries/2") for one in stub.requests())


def test_an_entry_whose_list_counts_no_comment_is_not_asked_for_any(stub: JLabStub):
    stub.counts_comments = True
    stub.add(StubEntry(1, START))
    stub.add(StubEntry(2, START))
    comment = stub.add(StubEntry(3, START, title="Me too", text="Seen", reply_to=1))
    assert set(polled(stub).ids()) == {"1", "2", comment}
    assert any(one.endswith("/entries/1") for one in stub.requests())
    assert not any(one.endswith("/entries/2") for one in stub.requests())


def test_more_comments_than_a_page_holds_come_on_several(stub: JLabStub):
    stub.add(StubEntry(1, START))
    for number in range(2, 9):
        stub.add(StubEntry(number, START, title=f"No {number}", reply_to=1))
    found = polled(stub, page_size=3)
    assert len(set(found.ids(pages=1))) == 3
    assert len(set(found.ids())) == 8


def test_what_is_fetched_alone_is_as_the_lists_have_it(stub: JLabStub):
    stub.add(StubEntry(1, START, files=(StubFile("a.txt", b"x"),)))
    comment = stub.add(StubEntry(2, START, title="Me too", reply_to=1))
    found = polled(stub)
    listed = {item.external_id: item for item in found.poll()}
    adapter = found.open().adapter
    assert isinstance(adapter, JLab)
    with found.io:
        for one in ("1", comment):
            item = adapter.fetch(one)
            assert item is not None
            assert replace(item, fetched_at=None) == replace(
                listed[one], fetched_at=None
            )
        assert adapter.fetch("99") is None
        assert adapter.fetch("1#c:0123456789abcdef") is None
        # By its number the server shows it still; lists, and readers, do not.
        stub.unpublish("1")
        assert adapter.fetch("1") is None
        assert adapter.fetch(comment) is None


@pytest.mark.parametrize("mode", ["html_error", "login_page", "cut_listing"])
def test_what_is_no_list_ends_the_run_and_moves_nothing(stub: JLabStub, mode: Any):
    stub.add(StubEntry(1, datetime.now(UTC)))
    found = polled(stub)
    found.poll()
    cursor = found.cursor
    stub.fault(mode, times=2)
    with pytest.raises(IngestionError) as caught:
        found.poll()
    assert caught.value.reason == "unexpected_shape"
    assert found.cursor == cursor


def test_what_moves_up_while_pages_are_walked_is_not_passed_over(stub: JLabStub):
    fill(stub, 9, start=START)
    found = polled(stub, page_size=3)
    adapter = found.open().adapter
    ids: set[str] = set()
    with found.io:
        for number, page in enumerate(adapter.pages(None)):
            ids |= {item.external_id for item in page.items}
            if number in {0, 1}:
                stub.delete(str(9 - number))
    assert ids >= {str(number) for number in range(1, 8)}


def test_entries_that_are_counted_and_not_shown_leave_a_gap(stub: JLabStub):
    stub.add(StubEntry(1, START))
    stub.hidden = 2
    found = polled(stub)
    adapter = found.open().adapter
    with found.io:
        (page,) = adapter.pages(None)
    (gap,) = page.gaps
    assert gap.reason == "1 of 3 entries were listed"
    assert page.total == 3


def test_a_window_is_asked_for_as_such(stub: JLabStub):
    fill(stub, 8, start=START, step=timedelta(days=1))
    asked = Window(START + timedelta(days=2), START + timedelta(days=4))
    assert polled(stub).ids(window=asked) == ["4", "3", "2"]


@pytest.mark.parametrize("envelope", ['{"entries": [%s]}', "[%s]"])
def test_files_hold_either_envelope(envelope: str, tmp_path: Path):
    (tmp_path / "log.json").write_text(envelope % json.dumps(RECORD))
    found = Poller({"adapter": "jlab_logbook", "path": str(tmp_path)})
    assert found.ids() == ["4410233"]
    assert found.entries["4410233"].title == "Arc 4 BPM noisy"


def test_it_is_recognised_by_its_envelope(stub: JLabStub):
    found = polled(stub)
    found.open()
    with found.io:
        known = JLab.recognise(f"{found.given['base_url']}/", found.io)
        assert known is not None
        assert known.settings == {"base_url": found.given["base_url"]}
        assert JLab.recognise(f"{found.given['base_url']}/wiki", found.io) is None
