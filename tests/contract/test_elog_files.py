"""The ELOG adapter over files that elogd rewrites while they are read."""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import BinaryIO

import pytest

from shared.errors import SourceUnreachableError
from tests.contract.elogs import DAY, fetched, listed, message, over_files
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.walking import NOON, fill, ids
from workers.adapters.elog.elog_files import ElogFiles
from workers.adapters.kit.stub import StubFile

STUB = ElogFolderStub


@pytest.fixture
def io(stub: ElogFolderStub) -> Iterator[PlainIO]:
    with PlainIO(path=stub.folder) as made:
        yield made


def _aged(stub: ElogFolderStub) -> None:
    """Let every file look as if nobody had touched it for an hour."""
    for path in stub.folder.rglob("*a.log"):
        past = path.stat().st_mtime - 3600
        os.utime(path, (past, past))


def test_an_edit_of_equal_length_within_one_tick_is_seen(stub, io):
    adapter = over_files(stub, io)
    stub.add(message(1, text="aaaa"))
    path = stub.path_of("Operations/1")
    stat = path.stat()
    before = listed(adapter)
    stub.edit("Operations/1", text="bbbb")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert listed(adapter) != before


def test_files_that_have_not_changed_are_not_opened_again(stub, io, monkeypatch):
    fill(stub, 10, step=DAY)
    _aged(stub)
    before = listed(over_files(stub, io))
    opened: list[str] = []
    real = io.files.open

    def opening(name: str) -> AbstractContextManager[BinaryIO]:
        opened.append(name)
        return real(name)

    monkeypatch.setattr(io.files, "open", opening)
    assert listed(over_files(stub, io)) == before
    assert opened == []
    stub.edit("Operations/4", text="Edited")
    assert listed(over_files(stub, io)) != before
    assert set(opened) == {"Operations/2024/240614a.log"}


def test_a_file_that_is_being_rewritten_deletes_nothing(stub, io):
    adapter = over_files(stub, io)
    fill(stub, 5)
    before = listed(adapter)
    whole = stub.tear("Operations/1")
    assert listed(adapter) == before
    with pytest.raises(SourceUnreachableError) as caught:
        adapter.fetch("Operations/4")
    assert caught.value.reason == "torn_file"
    stub.path_of("Operations/1").write_bytes(whole)
    assert listed(adapter) == before
    assert adapter.fetch("Operations/4") is not None


def test_a_rewrite_that_ends_while_it_is_read_costs_no_more_than_a_moment(stub, io):
    adapter = over_files(stub, io)
    fill(stub, 5, step=timedelta())
    whole = stub.tear("Operations/1")
    path = stub.path_of("Operations/1")
    timer = threading.Timer(0.1, lambda: path.write_bytes(whole))
    timer.start()
    assert len(next(adapter.pages(None)).items) == 5
    timer.join()


def test_a_file_left_damaged_costs_its_last_message_alone(stub, io):
    adapter = over_files(stub, io)
    fill(stub, 3, step=timedelta())
    path = stub.path_of("Operations/1")
    path.write_bytes(path.read_bytes()[:-8])
    _aged(stub)
    assert len(ids(adapter.pages(None))) == 3


def test_a_message_whose_date_is_edited_is_found_in_its_new_file(stub, io):
    adapter = over_files(stub, io)
    stub.add(message(1))
    stub.add(message(2))
    listed(adapter)
    stub.edit("Operations/1", time=NOON - 40 * DAY)
    assert fetched(adapter, "Operations/1").entry_time == NOON - 40 * DAY


def test_a_message_in_no_file_is_gone(stub, io):
    adapter = over_files(stub, io)
    stub.add(message(1))
    stub.add(message(2))
    listed(adapter)
    stub.delete("Operations/1")
    assert adapter.fetch("Operations/1") is None
    assert adapter.fetch("Operations/x") is None


def test_history_comes_newest_first_across_files_and_logbooks(stub, io):
    fill(stub, 30, step=-timedelta(hours=7))
    pages = list(over_files(stub, io, page_size=4).pages(None))
    assert ids(pages) == [f"Operations/{number}" for number in range(1, 31)]
    assert {len(page.items) for page in pages[:-1]} == {4}


def test_a_poll_while_history_is_loaded_reads_the_files_that_were_written(stub, io):
    adapter = over_files(stub, io)
    stub.add(message(1))
    stub.add(message(2, -30 * DAY))
    _aged(stub)
    cursor = list(adapter.pages(None))[-1].cursor
    assert ids(adapter.pages(cursor)) == []
    stub.add(message(3, -30 * DAY))
    assert ids(adapter.pages(cursor)) == ["Operations/3", "Operations/2"]


def test_pages_and_listing_give_a_message_one_stamp(stub, io):
    adapter = over_files(stub, io)
    stub.add(message(1, text="Line\n\n$@MID@$: 7\nquoted\n"))
    stub.add(message(2, reply_to=1))
    items = [item for page in adapter.pages(None) for item in page.items]
    assert {item.external_id: item.stamp for item in items} == listed(adapter)


