"""The embedded OpenSearch: one start, and everything asked of it."""

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from local import fetch, service_user
from local.opensearch import QUICK_START, EmbeddedOpenSearch
from local.server import ServerError, StackFolders, free_port

READY_SECONDS = 150


def cache_folder() -> Path:
    """Return the cache that demo and tests share, as the environment names it."""
    default = (
        Path("/var/cache/logchord")
        if os.geteuid() == 0
        else Path.home() / ".cache" / "logchord"
    )
    return Path(os.environ.get("LOGCHORD_CACHE", default))


@pytest.fixture(scope="module")
def opensearch(tmp_path_factory) -> Iterator[EmbeddedOpenSearch]:
    """Give a node that serves, its distribution fetched if the cache lacks it."""
    home = tmp_path_factory.mktemp("opensearch") / 'a "home" of Müller\'s'
    place = StackFolders(home, cache_folder())
    try:
        fetch.fetch_opensearch(place.cache, lambda *_: None)
    except ServerError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    server = EmbeddedOpenSearch(
        place, free_port(), settings={"node.name": "extra"}, java_options=QUICK_START
    )
    server.start()
    server.wait_ready(READY_SECONDS)
    yield server
    server.stop()
    service_user.discard_home(place.home)


def ask(
    server: EmbeddedOpenSearch, path: str, body: object = None, method: str = "GET"
) -> tuple[int, Any]:
    """Send one request and return status and answer."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with closing(link):
        sent = None if body is None else json.dumps(body)
        link.request(method, path, sent, {"Content-Type": "application/json"})
        answer = link.getresponse()
        return answer.status, json.load(answer)


@pytest.mark.timeout(240)
def test_it_is_the_release_we_pin_on_one_heap_and_takes_further_settings(opensearch):
    _, root = ask(opensearch, "/")
    _, nodes = ask(opensearch, "/_nodes/jvm,settings")
    (node,) = nodes["nodes"].values()
    assert root["version"]["number"] == fetch.VERSION
    assert node["name"] == "extra"
    assert node["jvm"]["mem"]["heap_max_in_bytes"] <= 512 << 20


@pytest.mark.timeout(240)
@pytest.mark.requirement("SEC15")
def test_opensearch_binds_loopback_only(opensearch):
    process = psutil.Process(opensearch.pid)
    addresses = {
        connection.laddr.ip
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert addresses


@pytest.mark.timeout(240)
def test_it_analyses_thai_and_never_makes_an_index_by_itself(opensearch):
    status, _ = ask(
        opensearch,
        "/thai",
        {"mappings": {"properties": {"text": {"type": "text", "analyzer": "thai"}}}},
        "PUT",
    )
    assert status == 200
    _, tokens = ask(
        opensearch,
        "/thai/_analyze",
        {"analyzer": "thai", "text": "การทดสอบระบบ"},
        "POST",
    )
    assert len(tokens["tokens"]) > 1
    status, answer = ask(opensearch, "/absent/_doc/1", {"a": 1}, "PUT")
    assert status == 404
    assert answer["error"]["type"] == "index_not_found_exception"


@pytest.mark.timeout(240)
def test_another_start_takes_the_running_node_over(opensearch):
    again = EmbeddedOpenSearch(opensearch.place, opensearch.port)
    again.start()
    assert again.pid == opensearch.pid


@pytest.mark.timeout(240)
def test_a_home_may_have_blanks_and_quotes_in_its_path(opensearch):
    _, nodes = ask(opensearch, "/_nodes/jvm")
    (node,) = nodes["nodes"].values()
    temporary = opensearch.data_folder.with_name("opensearch-tmp")
    assert " " in temporary.parent.parent.name
    assert f"-Djava.io.tmpdir={temporary}" in node["jvm"]["input_arguments"]


@pytest.mark.timeout(240)
def test_it_writes_only_into_its_own_folders(opensearch):
    template = fetch.fetch_opensearch(opensearch.place.cache, lambda *_: None)
    assert list((template / "logs").iterdir()) == []
    assert not (template / "config" / "opensearch.keystore").exists()
    assert "started" in opensearch.log_path.read_text()
