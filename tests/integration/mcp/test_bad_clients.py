"""What is too large, restarts, clients that vanish, and what a call costs."""

import asyncio
import json
import statistics
import time
from typing import Any

import httpx2
import psycopg
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from shared.messaging import redis_clients
from shared.settings.settings import Settings
from tests.support.mcp_agent import ERAS, Agent, Served, post
from tests.support.waiting import until

LARGE = {"query": "x" * 1_000_000}


def test_an_argument_of_a_megabyte_is_refused(served, agent_http):
    answer = post(served, agent_http, name="search", arguments=LARGE)
    assert answer.status_code == 413
    # Its server goes on.
    answer = post(served, agent_http, name="search", arguments={"query": "cavity"})
    assert answer.status_code == 200


def test_whoever_only_listens_is_refused_and_the_log_says_whose_it_is(served):
    for headers in ({}, {"Authorization": f"Bearer {served.key()}"}):
        listens = {**headers, "Accept": "text/event-stream"}
        answer = httpx2.get(served.url, headers=listens, timeout=10)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["error"]["code"] == "method_not_allowed"
    log = (served.system.logs / "mcp.log").read_text(encoding="utf-8")
    assert {json.loads(one)["process"] for one in log.splitlines()} == {"mcp"}


@pytest.mark.slow
@pytest.mark.alone
def test_an_argument_of_a_megabyte_is_refused_at_once(served, agent_http):
    took = []
    for _ in range(9):
        began = time.perf_counter()
        answer = post(served, agent_http, name="search", arguments=LARGE)
        took.append(time.perf_counter() - began)
        assert answer.status_code == 413
    assert statistics.median(took) < 0.05, took


def test_a_restart_between_two_calls_of_one_client_costs_none(served, agent):
    async def over_a_restart(client: Client) -> list[Any]:
        asked = {"query": "cavity", "limit": 1}
        before = await client.call_tool("search", asked)
        await asyncio.to_thread(served.system.stop, "mcp")
        await asyncio.to_thread(served.start)
        return [before, await client.call_tool("search", asked)]

    for found in agent.ask(over_a_restart):
        assert not found.is_error, found.content[0].text
        assert found.structured_content["results_found"] == 1


@pytest.mark.slow
def test_clients_that_vanish_leave_no_job_behind(served: Served):
    key = served.key()
    settings = Settings.load(served.system.environment)
    broker = redis_clients.jobs_redis(settings)

    def in_flight() -> list[str]:
        """Return the ids of searches of this facility that have not ended."""
        keys = list(broker.scan_iter("job:*"))
        plans = [broker.hget(one, "job") for one in keys]
        return [
            one.removeprefix("job:")
            for one, plan in zip(keys, plans, strict=True)
            if plan and json.loads(plan)["tenant"] == served.tenant
        ]

    async def vanish() -> list[str]:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=40) as http:

            async def one(number: int) -> None:
                async with Client(
                    streamable_http_client(served.url, http_client=http), mode=ERAS[1]
                ) as client:
                    arguments = {"query": f"cavity {number}", "mode": "hybrid"}
                    await client.call_tool("search", arguments)

            before = set(in_flight())
            tasks = [asyncio.create_task(one(number)) for number in range(100)]
            sent = await asyncio.to_thread(
                until,
                lambda: len(new := {*in_flight()} - before) >= 20 and [*new],
                within_seconds=10,
                what="twenty searches in flight",
            )
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return sorted({*sent, *in_flight()} - before)

    # Whoever answers holds still, so that no search ends before its client vanishes.
    with served.system.frozen("search"):
        sent = asyncio.run(vanish())

    def ended() -> int:
        with psycopg.connect(served.system.database) as conn:
            row = conn.execute(
                "SELECT count(*) FROM job WHERE id = ANY(%s::uuid[])"
                " AND ended_at <= deadline_at + interval '1 s'",
                (sent,),
            ).fetchone()
        assert row is not None
        return int(row[0])

    until(lambda: ended() == len(sent), within_seconds=40, what="jobs to end in time")
    # Nor do they hold a place of the next one.
    last = Agent(served, ERAS[1], key)
    for number in range(10):
        assert last.result("search", query=f"cavity {number}")["results"]


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