def test_a_file_beside_a_message_is_read_from_its_own_logbook(stub, io):
    for book in ("Operations", "Other"):
        files = (StubFile("pump [7].txt", book.encode()),)
        stub.add(message(1, logbook=book, files=files))
    adapter = over_files(stub, io)
    for book in ("Operations", "Other"):
        refs = fetched(adapter, f"{book}/1").attachments
        assert [ref.filename for ref in refs] == ["pump_[7].txt"]
        assert b"".join(adapter.fetch_attachment(refs[0])) == book.encode()


def test_the_configuration_gives_folders_their_names_and_tells_who_logs_in(stub, io):
    stub.add(message(1, logbook="ops"))
    (stub.folder / "elogd.cfg").write_text(
        "[global]\nport = 8080\ncharset = UTF-8\n\n"
        "[Operations]\nSubdir = ops\n; a comment = none\nPassword file = users\n"
    )
    adapter = over_files(stub, io)
    assert set(listed(adapter)) == {"Operations/1"}
    item = adapter.fetch("Operations/1")
    assert item is not None
    assert item.charset == "UTF-8"
    report = adapter.check()
    assert report.restricted == ("Operations",)
    assert "Nobody may read Operations" in report.problems[0]
    assert (report.entries, report.newest) == (1, NOON)
    assert adapter.parse(item).readers == ()
    told = over_files(stub, io, args={"readers": {"Operations": ("ops",)}})
    assert fetched(told, "Operations/1").readers == ("ops",)


_GUARDED = "Password file = users\n"


@pytest.mark.parametrize(
    ("name", "text", "hidden"),
    [
        (None, "", {"Operations", "RF"}),
        ("elogd.cfg", f"[global]\n[Operations]\n[RF]\n{_GUARDED}", {"RF"}),
        ("elog.conf", f"[global]\n[Operations]\n[RF]\n{_GUARDED}", {"RF"}),
        (
            "elogd.cfg",
            f"[global]\n{_GUARDED}[Operations]\n[RF]\n",
            {"Operations", "RF"},
        ),
        (
            "elogd.cfg",
            f"[global ring]\n{_GUARDED}[Operations]\n[RF]\n",
            {"Operations", "RF"},
        ),
        ("elogd.cfg", "[global]\nAuthentication = PAM\n[RF]\n", {"Operations", "RF"}),
        ("elogd.cfg", "[global]\n[Operations]\n", {"RF"}),
    ],
)
def test_what_is_not_known_to_be_open_is_hidden_and_said_so(
    stub, io, name, text, hidden
):
    for book in ("Operations", "RF"):
        stub.add(message(1, logbook=book))
    if name is not None:
        (stub.folder / name).write_text(text)
    adapter = over_files(stub, io)
    found = {book for book in ("Operations", "RF") if _readers(adapter, book) == ()}
    assert found == hidden
    problems = " ".join(adapter.check().problems)
    assert all(f"Nobody may read {book}" in problems for book in hidden)
    assert ("no elogd.cfg" in problems) is (name is None)
    everybody = over_files(stub, io, args={"readers": {"*": None}})
    assert _readers(everybody, "RF") is None
    assert everybody.check().problems == ()


def test_a_logbook_is_listed_otherwise_once_it_is_known_to_be_open(stub, io):
    stub.add(message(1))
    before = listed(over_files(stub, io))
    (stub.folder / "elogd.cfg").write_text("[global]\n[Operations]\n")
    assert listed(over_files(stub, io)) != before


def _readers(adapter: ElogFiles, book: str) -> tuple[str, ...] | None:
    return fetched(adapter, f"{book}/1").readers


def test_an_older_flat_logbook_is_read_and_other_files_are_not(stub, io):
    stub.add(message(1))
    path = stub.path_of("Operations/1")
    path.rename(path.parent.parent / path.name)
    (path.parent / "240610a.log.bak").write_text("$@MID@$: 9\n")
    (path.parent / "240610b.log").write_text("$@MID@$: 9\n")
    assert set(listed(over_files(stub, io))) == {"Operations/1"}


def test_an_elog_is_recognised_by_the_first_line_of_a_file(stub, io):
    path = str(stub.folder)
    assert ElogFiles.recognise(path, io) is None
    stub.add(message(1))
    found = ElogFiles.recognise(path, io)
    assert found is not None
    assert found.settings == {"path": path, "args": {"logbooks": ["Operations"]}}
    assert found.asks == ()
    stub.add(message(2, -DAY, raw_time="Sun Jun 09 09:15:00 2024"))
    older = ElogFiles.recognise(path, io)
    assert older is not None
    assert older.asks == ("timezone",)
    assert ElogFiles.recognise("https://elog.example.org", io) is None
