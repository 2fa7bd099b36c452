"""What no client of good will sends: cut or refused, and nobody else is slower."""

import re
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from uuid import UUID

import httpx2
import psutil
import pytest

from tests.support.fixtures.system import System
from tests.support.waiting import until

HEAD_SECONDS = 1.5
# Beside this, a ratio says how busy the machine is and nothing of the API.
UNNOTICED_SECONDS = 0.1
IDLE = 1000
ME = b"GET /v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
POST = b"POST /v1/entries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ENTRY = b'{"text":"smuggled"}'


@pytest.fixture(scope="module")
def brief(make_api: Callable[..., System]) -> System:
    """An API that gives a head little time."""
    return make_api(
        afresh=True,
        LOGCHORD_API__HEAD_SECONDS=str(HEAD_SECONDS),
        LOGCHORD_API__BODY_SECONDS=str(HEAD_SECONDS),
    )


@pytest.fixture
def reader(brief: System, tenant: str) -> Iterator[httpx2.Client]:
    with brief.client(brief.key(tenant=tenant)) as client:
        yield client


def connect(system: System) -> socket.socket:
    port = httpx2.URL(system.url).port
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def told(system: System, sent: bytes) -> bytes:
    """Return all that is said to these bytes, until the API hangs up."""
    answer = b""
    with connect(system) as link, suppress(ConnectionError):
        link.sendall(sent)
        while part := link.recv(65_536):
            answer += part
    return answer


def statuses(answer: bytes) -> list[int]:
    found = re.findall(rb"(?:\A|[^\n]*?)HTTP/1\.[01] (\d{3}) ", answer)
    return [int(status) for status in found]


JUNK: dict[str, bytes] = {
    "a header of 64 KB": ME + b"X-Odd: " + b"x" * 65_536 + b"\r\n\r\n",
    "ten thousand headers": ME + b"X-Odd: x\r\n" * 10_000 + b"\r\n",
    "headers without end": ME + b"X-Odd: x\r\n" * 300_000,
    "a header without end": ME + b"X-Odd: " + b"x" * 3_000_000,
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 19\r\n\r\n" + ENTRY,
    "length and chunks": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + ENTRY,
    "chunks and length": POST
    + b"Transfer-Encoding: chunked\r\nContent-Length: 19\r\n\r\n"
    + ENTRY,
    "a length below nothing": POST + b"Content-Length: -1\r\n\r\n" + ENTRY,
    "a length of no number": POST + b"Content-Length: 1e3\r\n\r\n" + ENTRY,
    "a chunk of no size": CHUNKED + b"zz\r\n" + ENTRY + b"\r\n0\r\n\r\n",
    "a chunk below nothing": CHUNKED + b"-13\r\n" + ENTRY + b"\r\n0\r\n\r\n",
    "a chunk larger than any": CHUNKED + b"f" * 17 + b"\r\n" + ENTRY,
    "a chunk longer than said": CHUNKED + b"5\r\n" + ENTRY + b"\r\n0\r\n\r\n",
    "an encoding of its own": POST + b"Transfer-Encoding: odd\r\n\r\n" + ENTRY,
    "a space before the colon": ME + b"X-Odd : x\r\n\r\n",
    "NUL in a header": ME + b"X-Odd: a\0b\r\n\r\n",
    "junk behind a request": b"GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n"
    b"\0\xff\x13 junk\r\n\r\n",
    "junk alone": b"\0\xff\x13\r\n\r\n",
    "a greeting of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"GET /v1/me\r\n\r\n",
    "an odd method": b"SMUGGLE /v1/me HTTP/1.1\r\nHost: x\r\n\r\n",
    "empty lines alone": b"\r\n" * 1000,
    "nothing": b"",
    "headers behind a body": CHUNKED + b"0\r\n" + b"X-Odd: x\r\n" * 300_000,
    "a header behind a body": CHUNKED + b"0\r\nX-Odd: " + b"x" * 3_000_000,
    "half a request": ME,
    "half a body": POST + b"Content-Length: 19\r\n\r\n" + ENTRY[:9],
    "half a chunk": CHUNKED + b"13\r\n" + ENTRY[:9],
}


@pytest.mark.requirement("B18", "P9")
@pytest.mark.parametrize("name", JUNK)
def test_what_is_no_request_is_refused_or_dropped_within_its_time(brief, name):
    sent = JUNK[name]
    process = psutil.Process(brief.processes["api"].pid)
    before = process.memory_info().rss
    began = time.monotonic()

    answer = told(brief, sent)

    assert time.monotonic() - began < HEAD_SECONDS + 8
    found = statuses(answer)
    # A request before the junk is one like any other: without a key, 401.
    assert all(400 <= status < 500 for status in found), answer[:300]
    assert b"Traceback" not in answer
    assert process.memory_info().rss - before < 64 * 2**20
    assert httpx2.get(f"{brief.url}/health/live").status_code == 200


