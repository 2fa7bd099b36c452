"""Servers that are started again, or stand still, while their history is read."""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from shared.errors import IngestionError
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from tests.contract.elogs import fetched, over_server
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.olog import OlogStub
from tests.support.stub_servers.elog_process import (
    FILE_BYTES,
    ElogProcess,
    elog_process,
    texts_of,
)
from workers.adapters.kit.keeping import SECRET_VARIABLE, TENANT, Keeping, keeping
from workers.adapters.kit.stub import Stub
from workers.adapters.kit.subject import Subject

MANY = 40
_APART = timedelta(days=20)
_LOGIN = {"user": "operator", "password": SECRET_VARIABLE}


def _with_sessions() -> ElogServerStub:
    """Return one that forgets who has logged in when it is started again."""
    return ElogServerStub(
        user="operator", password=os.environ[SECRET_VARIABLE], asks_others=True
    )


_SERVERS: Mapping[str, tuple[str, Callable[[], Stub], dict[str, Any]]] = {
    "elog": ("elog_http", ElogServerStub, {}),
    "elog-old": ("elog_http", lambda: ElogServerStub(is_old=True), {}),
    "elog-login": ("elog_http", _with_sessions, _LOGIN),
    "olog": ("olog", OlogStub, {}),
}


@pytest.fixture(params=_SERVERS)
def server(request, kit_pool) -> Iterator[Keeping]:
    adapter, make_stub, args = _SERVERS[request.param]
    with keeping(Subject(adapter, make_stub), kit_pool) as one:
        known = one.stub.settings().get("args", {})
        one.changes = {"page_size": 5, "args": {**known, **args}}
        yield one


def test_a_server_that_is_started_again_in_mid_backfill_costs_nothing(server):
    times = [server.recent - place * _APART for place in range(MANY)]
    entries = [server.some(1, time=one)[0] for one in times]
    ids = server.add(*entries)
    texts = {name: entry.text for name, entry in zip(ids, entries, strict=True)}

    _break_off(server, server.stub.stop)
    server.stub.start()
    if isinstance(server.stub, ElogServerStub):
        server.stub.end_sessions()

    _go_on(server)
    assert _ledger(server, texts) == (0, 0, 0, 0)


@pytest.fixture
def elog(kit_pool) -> Iterator[tuple[Keeping, ElogProcess]]:
    with (
        elog_process(MANY) as process,
        keeping(Subject("elog_http", ElogServerStub), kit_pool) as one,
    ):
        one.changes = {
            "page_size": 5,
            "base_url": process.url,
            "request_timeout_seconds": 1,
        }
        yield one, process


def test_a_server_that_stands_still_through_a_backfill_costs_nothing(elog):
    kept, process = elog
    _break_off(kept, process.stop)
    assert "does not answer in time" in kept.standing().last_error["message"]
    process.go_on()
    _go_on(kept)
    assert _ledger(kept, texts_of(MANY)) == (0, 0, 0, 0)


def test_a_server_that_stands_still_in_the_middle_of_a_file_is_told_in_time(elog):
    kept, process = elog
    with PlainIO(max_retries=0, request_timeout_seconds=1) as io:
        adapter = over_server(kept.stub, io, base_url=process.url)
        (ref,) = fetched(adapter, "Operations/1").attachments
        pieces = adapter.fetch_attachment(ref)
        assert next(pieces)
        process.stop()
        with pytest.raises(IngestionError) as caught:
            list(pieces)
        assert caught.value.reason == "timeout"
        process.go_on()
        again = adapter.fetch_attachment(ref)
        assert sum(map(len, again)) == FILE_BYTES


def _break_off(kept: Keeping, happens: Callable[[], None]) -> None:
    """Begin a backfill, of which all fails from behind its second page on."""
    pages = count(1)

    def behind_a_page() -> None:
        if next(pages) == 2:
            happens()

    kept.trigger(run_records.BACKFILL)
    kept.on_step = behind_a_page
    kept.go_on(run_records.BACKFILL, seconds=60)
    kept.on_step = None
    assert 0 < len(kept.live()) < MANY, "it is in its middle"
    assert kept.standing().failures == 1


def _go_on(kept: Keeping) -> None:
    with connection(kept.pool) as conn:
        admin_actions.resume(conn, TENANT, kept.name)
    kept.finish(run_records.BACKFILL)
    run = kept.run()
    assert run.error is None, run.error


def _ledger(kept: Keeping, texts: Mapping[str, str]) -> tuple[int, int, int, int]:
    """Return how many are missing, too many, differ, and were written twice."""
    with kept.stock() as stock:
        found = {one.external_id: one for one in stock.entries() if not one.deleted}
    both = texts.keys() & found.keys()
    return (
        len(texts.keys() - found.keys()),
        len(found.keys() - texts.keys()),
        sum(texts[one] != found[one].text for one in both),
        sum(one.revision > 1 for one in found.values()),
    )
