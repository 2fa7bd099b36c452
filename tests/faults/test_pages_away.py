"""Parts of a running system taken away for good: what a page says, and what to do.

The real process is killed, and the browser's own requests are made.
"""

import os
import re
import signal
from collections.abc import Iterator

import httpx2
import pytest

from local.opensearch import QUICK_START, EmbeddedOpenSearch
from local.postgres import EmbeddedPostgres
from local.server import StackFolders, free_port
from tests.support.fixtures.own_servers import own_home, start_again
from tests.support.fixtures.servers import Reap
from tests.support.fixtures.system import CORE, System
from tests.support.read_page import Element, read_page
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(400)]
HTML = {"accept": "text/html"}
SEARCH = "/search?q=gate+valve&mode=keyword"


@pytest.fixture
def own_opensearch(place: StackFolders, reap: Reap) -> Iterator[EmbeddedOpenSearch]:
    """An OpenSearch that nobody else uses."""
    with own_home(place, reap) as own:
        server = EmbeddedOpenSearch(own, free_port(), java_options=QUICK_START)
        start_again(server, reap)
        yield server
        server.stop()


def show(client: httpx2.Client, path: str) -> tuple[int, Element]:
    answer = client.get(path, headers=HTML)
    assert answer.headers["content-type"].startswith("text/html"), answer.text
    return answer.status_code, read_page(answer.text)


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_each_part_that_is_away_has_a_page_that_says_what_to_do(
    make_system, own_postgres, own_opensearch
) -> None:
    system = make_system(
        opensearch=own_opensearch.url,
        database=own_postgres.url,
        EMBEDDING_MODEL="hashing-384",
    )
    system.bring_up(*CORE)
    with system.client(system.key(scopes=("admin",)), timeout=30) as client:
        entry = {"external_id": "OPS-1", "text": "Gate valve 8 closed."}
        sent = client.post("/v1/entries?wait_for=index&wait_ms=30000", json=entry)
        assert sent.is_success, sent.text
        _, page = show(client, SEARCH)
        assert [*page.every("li", cls="hit")]
        assert not [*page.every(cls="late")]

        kill(own_opensearch.pid)
        _check_without_opensearch(client)
        _check_without_workers(client, system)
        _check_without_postgres(client, own_postgres)


def _check_without_opensearch(client: httpx2.Client) -> None:
    status, page = show(client, SEARCH)
    assert status == 200
    late = page.one(cls="late")
    assert "A part of this search failed. os_bm25: opensearch" in late.text
    assert late.link("how the system is") == "/status"
    # Words are searched in Postgres all the same.
    assert [*page.every("li", cls="hit")]
    assert "pg_fts ok" in page.one(cls="strip").text


def _check_without_workers(client: httpx2.Client, system: System) -> None:
    for name in ("search", "enhance", "embed"):
        system.kill(name)
    status, page = show(client, SEARCH)
    assert status == 504
    down = page.one(cls="empty-down")
    assert down.one("h1").text == "Search is down"
    assert "start the workers" in down.one("p", cls="to-do").text
    # What needs no worker is read as before.
    status, home = show(client, "/")
    assert (status, len([*home.every("article", cls="row")])) == (200, 1)
    where = down.link("How the system is")

    def idle() -> list[str]:
        _, status = show(client, where)
        return re.findall(r"[\w.]+\w", status.one("p", cls="idle").text)

    until(
        lambda: {"search", "index"} <= {*idle()},
        within_seconds=40,
        what="a status that misses the workers",
    )


def _check_without_postgres(client: httpx2.Client, postgres: EmbeddedPostgres) -> None:
    kill(postgres.pid)
    # What its processes were just doing fails, and may be tried again.
    until(
        lambda: "database_unavailable" in show(client, "/")[1].text,
        within_seconds=30,
        what="a page without a database",
    )
    for path in ("/", SEARCH, "/e/api/OPS-1", "/status"):
        status, page = show(client, path)
        assert status == 503, path
        down = page.one(cls="empty-down")
        assert down.one("h1").text == "Not available"
        assert "start Postgres" in down.one("p", cls="to-do").text
