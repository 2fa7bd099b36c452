"""What holds of an ELOG, whether its files are read or its server is asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from shared.adapter_contract.contract import Cursor, Window
from tests.contract import elogs
from tests.contract.elogs import DAY, message
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.walking import NOON, fill, ids
from workers.adapters.elog.elog_files import ElogFiles
from workers.adapters.elog.elog_http import ElogHTTP


@dataclass(frozen=True)
class Elog:
    """An ELOG, and adapters that read it anew."""

    stub: ElogFolderStub | ElogServerStub
    adapter: Callable[..., ElogFiles | ElogHTTP]


@contextmanager
def _of_files() -> Iterator[Elog]:
    stub = ElogFolderStub()
    with PlainIO(path=stub.folder) as io:

        def adapter(**changes: Any) -> ElogFiles:
            return elogs.over_files(stub, io, **changes)

        yield Elog(stub, adapter)
    stub.close()


@contextmanager
def _of_a_server() -> Iterator[Elog]:
    stub = ElogServerStub()
    with PlainIO(max_retries=0) as io:

        def adapter(**changes: Any) -> ElogHTTP:
            return elogs.over_server(stub, io, **changes)

        yield Elog(stub, adapter)
    stub.close()


@pytest.fixture(params=[_of_files, _of_a_server], ids=["files", "server"])
def elog(request: pytest.FixtureRequest) -> Iterator[Elog]:
    with request.param() as made:
        yield made


def test_the_listing_shows_what_is_new_edited_and_gone(elog: Elog):
    adapter = elog.adapter()
    fill(elog.stub, 5, step=DAY)
    before = elogs.listed(adapter)
    elog.stub.edit("Operations/2", text="Another text")
    elog.stub.delete("Operations/3")
    elog.stub.add(message(6))
    after = elogs.listed(adapter)
    assert set(before) == {f"Operations/{number}" for number in range(1, 6)}
    assert before.keys() - after.keys() == {"Operations/3"}
    assert after.keys() - before.keys() == {"Operations/6"}
    changed = {name for name in before if name in after and before[name] != after[name]}
    assert changed == {"Operations/2"}


def test_a_pass_cut_off_after_any_page_goes_on_where_it_was(elog: Elog):
    for number in range(1, 31):
        elog.stub.add(message(number, -number // 3 * timedelta(hours=9)))
    fill(elog.stub, 7, step=timedelta(), logbook="Other")
    cursor: Cursor | None = None
    found: list[str] = []
    for _ in range(40):
        page = next(elog.adapter(page_size=4).pages(cursor))
        cursor = page.cursor
        found += [item.external_id for item in page.items]
        if "walk" not in cursor:
            break
    assert len(found) == 37
    assert len(set(found)) == 37


def test_a_window_holds_what_was_written_within_it_and_nothing_else(elog: Elog):
    fill(elog.stub, 10, step=timedelta(hours=6))
    window = Window(NOON + timedelta(hours=12), NOON + timedelta(hours=36))
    pages = list(elog.adapter().pages(None, window))
    assert ids(pages) == [f"Operations/{number}" for number in (5, 4, 3, 2)]


def test_files_and_server_say_the_same_of_a_message():
    made = message(1, text="Überdruck\n\nlast", tags=("Vacuum", "Fault"))
    told = []
    for kind in (_of_files, _of_a_server):
        with kind() as one:
            one.stub.add(made)
            told.append(elogs.fetched(one.adapter(), "Operations/1"))
    by_files, by_server = told
    assert by_server.url is not None
    assert (by_files.text, by_files.tags, by_files.entry_time, by_files.metadata) == (
        by_server.text,
        by_server.tags,
        by_server.entry_time,
        by_server.metadata,
    )
