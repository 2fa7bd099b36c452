"""Many who look at once, and some who do not read on: nobody else waits for them."""

import asyncio
import json
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest

from api.web.live_rows import LOOK_SECONDS, LiveRows
from tests.support.fixtures.system import TRUSTED

TABS, IDLE = 50, 40
# What another request may take beside them, on a machine that is shared.
MOST_SECONDS = 2.0
MOST_GROWN_BYTES = 64_000_000


def test_rows_are_read_once_a_moment_for_all_who_look_with_one_key() -> None:
    loads: list[str] = []

    async def look() -> None:
        rows = LiveRows()

        def load(who: str) -> str:
            loads.append(who)
            return f"<li>{who}</li>"

        for _ in range(2):
            found = await asyncio.gather(
                *(rows.read(who, lambda who=who: load(who)) for who in "ab" * TABS)
            )
            assert len({one.digest for one in found}) == 2

    began = time.monotonic()
    asyncio.run(look())
    assert time.monotonic() - began < LOOK_SECONDS
    assert sorted(loads) == ["a", "b"]


@pytest.mark.requirement("U28")
def test_fifty_tabs_are_shown_a_new_entry_and_hold_nobody_up(caller) -> None:
    async def first_rows(client: httpx2.AsyncClient, title: str) -> bool:
        async with client.stream("GET", "/live/events") as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    told = json.loads(line.removeprefix("data: "))
                    watching.release()
                    if title in told.get("html", ""):
                        return True
        return False

    async def watch() -> list[bool]:
        limits = httpx2.Limits(max_connections=TABS + 10)
        async with httpx2.AsyncClient(
            base_url=caller.base_url,
            headers=caller.headers,
            limits=limits,
            timeout=30,
            verify=TRUSTED,
        ) as client:
            tabs = [
                asyncio.create_task(first_rows(client, "Quench of D2"))
                for _ in range(TABS)
            ]
            for _ in range(TABS):
                await watching.acquire()
            began = time.monotonic()
            entry = {"title": "Quench of D2", "text": "now"}
            sent = await client.post("/v1/entries", json=entry)
            assert sent.status_code == 201, sent.text
            assert time.monotonic() - began < MOST_SECONDS
            return await asyncio.gather(*tabs)

    watching = asyncio.Semaphore(0)
    assert asyncio.run(watch()) == [True] * TABS


def test_whoever_does_not_read_on_holds_nobody_up_and_costs_little(api, caller) -> None:
    entries = [{"text": f"Pump {n} checked. " * 200} for n in range(30)]
    assert caller.post("/v1/entries", json={"entries": entries}).is_success
    address = urlsplit(api.url)
    process = psutil.Process(api.processes["api"].pid)
    key = caller.headers["authorization"]
    # Once for what the first page costs by itself.
    assert caller.get("/", headers={"accept": "text/html"}).is_success
    before = process.memory_info().rss
    with ExitStack() as closing:
        for n in range(IDLE):
            idle = socket.socket()
            closing.callback(idle.close)
            # The least that a kernel keeps for it.
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            idle.connect((address.hostname, address.port))
            path = "/live/events" if n % 2 else "/"
            head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            idle.sendall(f"{head}Authorization: {key}\r\n\r\n".encode())
            assert idle.recv(1)
        took = []
        for _ in range(10):
            began = time.monotonic()
            assert caller.get("/v1/entries?limit=5").is_success
            took.append(time.monotonic() - began)
        grown = process.memory_info().rss - before

    assert max(took) < MOST_SECONDS, took
    assert grown < MOST_GROWN_BYTES
