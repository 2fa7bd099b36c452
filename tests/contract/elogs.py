"""Messages of an ELOG, and adapters over its two stubs: its files and its server."""

from datetime import timedelta
from typing import Any

from shared.adapter_contract.contract import Source
from shared.adapter_contract.entry import Entry
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.walking import NOON
from workers.adapters.elog.elog_files import ElogFiles
from workers.adapters.elog.elog_http import ElogHTTP, ElogHTTPArgs
from workers.adapters.elog.message_block import ElogArgs
from workers.adapters.kit.stub import StubEntry

DAY = timedelta(days=1)


def message(number: int, after: timedelta = timedelta(), **changes: Any) -> StubEntry:
    return StubEntry(number=number, time=NOON + after, **changes)


def over_files(stub: ElogFolderStub, io: PlainIO, **changes: Any) -> ElogFiles:
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


def over_server(stub: ElogServerStub, io: PlainIO, **changes: Any) -> ElogHTTP:
    settings = stub.settings()
    args = ElogHTTPArgs(**{**settings["args"], **changes.pop("args", {})})
    source = Source(
        name="elog",
        base_url=changes.pop("base_url", settings["base_url"]),
        timezone=settings["timezone"],
        args=args,
        **changes,
    )
    return ElogHTTP(source, io)


def listed(adapter: ElogFiles | ElogHTTP) -> dict[str, str | None]:
    return {one.external_id: one.stamp for one in adapter.list_ids(None)}


def fetched(adapter: ElogFiles | ElogHTTP, external_id: str) -> Entry:
    item = adapter.fetch(external_id)
    assert item is not None
    return adapter.parse(item)
