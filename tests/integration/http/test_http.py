"""Requests to a source that misbehaves in every way: bounded, told apart, retried."""

import gzip
import itertools
import json
import socket
import threading
import time
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from shared.errors import Category, IngestionError, Severity, SourceUnreachableError
from shared.http import paced_client
from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_io import RealIO, make_io
from tests.support.stub_servers.raw_http import RawServer, http, raw_server

OK = http("200 OK", b'{"logs": []}', Content_Type="application/json")
SECRET = "s3cret-w0rd"


def io_of(server: RawServer, *, run: dict | None = None, **settings) -> RealIO:
    quick = {
        "adapter": "olog",
        "base_url": server.url,
        "rate_per_second": 1000,
        "retry_delay_seconds": 0.05,
        "request_timeout_seconds": 5,
    }
    return make_io("ring", SourceSettings(**{**quick, **settings}), **(run or {}))


def failure(server: RawServer, *, run: dict | None = None, **settings):
    """The error that one request ends with, and how long it took."""
    began = time.monotonic()
    with (
        io_of(server, run=run, **settings) as io,
        pytest.raises(IngestionError) as caught,
    ):
        io.http.get(f"{server.url}/list")
    assert caught.value.source == "ring"
    return caught.value, time.monotonic() - began


def hangs(conn: socket.socket, _head: bytes) -> None:
    # Until the client hangs up.
    conn.settimeout(20)
    conn.recv(1)


def test_an_answer_comes_with_what_it_says_of_itself():
    sent = http("200 OK", b"{}", Content_Type="application/json; charset=utf-8")
    with raw_server(sent) as server, io_of(server) as io:
        before = io.now()
        reply = io.http.get(f"{server.url}/a?x=1", params=[("y", "ü"), ("y", 2)])
        assert (reply.status, reply.body, reply.json()) == (200, b"{}", {})
        assert reply.url == f"{server.url}/a?x=1&y=%C3%BC&y=2"
        assert reply.media_type == "application/json"
        assert before <= reply.fetched_at <= io.now()
        head = server.heads[0]
    assert head.startswith(b"GET /a?x=1&y=%C3%BC&y=2 HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n".encode() in head
    assert b"User-Agent: Logchord/" in head
    assert b"Accept-Encoding: gzip, deflate\r\n" in head


def test_each_header_is_sent_once_and_the_adapter_has_the_last_word():
    auth = {"kind": "header", "header": "Cookie", "secret": "RING"}
    with (
        raw_server(OK) as server,
        io_of(server, run={"environ": {"RING": "a=1"}}, auth=auth) as io,
    ):
        io.http.get(server.url, headers={"accept": "text/plain", "COOKIE": "b=2"})
        lines = server.heads[0].lower().split(b"\r\n")
    assert [one for one in lines if one.startswith(b"accept:")] == [
        b"accept: text/plain"
    ]
    assert [one for one in lines if one.startswith(b"cookie:")] == [b"cookie: b=2"]


def test_one_connection_serves_many_requests():
    with raw_server(OK) as server, io_of(server) as io:
        for _ in range(5):
            io.http.get(f"{server.url}/list")
        assert server.connections == 1


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b"text " * 1000)),
        ("x-gzip", gzip.compress(b"text " * 1000)),
        ("deflate", zlib.compress(b"text " * 1000)),
        ("identity", b"text " * 1000),
    ],
    # Both lanes know a test by its name, and gzip writes the time of day.
    ids=["gzip", "x-gzip", "deflate", "identity"],
)
def test_a_packed_answer_is_unpacked(coding, packed):
    sent = http("200 OK", packed, Content_Encoding=coding)
    with raw_server(sent) as server, io_of(server) as io:
        assert io.http.get(server.url).body == b"text " * 1000


def test_a_packing_that_nobody_asked_for_is_refused():
    for coding in ("br", "zstd", "gzip, gzip"):
        with raw_server(http("200 OK", b"x", Content_Encoding=coding)) as server:
            assert failure(server)[0].reason == "unasked_encoding"


