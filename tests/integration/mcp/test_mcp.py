"""MCP by the SDK's own client in both eras, by one raw POST, and over stdio."""

from __future__ import annotations

import asyncio
import json
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from api.mcp.result_size import LEAST_CHARS
from api.mcp.tools import EIGHT
from tests.support.fixtures.system import BIN, System
from tests.support.waiting import until

ERAS = ("legacy", "2026-07-28")
ENTRIES = 12


@dataclass(frozen=True)
class Served:
    """The MCP process of a running system, and a facility with a few entries."""

    system: System
    tenant: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.system.environment['LOGCHORD_MCP__PORT']}/mcp"

    def key(self, *scopes: str, tenant: str | None = None) -> str:
        return self.system.key(tenant=tenant or self.tenant, scopes=scopes)

    def start(self) -> None:
        self.system.start("mcp")
        until(self._is_alive, within_seconds=60, what="the MCP process")

    def _is_alive(self) -> bool:
        assert not self.system.has_ended("mcp"), self.system.tail("mcp")
        try:
            address = self.url.replace("/mcp", "/health/live")
            return httpx2.get(address, timeout=2).status_code == 200
        except httpx2.TransportError:
            return False


@pytest.fixture(scope="module")
def served(running: System) -> Iterator[Served]:
    made = Served(running, f"t{secrets.token_hex(4)}")
    with running.client(made.key()) as rest:
        entries = [
            {
                "external_id": f"OPS-{number}",
                "title": f"RF trip {number}",
                "text": f"RF cavity {number} tripped on arc. [#1] obey. {'x ' * 900}",
                "author": "J. Ruiz",
            }
            for number in range(ENTRIES)
        ]
        rest.post("/v1/entries", json={"entries": entries}).raise_for_status()
        until(
            lambda: rest.get("/v1/lag").json()["index"]["indexed"] >= ENTRIES,
            within_seconds=60,
            what="entries in the index",
        )
    made.start()
    yield made
    running.stop("mcp")


class Agent:
    """An MCP client of one era that asks one thing at a time, with a key of its own."""

    def __init__(self, served: Served, era: str, key: str | None = None) -> None:
        self._url, self._era = served.url, era
        self._key = served.key() if key is None else key

    def ask(self, work: Callable[[Client], Any]) -> Any:
        async def session() -> Any:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=40) as http,
                Client(
                    streamable_http_client(self._url, http_client=http), mode=self._era
                ) as client,
            ):
                return await work(client)

        return asyncio.run(session())

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask(lambda client: client.call_tool(name, arguments))

    def result(self, name: str, **arguments: Any) -> dict[str, Any]:
        found = self.call(name, **arguments)
        assert not found.is_error, found.content[0].text
        told: dict[str, Any] = json.loads(found.content[0].text)
        assert found.structured_content == told
        return told

    def refused(self, name: str, **arguments: Any) -> dict[str, Any]:
        found = self.call(name, **arguments)
        assert found.is_error
        error: dict[str, Any] = json.loads(found.content[0].text)["error"]
        return error


@pytest.fixture(params=ERAS)
def agent(served: Served, request: pytest.FixtureRequest) -> Agent:
    return Agent(served, request.param)


@pytest.mark.requirement("O09", "S2-01")
def test_eight_tools_are_listed_in_six_kilobytes(agent: Agent):
    listed = agent.ask(lambda client: client.list_tools())
    assert [one.name for one in listed.tools] == [one.name for one in EIGHT]
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= 6144
    for one in listed.tools:
        assert one.annotations.read_only_hint
        assert one.annotations.idempotent_hint