@pytest.mark.requirement("B18")
@pytest.mark.parametrize("odd", [b"x\r\nX-Odd: ", b"x"], ids=["many", "without end"])
def test_headers_behind_a_body_are_read_only_so_far(brief: System, odd: bytes):
    # What the kernel takes in between is a few megabytes.
    endless = CHUNKED + b"0\r\nX-Odd: " + odd * (2**25 // len(odd))
    with connect(brief) as link, pytest.raises(ConnectionError):
        link.sendall(endless)


@pytest.mark.requirement("B18")
def test_headers_without_end_put_nothing_into_another_answer(brief, reader):
    key = reader.headers["Authorization"].encode()
    after = reader.get("/v1/changes").json()["next_after"].encode()
    asked = b"GET /v1/changes?wait_ms=9000&after=" + after + b" HTTP/1.1\r\nHost: x\r\n"
    # Of the next head no more than is read: what is left unread would reset the link.
    endless = ME + b"X-Odd: " + b"x" * (2**20 - 200)
    began = time.monotonic()

    answer = told(brief, asked + b"Authorization: " + key + b"\r\n\r\n" + endless)

    assert answer == b""
    assert time.monotonic() - began < 8


@pytest.mark.requirement("B18")
def test_a_request_hidden_in_another_is_not_carried_out(brief, reader):
    key = reader.headers["Authorization"].encode()
    for head in (b"Content-Length: 4\r\n", b""):
        hidden = POST + b"Authorization: " + key + b"\r\nContent-Length: 19\r\n\r\n"
        told(brief, POST + head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + hidden)
        told(
            brief,
            POST
            + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + hidden
            + ENTRY,
        )

    assert reader.get("/v1/entries").json()["total"] == 0


@pytest.mark.requirement("B18")
def test_options_and_trace_are_refused_on_every_route_and_head_without_get(reader):
    for path, known in reader.get("/openapi.json").json()["paths"].items():
        address = re.sub(r"\{\w+\}", str(UUID(int=0)), path)
        for method in ("HEAD", "OPTIONS", "TRACE"):
            answer = reader.request(method, address)
            if method == "HEAD" and ("get" in known or path == "/search"):
                # The page of that address is read, and described nowhere.
                assert answer.content == b"", path
                continue
            assert 400 <= answer.status_code < 500, (method, path, answer.status_code)


def slowest(client: httpx2.Client) -> float:
    """Return how long nineteen of twenty requests take at most."""
    took = []
    for _ in range(100):
        began = time.monotonic()
        assert client.get("/v1/me").status_code == 200
        took.append(time.monotonic() - began)
    return sorted(took)[94]


@pytest.fixture
def room() -> Iterator[None]:
    """Room in this process for a thousand connections, beside what it has open."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * IDLE
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"no process may open {needed} files here, but {hard}")
    soft = before if before == resource.RLIM_INFINITY else max(before, needed)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


@pytest.mark.alone
@pytest.mark.requirement("B18")
@pytest.mark.usefixtures("room")
def test_a_thousand_connections_that_ask_nothing_cost_nobody_else_anything(make_system):
    # Long enough that none is cut while it is measured, however slow the machine.
    system = make_system(LOGCHORD_API__HEAD_SECONDS="300")
    system.start("api")
    system.wait_ready()
    with ExitStack() as links:
        reader = links.enter_context(system.client())
        alone = slowest(reader)
        idle = [links.enter_context(connect(system)) for _ in range(IDLE)]
        for number, link in enumerate(idle):
            # A third says nothing, a third half a request, a third a byte of one.
            link.sendall((b"", ME, b"G")[number % 3])
        beside = slowest(reader)
        waiting = links.enter_context(selectors.DefaultSelector())
        for link in idle:
            waiting.register(link, selectors.EVENT_READ)
        # One that was cut has its end to read.
        assert not waiting.select(0)

    assert beside < max(2 * alone, UNNOTICED_SECONDS), (alone, beside)


@pytest.mark.requirement("B18")
def test_a_head_that_comes_byte_by_byte_is_cut_in_time(brief: System):
    began = time.monotonic()
    with connect(brief) as link:
        link.settimeout(0.1)
        sent = 0

        def is_cut() -> bool:
            nonlocal sent
            with suppress(TimeoutError):
                try:
                    link.sendall(b"x" if sent else b"GET /v1/me?")
                    sent += 1
                    return link.recv(100) == b""
                except ConnectionError:
                    return True
            return False

        until(is_cut, within_seconds=HEAD_SECONDS + 8, what="a slow head")

    assert sent > 3
    assert time.monotonic() - began > HEAD_SECONDS * 0.9


@pytest.mark.requirement("B18")
def test_the_api_has_room_for_connections_beside_those_that_idle(brief: System):
    soft, hard = psutil.Process(brief.processes["api"].pid).rlimit(psutil.RLIMIT_NOFILE)

    assert hard == resource.RLIM_INFINITY or soft >= min(4 * IDLE, hard)
