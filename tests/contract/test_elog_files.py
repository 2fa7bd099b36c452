"""The ELOG adapter over files that elogd rewrites while they are read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

import pytest

from shared.entries.adapter import Cursor, Page, Source, Window
from shared.entries.incoming import Entry
from shared.errors import SourceUnreachableError
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_files import ElogFolderStub, make_stub
from tests.contract.stubs.elog_http import ElogServerStub
from workers.adapters.elog_block import ElogArgs
from workers.adapters.elog_files import ElogFiles
from workers.adapters.elog_http import ElogHTTP, ElogHTTPArgs
from workers.adapters.kit.stub import StubEntry, StubFile

_NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)
_DAY = timedelta(days=1)


@pytest.fixture
def stub() -> Iterator[ElogFolderStub]:
    made = make_stub()
    yield made
    made.close()


@pytest.fixture
def io(stub: ElogFolderStub) -> Iterator[PlainIO]:
    with PlainIO(path=stub.folder) as made:
        yield made


def _adapter(stub: ElogFolderStub, io: PlainIO, **changes: Any) -> ElogFiles:
    settings = stub.settings()
    args = ElogArgs(**changes.pop("args", {}))
    source = Source(
        name="elog",
        path=settings["path"],
        timezone=settings["timezone"],
        args=args,
        **changes,
    )
    return ElogFiles(source, io)


def _entry(number: int, after: timedelta = timedelta(), **changes: Any) -> StubEntry:
    return StubEntry(number=number, time=_NOON + after, **changes)


def _ids(pages: list[Page]) -> list[str]:
    return [item.external_id for page in pages for item in page.items]


def _listed(adapter: ElogFiles) -> dict[str, str | None]:
    return {one.external_id: one.stamp for one in adapter.list_ids(None)}


def _fetched(adapter: ElogFiles, external_id: str) -> Entry:
    item = adapter.fetch(external_id)
    assert item is not None
    return adapter.parse(item)


def _aged(stub: ElogFolderStub) -> None:
    """Let every file look as if nobody had touched it for an hour."""
    for path in stub.folder.rglob("*a.log"):
        past = path.stat().st_mtime - 3600
        os.utime(path, (past, past))


def test_the_listing_shows_what_is_new_edited_and_gone(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    for number in range(1, 6):
        stub.add(_entry(number, number * _DAY))
    before = _listed(adapter)
    stub.edit("Operations/2", text="Another text")
    stub.delete("Operations/3")
    stub.add(_entry(6))
    after = _listed(adapter)
    assert set(before) == {f"Operations/{number}" for number in range(1, 6)}
    assert before.keys() - after.keys() == {"Operations/3"}
    assert after.keys() - before.keys() == {"Operations/6"}
    changed = {name for name in before if name in after and before[name] != after[name]}
    assert changed == {"Operations/2"}


def test_an_edit_of_equal_length_within_one_tick_is_seen(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    stub.add(_entry(1, text="aaaa"))
    path = stub.path_of("Operations/1")
    stat = path.stat()
    before = _listed(adapter)
    stub.edit("Operations/1", text="bbbb")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert _listed(adapter) != before


def test_files_that_have_not_changed_are_not_opened_again(
    stub: ElogFolderStub, io: PlainIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 11):
        stub.add(_entry(number, number * _DAY))
    _aged(stub)
    before = _listed(_adapter(stub, io))
    opened: list[str] = []
    real = io.files.open

    def opening(name: str) -> AbstractContextManager[BinaryIO]:
        opened.append(name)
        return real(name)

    monkeypatch.setattr(io.files, "open", opening)
    assert _listed(_adapter(stub, io)) == before
    assert opened == []
    stub.edit("Operations/4", text="Edited")
    assert _listed(_adapter(stub, io)) != before
    assert set(opened) == {"Operations/2024/240614a.log"}


def test_a_file_that_is_being_rewritten_deletes_nothing(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    for number in range(1, 6):
        stub.add(_entry(number, number * timedelta(minutes=1)))
    before = _listed(adapter)
    whole = stub.tear("Operations/1")
    assert _listed(adapter) == before
    with pytest.raises(SourceUnreachableError) as caught:
        adapter.fetch("Operations/4")
    assert caught.value.reason == "torn_file"
    stub.path_of("Operations/1").write_bytes(whole)
    assert _listed(adapter) == before
    assert adapter.fetch("Operations/4") is not None


def test_a_rewrite_that_ends_while_it_is_read_costs_no_more_than_a_moment(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    for number in range(1, 6):
        stub.add(_entry(number))
    whole = stub.tear("Operations/1")
    path = stub.path_of("Operations/1")
    timer = threading.Timer(0.1, lambda: path.write_bytes(whole))
    timer.start()
    assert len(next(adapter.pages(None)).items) == 5
    timer.join()


def test_a_file_left_damaged_costs_its_last_message_alone(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    for number in range(1, 4):
        stub.add(_entry(number))
    path = stub.path_of("Operations/1")
    path.write_bytes(path.read_bytes()[:-8])
    _aged(stub)
    assert len(_ids(list(adapter.pages(None)))) == 3


def test_a_message_whose_date_is_edited_is_found_in_its_new_file(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    stub.add(_entry(1))
    stub.add(_entry(2))
    _listed(adapter)
    stub.edit("Operations/1", time=_NOON - 40 * _DAY)
    assert _fetched(adapter, "Operations/1").entry_time == _NOON - 40 * _DAY


def test_a_message_in_no_file_is_gone(stub: ElogFolderStub, io: PlainIO) -> None:
    adapter = _adapter(stub, io)
    stub.add(_entry(1))
    stub.add(_entry(2))
    _listed(adapter)
    stub.delete("Operations/1")
    assert adapter.fetch("Operations/1") is None
    assert adapter.fetch("Operations/x") is None


def test_history_comes_newest_first_across_files_and_logbooks(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    for number in range(1, 31):
        stub.add(_entry(number, -number * timedelta(hours=7)))
    pages = list(_adapter(stub, io, page_size=4).pages(None))
    assert _ids(pages) == [f"Operations/{number}" for number in range(1, 31)]
    assert {len(page.items) for page in pages[:-1]} == {4}


def test_a_pass_cut_off_after_any_page_goes_on_where_it_was(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    for number in range(1, 31):
        stub.add(_entry(number, -number // 3 * timedelta(hours=9)))
    for number in range(1, 8):
        stub.add(_entry(number, logbook="Other"))
    cursor: Cursor | None = None
    found: list[str] = []
    for _ in range(40):
        page = next(_adapter(stub, io, page_size=4).pages(cursor))
        cursor = page.cursor
        found += [item.external_id for item in page.items]
        if "walk" not in cursor:
            break
    assert len(found) == 37
    assert len(set(found)) == 37


def test_a_poll_while_history_is_loaded_reads_the_files_that_were_written(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    stub.add(_entry(1))
    stub.add(_entry(2, -30 * _DAY))
    _aged(stub)
    cursor = list(adapter.pages(None))[-1].cursor
    assert _ids(list(adapter.pages(cursor))) == []
    stub.add(_entry(3, -30 * _DAY))
    assert _ids(list(adapter.pages(cursor))) == ["Operations/3", "Operations/2"]


def test_a_window_holds_what_was_written_within_it_and_nothing_else(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    for number in range(1, 11):
        stub.add(_entry(number, number * timedelta(hours=6)))
    window = Window(_NOON + timedelta(hours=12), _NOON + timedelta(hours=36))
    pages = list(_adapter(stub, io).pages(None, window))
    assert _ids(pages) == [f"Operations/{number}" for number in (5, 4, 3, 2)]


def test_pages_and_listing_give_a_message_one_stamp(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    adapter = _adapter(stub, io)
    stub.add(_entry(1, text="Line\n\n$@MID@$: 7\nquoted\n"))
    stub.add(_entry(2, reply_to=1))
    items = [item for page in adapter.pages(None) for item in page.items]
    assert {item.external_id: item.stamp for item in items} == _listed(adapter)


def test_files_and_server_say_the_same_of_a_message(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    server = ElogServerStub()
    entry = _entry(1, text="Überdruck\n\nlast", tags=("Vacuum", "Fault"))
    server.add(entry)
    stub.add(entry)
    by_files = _fetched(_adapter(stub, io), "Operations/1")
    args = ElogHTTPArgs(logbooks=("Operations",))
    source = Source(name="elog", base_url=server.base_url, args=args)
    item = ElogHTTP(source, io).fetch("Operations/1")
    assert item is not None
    by_server = ElogHTTP(source, io).parse(item)
    server.close()
    assert by_server.url is not None
    assert (by_files.text, by_files.tags, by_files.entry_time, by_files.metadata) == (
        by_server.text,
        by_server.tags,
        by_server.entry_time,
        by_server.metadata,
    )


def test_a_file_beside_a_message_is_read_from_its_own_logbook(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    for book in ("Operations", "Other"):
        files = (StubFile("pump [7].txt", book.encode()),)
        stub.add(_entry(1, logbook=book, files=files))
    adapter = _adapter(stub, io)
    for book in ("Operations", "Other"):
        refs = _fetched(adapter, f"{book}/1").attachments
        assert [ref.filename for ref in refs] == ["pump [7].txt"]
        assert b"".join(adapter.fetch_attachment(refs[0])) == book.encode()


def test_the_configuration_gives_folders_their_names_and_tells_who_logs_in(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    stub.add(_entry(1, logbook="ops"))
    (stub.folder / "elogd.cfg").write_text(
        "[global]\nport = 8080\ncharset = UTF-8\n\n"
        "[Operations]\nSubdir = ops\n; a comment = none\nPassword file = users\n"
    )
    adapter = _adapter(stub, io)
    assert set(_listed(adapter)) == {"Operations/1"}
    item = adapter.fetch("Operations/1")
    assert item is not None
    assert item.charset == "UTF-8"
    report = adapter.check()
    assert report.restricted == ("Operations",)
    assert "Operations has a login" in report.problems[0]
    assert (report.entries, report.newest) == (1, _NOON)


def test_an_older_flat_logbook_is_read_and_other_files_are_not(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    stub.add(_entry(1))
    path = stub.path_of("Operations/1")
    path.rename(path.parent.parent / path.name)
    (path.parent / "240610a.log.bak").write_text("$@MID@$: 9\n")
    (path.parent / "240610b.log").write_text("$@MID@$: 9\n")
    assert set(_listed(_adapter(stub, io))) == {"Operations/1"}


def test_an_elog_is_recognised_by_the_first_line_of_a_file(
    stub: ElogFolderStub, io: PlainIO
) -> None:
    path = str(stub.folder)
    assert ElogFiles.recognise(path, io) is None
    stub.add(_entry(1))
    found = ElogFiles.recognise(path, io)
    assert found is not None
    assert found.settings == {"path": path, "args": {"logbooks": ["Operations"]}}
    assert ElogFiles.recognise("https://elog.example.org", io) is None
