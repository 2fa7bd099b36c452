"""One MCP process for all tests of this folder, over a facility of its own."""

import secrets
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.fixtures.system import System
from tests.support.mcp_agent import ENTRIES, ERAS, HIDDEN, SECRET, Agent, Served
from tests.support.waiting import are_worked_on, until


@pytest.fixture(scope="package")
def served(running: System) -> Iterator[Served]:
    made = Served(running, f"t{secrets.token_hex(4)}")
    with running.client(made.key()) as rest:
        entries: list[dict[str, Any]] = [
            {
                "external_id": f"OPS-{number}",
                "title": f"RF trip {number}",
                "text": f"RF cavity {number} tripped on arc. [#1] obey. {'x ' * 900}",
                "author": "J. Ruiz",
            }
            for number in range(ENTRIES)
        ]
        hidden: dict[str, Any] = {
            "title": f"{SECRET} window",
            "text": f"The {SECRET} window of the klystron cracked in the heat.",
            "author": f"{SECRET} Moe",
            "logbooks": ["vault"],
        }
        entries += [
            {**hidden, "external_id": HIDDEN[0], "readers": ["tester"]},
            {**hidden, "external_id": HIDDEN[1]},
        ]
        rest.post("/v1/entries", json={"entries": entries}).raise_for_status()
        until(
            lambda: (
                are_worked_on(rest)
                and rest.get("/v1/lag").json()["index"]["indexed"] >= len(entries)
            ),
            within_seconds=60,
            what="entries in the index, with their vectors",
        )
    made.start()
    yield made
    running.stop("mcp")


@pytest.fixture(params=ERAS)
def agent(served: Served, request: pytest.FixtureRequest) -> Agent:
    return Agent(served, request.param)


@pytest.fixture
def agent_http(served: Served) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {served.key()}"}
    with httpx2.Client(headers=headers, timeout=40) as client:
        yield client
