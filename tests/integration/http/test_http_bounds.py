"""Answers without an end, in a process of their own: what they cost in memory."""

import gzip
import json
import os
import socket
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.stub_servers.raw_http import raw_server

ROOT = Path(__file__).parents[3]
CAP = 32 * 1024 * 1024
LINUX = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)
# Imports and a first connection are not what an answer costs.
READ = textwrap.dedent(
    """
    import json, re, resource, sys
    from shared.errors import IngestionError
    from shared.settings.source_sections import SourceSettings
    from shared.sources.adapter_io import make_io

    def kilobytes(field):
        with open("/proc/self/status") as lines:
            return int(re.search(field + r":\\s+(\\d+)", lines.read())[1])

    url, cap, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rules = {"max_response_bytes": cap, "max_retries": 0, "rate_per_second": 1000}
    settings = SourceSettings(adapter="olog", base_url=url, **rules)
    reason, read = None, 0
    with make_io("ring", settings) as io:
        io.http.get(url + "/small")
        before = kilobytes("VmRSS")
        if how == "get with little memory":
            little = kilobytes("VmData") * 1024 + cap // 2
            resource.setrlimit(resource.RLIMIT_DATA, (little, -1))
        try:
            if how.startswith("get"):
                read = len(io.http.get(url + "/large").body)
            else:
                with io.http.stream(url + "/large", max_bytes=cap) as pieces:
                    for piece in pieces:
                        read += len(piece)
        except IngestionError as exc:
            reason = exc.reason
    rise = (kilobytes("VmHWM") - before) * 1024
    print(json.dumps({"rise": rise, "reason": reason, "read": read}))
    """
)
SMALL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def ten_gigabytes(conn: socket.socket, _head: bytes) -> None:
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
    piece = b"x" * 65_536
    for _ in range(10_737_418_240 // len(piece)):
        conn.sendall(piece)


def ten_packed_gigabytes(conn: socket.socket, _head: bytes) -> None:
    """Members of a ratio that is allowed, for ever."""
    member = gzip.compress(os.urandom(1000) + b"\0" * 60_000)
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
    while True:
        conn.sendall(member)


def a_whole_answer(conn: socket.socket, _head: bytes) -> None:
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % CAP)
    conn.sendall(b"x" * CAP)


def read(answer, how: str) -> dict:
    with raw_server(SMALL, answer) as server:
        done = run_command(
            [sys.executable, "-c", READ, server.url, str(CAP), how],
            cwd=ROOT,
            check=True,
            timeout=100,
        )
    found: dict = json.loads(done.stdout)
    found["megabytes"] = round(found["rise"] / 1e6, 1)
    return found


@LINUX
@pytest.mark.parametrize("how", ["get", "stream"])
@pytest.mark.parametrize("answer", [ten_gigabytes, ten_packed_gigabytes])
def test_an_answer_of_ten_gigabytes_is_cut_off_at_less_than_twice_its_bound(
    answer, how
):
    found = read(answer, how)
    assert found["reason"] == "too_large"
    assert found["rise"] < (2 * CAP if how == "get" else CAP // 4)


@LINUX
def test_an_answer_at_its_bound_is_whole_and_kept_once():
    found = read(a_whole_answer, "get")
    assert (found["reason"], found["read"]) == (None, CAP)
    assert found["rise"] < 2 * CAP


@LINUX
def test_an_answer_within_its_bound_that_a_worker_cannot_hold_is_too_large():
    found = read(a_whole_answer, "get with little memory")
    assert found["reason"] == "too_large"
    assert found["rise"] < CAP