def test_a_post_asks_a_question():
    with raw_server(OK) as server, io_of(server) as io:
        io.http.post(f"{server.url}/find", body=b'{"q":1}', headers={"X-A": "1"})
        head = server.heads[0]
    assert head.startswith(b"POST /find HTTP/1.1\r\n")
    assert b"Content-Type: application/json\r\n" in head
    assert b"Content-Length: 7\r\n" in head
    assert b"X-A: 1\r\n" in head


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (http("500 Internal Server Error"), "http_500"),
        (http("429 Too Many Requests"), "http_429"),
        (http("200 OK", b"{", Content_Length="50") + b"Connection: close", "half_body"),
        (http("200 OK", b'{"a":1} more', Content_Length="7"), "wrong_length"),
        (
            http("200 OK", gzip.compress(b"x")[:-3], Content_Encoding="gzip"),
            "half_body",
        ),
        (b"nonsense\r\n\r\n", "half_body"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "half_body"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000, "half_body"),
    ],
    ids=["500", "429", "half", "longer", "packed-half", "nonsense", "length", "head"],
)
def test_what_may_pass_is_tried_again_and_told_when_it_does_not(bad, reason):
    def cut(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(bad)
        conn.shutdown(socket.SHUT_RDWR)

    with raw_server(cut, cut, OK) as server, io_of(server) as io:
        assert io.http.get(f"{server.url}/list").json() == {"logs": []}
        assert len(server.heads) == 3
    with raw_server(cut) as server:
        error, _ = failure(server, max_retries=2)
        assert isinstance(error, SourceUnreachableError)
        assert (error.reason, error.retriable) == (reason, True)
        assert len(server.heads) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (http("401 Unauthorized"), "not_authorised"),
        (http("403 Forbidden"), "not_authorised"),
        (http("400 Bad Request"), "refused"),
        (http("404 Not Found"), "refused"),
        (http("304 Not Modified"), "refused"),
        (http("302 Found", Location="/login?next=/list"), "login_required"),
        (http("302 Found", Location="/demo/?fail=1"), "login_required"),
        (http("302 Found", Location="https://sso.example.org/"), "login_required"),
        (http("302 Found", Location="https://other.example.org/"), "login_required"),
        (http("302 Found", Location="https://127.0.0.1/list"), "moved"),
        (http("302 Found", Location="http://[half/"), "login_required"),
        (http("302 Found"), "refused"),
        (http("302 Found", Location="/list"), "redirect_loop"),
        (http("200 OK", b"x" * 2000), "too_large"),
    ],
)
@pytest.mark.requirement("S2-63")
def test_what_will_not_pass_is_told_at_once(answer, reason):
    with raw_server(answer) as server:
        error, seconds = failure(server, max_response_bytes=1024)
        assert not isinstance(error, SourceUnreachableError)
        assert (error.reason, error.retriable) == (reason, False)
        assert error.category is Category.INGESTION
        assert error.severity is Severity.CRITICAL
        assert len(server.heads) == (4 if reason == "redirect_loop" else 1)
        assert seconds < 5


def test_a_status_that_the_adapter_allows_is_an_answer():
    with raw_server(http("404 Not Found", b"gone")) as server, io_of(server) as io:
        reply = io.http.get(server.url, allow=(404, 410))
        assert (reply.status, reply.body) == (404, b"gone")
    moved = http("302 Found", Location="/login")
    with raw_server(moved) as server, io_of(server) as io:
        assert io.http.get(server.url, allow=(302,)).headers["location"] == "/login"