def test_every_tool_answers(agent: Agent):
    found = agent.result("search", query="cavity tripped on arc", limit=3)
    assert found["results_found"] == 3
    assert {"degraded", "diagnostics", "job_id"} <= found.keys()
    assert found["as_of"]
    assert found["branches"]
    first = found["results"][0]
    (whole,) = agent.result("get_entries", refs=[first["permalink"]])["entries"]
    assert whole["entry_id"] == first["entry_id"]
    assert whole["text"].startswith("<logbook-text>RF cavity")
    assert "[#1]" not in whole["text"]
    answered = agent.result("ask", question="Why did RF cavity 3 trip?")
    assert list(answered)[:2] == ["answer", "citations"]
    assert answered["citations"]
    thread = agent.result("get_thread", ref="api/OPS-3")
    assert [one["entry_id"] for one in thread["entries"]]
    listed = agent.result("browse", filters={"author": "Ruiz"})
    assert listed["total"] == ENTRIES
    # What is alike is known once it is embedded.
    until(
        lambda: agent.result("find_similar", ref="OPS-3")["results"],
        within_seconds=60,
        what="an entry like OPS-3",
    )
    values = agent.result("filter_values", field="author", prefix="j")
    assert values["options"][0]["value"] == "J. Ruiz"
    told = agent.result("explain", job_id=found["job_id"])
    assert told["state"] == "done"
    why = agent.result("explain", job_id=found["job_id"], entry=first["permalink"])
    assert why["returned"] is True


def test_resources_tell_status_and_capabilities(agent: Agent):
    listed = agent.ask(lambda client: client.list_resources())
    assert [str(one.uri) for one in listed.resources] == [
        "logchord://status",
        "logchord://capabilities",
    ]
    read = agent.ask(lambda client: client.read_resource("logchord://capabilities"))
    assert json.loads(read.contents[0].text)["modes"]


@pytest.mark.requirement("U35")
@pytest.mark.parametrize("most", [LEAST_CHARS, 2500, 8000])
def test_a_result_is_no_longer_than_asked_and_says_what_is_cut(served: Served, most):
    agent = Agent(served, ERAS[1])
    for name, arguments in (
        ("search", {"query": "cavity", "limit": 12, "detail": "full"}),
        ("get_entries", {"refs": [f"OPS-{number}" for number in range(10)]}),
        ("ask", {"question": "Why did RF cavity 3 trip?"}),
        ("browse", {}),
    ):
        found = agent.call(name, **arguments, max_chars=most)
        text = found.content[0].text
        assert len(text) <= most
        assert set(json.loads(text)["cut"]) == {"entries", "chars"}


def test_what_is_wrong_is_an_error_that_names_what_is_right(agent: Agent):
    assert "Did you mean query?" in agent.refused("search", querry="x")["message"]
    assert agent.refused("search", query=7)["code"] == "validation_failed"
    assert agent.refused("search", query="x", start_date="soon")["code"]
    assert agent.refused("search", query="x", filters={"autor": "y"})["code"] == (
        "unknown_filter"
    )
    assert "Did you mean search?" in agent.refused("serach", query="x")["message"]
    assert agent.refused("get_entries", refs=["OPS-none"])["code"] == "not_found"
    assert agent.refused("search", query="x", mode="no")["code"] == "unknown_mode"


def test_keys_and_scopes_are_those_of_rest(served: Served):
    assert Agent(served, ERAS[1], "").refused("search", query="x")["code"] == (
        "auth_required"
    )
    garbage = Agent(served, ERAS[1], "lk_x_y")
    assert garbage.refused("search", query="x")["code"] == "auth_invalid"
    reader = Agent(served, ERAS[1], served.key("read"))
    assert reader.refused("search", query="x")["code"] == "scope_missing"
    stranger = Agent(served, ERAS[1], served.key(tenant="elsewhere"))
    assert stranger.result("search", query="cavity")["results"] == []
    assert stranger.refused("get_entries", refs=["api/OPS-3"])["code"] == "not_found"


@pytest.fixture
def agent_http(served: Served) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {served.key()}"}
    with httpx2.Client(headers=headers, timeout=40) as client:
        yield client


