"""Nothing that a source says makes us ask this machine or its network (SEC7)."""

import pytest

from shared.errors import IngestionError
from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_io import make_io
from tests.support.stub_servers.raw_http import http, raw_server

OK = http("200 OK", b"canary")


def spellings(port: int) -> list[str]:
    """The loopback, and its network, as somebody might smuggle them in."""
    hosts = [
        "127.0.0.1",
        "localhost",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "127.1",
        "ok@127.0.0.1",
        "log.example.org@127.0.0.1",
        "127\u30020\u30020\u30021",
        "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
        "169.254.169.254",
    ]
    return [
        *(f"http://{host}:{port}/a.png" for host in hosts),
        f"gopher://127.0.0.1:{port}/_",
        f"redis://127.0.0.1:{port}/0",
        f"//127.0.0.1:{port}/a.png",
        "file:///etc/passwd",
        f"http://log.example.org\\@127.0.0.1:{port}/",
        f"http://127.0.0.1:{port}\t/",
    ]


@pytest.mark.requirement("SEC7")
def test_addresses_from_entries_never_reach_the_loopback():
    settings = SourceSettings(
        adapter="olog", base_url="http://log.example.org/", max_retries=0
    )
    with raw_server(OK) as canary, make_io("ring", settings) as io:
        for url in spellings(canary.port):
            with pytest.raises(IngestionError) as caught:
                io.http.get(url)
            assert caught.value.reason == "address_refused", url
            with pytest.raises(IngestionError) as caught, io.http.stream(url) as pieces:
                list(pieces)
            assert caught.value.reason == "address_refused", url
        assert canary.connections == 0


@pytest.mark.requirement("SEC7")
def test_a_redirect_from_an_allowed_server_never_reaches_another():
    with raw_server(OK) as canary:
        for url in spellings(canary.port):
            moved = http("302 Found", Location=url.encode().decode("latin-1"))
            with raw_server(moved) as server:
                settings = SourceSettings(adapter="olog", base_url=server.url)
                with (
                    make_io("ring", settings) as io,
                    pytest.raises(IngestionError) as caught,
                ):
                    io.http.get(server.url)
            assert not caught.value.retriable
        assert canary.connections == 0


@pytest.mark.requirement("SEC7")
@pytest.mark.parametrize(
    "answers",
    [
        [["127.0.0.1"]],
        [["93.184.216.34", "127.0.0.1"]],
        [["127.0.0.1", "93.184.216.34"]],
        [["::1"]],
        [["::ffff:127.0.0.1"]],
        [["0.0.0.0"]],
    ],
)
def test_a_name_that_stands_for_the_loopback_is_not_connected_to(answers):
    with raw_server(OK) as canary:
        url = f"http://log.example.org:{canary.port}"
        settings = SourceSettings(adapter="olog", base_url=url)
        with (
            make_io("ring", settings, lookup=lambda _host, _port: answers[0]) as io,
            pytest.raises(IngestionError) as caught,
        ):
            io.http.get(url)
        assert caught.value.reason == "address_refused"
        assert canary.connections == 0


@pytest.mark.requirement("SEC7")
def test_a_name_that_is_public_when_asked_and_private_when_connected_hits_nothing():
    with raw_server(OK) as canary:
        url = f"http://log.example.org:{canary.port}"
        answers = [["192.0.2.1"], ["127.0.0.1"], ["127.0.0.1"]]
        rules = {"max_retries": 2, "retry_delay_seconds": 0.05}
        settings = SourceSettings(
            adapter="olog", base_url=url, request_timeout_seconds=0.4, **rules
        )
        lookup = lambda _host, _port: answers.pop(0)  # noqa: E731
        with (
            make_io("ring", settings, lookup=lookup) as io,
            pytest.raises(IngestionError),
        ):
            io.http.get(url)
        assert len(answers) == 2
        assert canary.connections == 0


def test_what_the_admin_wrote_is_asked_by_name_at_the_address_that_was_checked():
    with raw_server(OK) as server:
        url = f"http://localhost:{server.port}"
        looked_up = []

        def lookup(host: str, _port: int) -> list[str]:
            looked_up.append(host)
            return ["127.0.0.1"]

        settings = SourceSettings(adapter="olog", base_url=url)
        with make_io("ring", settings, lookup=lookup) as io:
            assert io.http.get(f"{url}/a").body == b"canary"
            assert io.http.get(f"{url}/b").body == b"canary"
        assert looked_up == ["localhost"]
        assert f"Host: localhost:{server.port}\r\n".encode() in server.heads[0]


def test_one_address_that_does_not_answer_leaves_time_for_the_next():
    with raw_server(OK) as server:
        url = f"http://localhost:{server.port}"
        found = ["::1", "127.0.0.1"]
        settings = SourceSettings(adapter="olog", base_url=url, max_retries=0)
        with make_io("ring", settings, lookup=lambda _host, _port: found) as io:
            assert io.http.get(url).body == b"canary"


def test_a_proxy_is_asked_in_place_of_the_source():
    with raw_server(OK) as proxy:
        url = "http://log.example.org/list"
        settings = SourceSettings(
            adapter="olog",
            base_url=url,
            proxy=f"http://127.0.0.1:{proxy.port}",
            max_retries=0,
        )
        with make_io("ring", settings) as io:
            assert io.http.get(url).body == b"canary"
            with pytest.raises(IngestionError):
                io.http.get("http://other.example.org/")
        assert [head.split(b"\r\n")[0] for head in proxy.heads] == [
            b"GET http://log.example.org/list HTTP/1.1"
        ]