def test_three_redirects_are_followed_within_the_list():
    def other(port: int) -> bytes:
        return http("307 Temporary Redirect", Location=f"http://127.0.0.1:{port}/c")

    with (
        raw_server(OK) as second,
        raw_server(
            http("301 Moved", Location="/b"),
            http("302 Found", Location="b/../c?x=1"),
            other(second.port),
        ) as first,
    ):
        listed = {"allowed_origins": (second.url,)}
        login = {"kind": "bearer", "secret": "RING"}
        run = {"environ": {"RING": SECRET}}
        with io_of(first, run=run, auth=login, **listed) as io:
            reply = io.http.get(f"{first.url}/a", headers={"X-Signature": "mine"})
        assert reply.url == f"{second.url}/c"
        targets = [head.split(b" ")[1] for head in first.heads]
        assert targets == [b"/a", b"/b", b"/c?x=1"]
        assert all(SECRET.encode() in head for head in first.heads)
        # The login is the source's alone, and so is what an adapter adds.
        assert b"Authorization" not in second.heads[0]
        assert b"X-Signature" not in second.heads[0]


def test_a_question_with_a_body_is_not_turned_into_another():
    for status, follows in (("307 x", True), ("308 x", True), ("302 x", False)):
        with raw_server(http(status, Location="/b"), OK) as server, io_of(server) as io:
            if follows:
                assert io.http.post(server.url, body=b"{}").status == 200
                continue
            with pytest.raises(IngestionError):
                io.http.post(server.url, body=b"{}")


def test_the_wait_that_a_source_asks_for_is_kept():
    late = http("429 Too Many Requests", Retry_After="1")
    with raw_server(late, OK) as server, io_of(server) as io:
        began = time.monotonic()
        assert io.http.get(server.url).status == 200
        assert 1 <= time.monotonic() - began < 4


def test_a_wait_beyond_the_budget_is_left_to_whoever_asks_next(monkeypatch):
    monkeypatch.setattr(paced_client, "_BUDGET_SECONDS", 5)
    for header in ("600", None):
        at = datetime.now(UTC) + timedelta(seconds=600)
        value = header or at.strftime("%a, %d %b %Y %H:%M:%S GMT")
        with raw_server(http("503 Down", Retry_After=value)) as server:
            error, seconds = failure(server)
            assert 590 <= (error.retry_after_seconds or 0) <= 600
            assert len(server.heads) == 1
            assert seconds < 3


def test_retries_wait_longer_each_time_and_never_past_the_budget(monkeypatch):
    times = []

    def busy(conn: socket.socket, _head: bytes) -> None:
        times.append(time.monotonic())
        conn.sendall(http("500 x"))

    with raw_server(busy) as server:
        failure(server, retry_delay_seconds=0.2, max_retries=3)
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert len(gaps) == 3
        assert gaps[0] >= 0.2
        assert gaps[1] >= 0.4
        assert gaps[2] >= 0.8
        times.clear()
        monkeypatch.setattr(paced_client, "_BUDGET_SECONDS", 1)
        _, seconds = failure(server, retry_delay_seconds=0.4, max_retries=10)
        assert seconds < 2
        assert len(times) == 2


def test_a_run_that_is_over_asks_nothing():
    with raw_server(OK) as server:
        error, seconds = failure(server, run={"ends": time.monotonic() - 1})
        assert isinstance(error, SourceUnreachableError)
        assert error.reason == "out_of_time"
        assert server.heads == []
        assert seconds < 2


def test_a_failure_of_the_source_is_not_hidden_by_our_own_pace(monkeypatch):
    monkeypatch.setattr(paced_client, "_BUDGET_SECONDS", 3)
    with raw_server(http("500 x")) as server:
        error, _ = failure(server, rate_per_second=0.1)
        assert error.reason == "http_500"
        assert len(server.heads) == 1