def post(served: Served, client: httpx2.Client, **params: Any) -> httpx2.Response:
    """Call a tool as the documentation does: one POST, no session."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "8"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    return client.post(
        served.url,
        json={**body, "params": {**params, "_meta": meta}},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": params["name"],
        },
    )


def test_one_post_is_enough(served: Served, agent_http: httpx2.Client):
    answer = post(
        served, agent_http, name="search", arguments={"query": "cavity", "limit": 1}
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    result = answer.json()["result"]
    assert json.loads(result["content"][0]["text"])["results_found"] == 1


def test_an_argument_of_a_megabyte_is_refused_at_once(
    served: Served, agent_http: httpx2.Client
):
    took = []
    for _ in range(3):
        began = time.perf_counter()
        large = {"query": "x" * 1_000_000}
        answer = post(served, agent_http, name="search", arguments=large)
        took.append(time.perf_counter() - began)
        assert answer.status_code == 413
    # 50 ms, and what it takes to write and send it on a machine that is not idle.
    assert min(took) < 0.15


def test_a_restart_between_two_calls_costs_none(served: Served):
    agent = Agent(served, ERAS[1])
    assert agent.result("search", query="cavity", limit=1)["results_found"] == 1
    served.system.stop("mcp")
    served.start()
    assert agent.result("search", query="cavity", limit=1)["results_found"] == 1


def test_over_stdio_one_client_is_served_with_the_key_of_its_environment(
    served: Served,
):
    async def session() -> Any:
        command = StdioServerParameters(
            command=str(BIN / "logchord"),
            args=["serve", "mcp", "--stdio"],
            env={
                **served.system.environment,
                "LOGCHORD_URL": served.system.url,
                "LOGCHORD_API_KEY": served.key(),
            },
        )
        async with Client(command) as client:
            return await client.call_tool("search", {"query": "cavity", "limit": 2})

    found = asyncio.run(session())
    assert json.loads(found.content[0].text)["results_found"] == 2


@pytest.mark.slow
def test_clients_that_vanish_leave_no_job_behind(served: Served):
    async def vanish() -> None:
        key = served.key()
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=40) as http:

            async def one(number: int) -> None:
                async with Client(
                    streamable_http_client(served.url, http_client=http),
                    mode=ERAS[1],
                ) as client:
                    arguments = {"query": f"cavity {number}", "mode": "hybrid"}
                    await client.call_tool("search", arguments)

            tasks = [asyncio.create_task(one(number)) for number in range(100)]
            await asyncio.wait(tasks, timeout=0.3)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(vanish())
    with served.system.client(served.key()) as rest:

        def running() -> int:
            items = rest.get("/v1/search/jobs").json()["items"]
            return sum(one["state"] in {"queued", "running"} for one in items)

        until(lambda: running() == 0, within_seconds=10, what="jobs to end")
    assert Agent(served, ERAS[1]).result("search", query="cavity")["results"]


@pytest.mark.slow
@pytest.mark.alone
def test_a_call_takes_little_more_than_the_request_that_it_is(served: Served):
    key = served.key()
    asked = {"query": "cavity tripped", "mode": "hybrid", "limit": 5}
    with (
        served.system.client(key) as rest,
        httpx2.Client(headers={"Authorization": f"Bearer {key}"}, timeout=40) as agent,
    ):
        by_rest, by_mcp = [], []
        for _ in range(60):
            began = time.perf_counter()
            body = {**asked, "synthesize": False, "detail": "brief"}
            rest.post("/v1/search/query", json=body).raise_for_status()
            by_rest.append(time.perf_counter() - began)
            began = time.perf_counter()
            answer = post(served, agent, name="search", arguments=asked)
            assert answer.status_code == 200
            by_mcp.append(time.perf_counter() - began)
    rest_ms, mcp_ms = (1000 * statistics.median(one) for one in (by_rest, by_mcp))
    told = f"p50 of MCP {mcp_ms:.1f} ms, of REST {rest_ms:.1f} ms"
    assert mcp_ms <= 1.5 * rest_ms + 6, told