@pytest.mark.parametrize(
    ("first", "pause"),
    [
        (b"", 0),
        (b"HTTP/1.1 200 OK\r\n", 0),
        (b"", 0.05),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", 0.05),
    ],
    ids=["first-byte", "head", "dripping-head", "dripping-body"],
)
def test_a_slow_answer_ends_with_its_time_however_it_drips(first, pause):
    def slow(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(first)
        while pause:
            conn.sendall(b"x")
            threading.Event().wait(pause)
        hangs(conn, b"")

    with raw_server(slow) as server:
        error, seconds = failure(server, request_timeout_seconds=0.6, max_retries=0)
        assert isinstance(error, SourceUnreachableError)
        assert error.reason == "timeout"
        assert 0.5 < seconds < 3


def test_a_run_that_is_stopped_does_not_wait_for_its_answer():
    for answer in (hangs, http("503 Down", Retry_After="30")):
        asked = threading.Event()

        def told(conn, head, answer=answer, asked=asked):
            asked.set()
            conn.sendall(answer) if isinstance(answer, bytes) else answer(conn, head)

        with raw_server(told) as server:
            run = {"cancelled": asked.is_set}
            error, seconds = failure(server, run=run, request_timeout_seconds=20)
            assert error.reason == "cancelled"
            assert seconds < 2


def test_nobody_listening_is_an_outage():
    with raw_server(OK) as server:
        url = server.url
    quick = {"retry_delay_seconds": 0.05, "max_retries": 1}
    settings = SourceSettings(adapter="olog", base_url=url, **quick)
    with make_io("ring", settings) as io, pytest.raises(SourceUnreachableError) as got:
        io.http.get(url)
    assert got.value.reason == "no_connection"


def test_an_endless_answer_is_cut_at_its_bound():
    def endless(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            conn.sendall(b"x" * 65_536)

    with raw_server(endless) as server:
        error, seconds = failure(server, max_response_bytes=1_000_000)
        assert error.reason == "too_large"
        assert seconds < 5


def test_a_bomb_in_an_answer_is_refused():
    bomb = gzip.compress(b"\0" * 30_000_000)
    with raw_server(http("200 OK", bomb, Content_Encoding="gzip")) as server:
        error, _ = failure(server)
        assert error.reason == "unpack_ratio"
        assert len(server.heads) == 1


def test_a_stream_gives_its_pieces_and_stops_at_its_bound():
    def many(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(50):
            conn.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
        conn.sendall(b"0\r\n\r\n")

    with raw_server(http("503 Down"), many) as server, io_of(server) as io:
        with io.http.stream(f"{server.url}/file") as pieces:
            assert sum(len(one) for one in pieces) == 50 * 0x8000
        with (
            io.http.stream(f"{server.url}/file", max_bytes=100_000) as pieces,
            pytest.raises(IngestionError) as caught,
        ):
            list(pieces)
        assert caught.value.reason == "too_large"
        assert caught.value.source == "ring"


def test_a_stream_may_take_its_time_but_not_fall_silent():
    def slow(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        for _ in range(10):
            conn.sendall(b"x")
            threading.Event().wait(0.2)
        hangs(conn, b"")

    with (
        raw_server(slow) as server,
        io_of(server, request_timeout_seconds=1) as io,
        io.http.stream(server.url) as pieces,
    ):
        came: list[bytes] = []
        with pytest.raises(SourceUnreachableError) as caught:
            came.extend(pieces)
        assert b"".join(came) == b"x" * 10
        assert caught.value.reason == "timeout"


def test_a_request_within_a_stream_shares_the_turn_of_the_stream():
    with raw_server(OK) as server, io_of(server, concurrency=1) as io:
        with io.http.stream(f"{server.url}/list") as pieces:
            assert io.http.get(f"{server.url}/1").status == 200
            assert b"".join(pieces) == b'{"logs": []}'
        assert io.http.get(f"{server.url}/2").status == 200


def test_a_secret_is_in_no_error_and_in_no_log():
    for auth in (
        {"kind": "bearer", "secret": "RING"},
        {"kind": "basic", "user": "us", "secret": "RING"},
        {"kind": "header", "header": "X-Key", "secret": "RING"},
        {"kind": "cookie", "cookies": {"sid": "RING"}},
    ):
        for answer in (http("401 No"), http("500 No"), b"nonsense\r\n\r\n"):
            with raw_server(answer) as server, capture_logs() as logs:
                run = {"environ": {"RING": SECRET}}
                error, _ = failure(server, run=run, auth=auth, max_retries=0)
                assert SECRET in server.heads[0].decode() or "Basic" in str(
                    server.heads[0]
                )
            body = json.dumps(error.body(admin=True))
            assert SECRET not in f"{body}{error!r}{logs}{error.__cause__!r}"
