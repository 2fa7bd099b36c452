"""MCP by the SDK's own client in both eras, by one raw POST, and over stdio."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from api.mcp.result_size import DEFAULT_CHARS, LEAST_CHARS
from api.mcp.tools import BASIC_TOOLS
from tests.support.fixtures.system import BIN
from tests.support.mcp_agent import ENTRIES, ERAS, Agent, Served, post
from tests.support.waiting import until


@pytest.mark.requirement("O09", "S2-01")
def test_eight_tools_are_listed_in_six_kilobytes(agent: Agent):
    listed = agent.ask(lambda client: client.list_tools())
    assert [one.name for one in listed.tools] == [one.name for one in BASIC_TOOLS]
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
    pinned = f"{first['permalink']}@1"
    assert agent.result("get_entries", refs=[pinned])["entries"] == [whole]
    later = agent.refused("get_entries", refs=[f"{first['permalink']}@2"])
    assert later["code"] == "not_found"
    some = agent.result("get_entries", refs=["OPS-none", first["permalink"]])
    assert (some["entries"], some["missing"]) == ([whole], ["OPS-none"])
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
    author = values["options"][0]["value"]
    assert author == first["author"] == "J. Ruiz"
    # A filter takes what was told as it was told, with marks too.
    marked = f"<logbook-text>{author}</logbook-text>"
    copied = agent.result("browse", filters={"author": marked})
    assert copied["total"] == ENTRIES
    assert agent.result("filter_values", field="author", prefix=marked)["options"]
    words = f'cavity author:"{marked}"'
    assert agent.result("search", query=words, filters={"author": marked})["results"]
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
    job_id = agent.result("search", query="cavity")["job_id"]
    for name, arguments in (
        ("search", {"query": "cavity", "limit": 12, "detail": "full"}),
        ("get_entries", {"refs": [f"OPS-{number}" for number in range(10)]}),
        ("ask", {"question": "Why did RF cavity 3 trip?"}),
        ("browse", {}),
        ("get_thread", {"ref": "OPS-3"}),
        ("find_similar", {"ref": "OPS-3"}),
        ("explain", {"job_id": job_id}),
        ("explain", {"job_id": job_id, "entry": "OPS-3"}),
    ):
        found = agent.call(name, **arguments, max_chars=most)
        text = found.content[0].text
        assert not found.is_error, text
        assert len(text) <= most
        assert set(json.loads(text)["cut"]) == {"entries", "chars"}
    # This one takes no `max_chars`.
    values = agent.call("filter_values", field="author").content[0].text
    assert len(values) <= DEFAULT_CHARS
    wrong = {"filters": {"x" * 5000: "y"}, "max_chars": most}
    refused = agent.call("search", query="cavity", **wrong)
    assert refused.is_error
    assert len(refused.content[0].text) <= most
    assert json.loads(refused.content[0].text)["error"]["code"] == "unknown_filter"


def test_where_nothing_is_found_it_is_said_what_kept_hits_out(agent: Agent):
    found = agent.result("search", query="RF trip", end_date="1990-01-01")
    assert found["results"] == []
    assert f"Without the filters {ENTRIES} match." in found["summary"]
    assert "summary" not in agent.result("search", query="RF trip")


def test_what_is_wrong_is_an_error_that_names_what_is_right(agent: Agent):
    assert "Did you mean query?" in agent.refused("search", querry="x")["message"]
    assert agent.refused("search", query=7)["code"] == "validation_failed"
    assert agent.refused("search", query="x", start_date="soon")["code"]
    for said in (
        {"start_date": "2026-01-01", "filters": {"date_from": "2026-02-01"}},
        {"end_date": "2026-01-01", "filters": {"time_range": ["2026-02-01", None]}},
        {"exclude_entry_ids": ["x"], "filters": {"exclude_entry_ids": ["y"]}},
    ):
        assert "given twice" in agent.refused("search", query="x", **said)["message"]
    assert agent.refused("search", query="x", filters={"autor": "y"})["code"] == (
        "unknown_filter"
    )
    assert "Did you mean search?" in agent.refused("serach", query="x")["message"]
    for refs in (["OPS-none"], ["OPS-none", "OPS-no"]):
        assert agent.refused("get_entries", refs=refs)["code"] == "not_found"
    assert agent.refused("search", query="x", mode="no")["code"] == "unknown_mode"


def test_keys_and_scopes_are_those_of_rest(served: Served):
    assert Agent(served, ERAS[1], "").refused("search", query="x")["code"] == (
        "auth_required"
    )
    garbage = Agent(served, ERAS[1], "lk_x_y")
    assert garbage.refused("search", query="x")["code"] == "auth_invalid"
    reader = Agent(served, ERAS[1], served.key("read"))
    assert reader.refused("search", query="x")["code"] == "scope_missing"


def test_one_post_is_enough(served: Served, agent_http: httpx2.Client):
    answer = post(
        served, agent_http, name="search", arguments={"query": "cavity", "limit": 1}
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    result = answer.json()["result"]
    assert json.loads(result["content"][0]["text"])["results_found"] == 1


def test_over_stdio_one_client_is_served_with_the_key_of_its_environment(served):
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
            large = {"query": "x" * 1_000_000}
            refused = await client.call_tool("search", large)
            found = await client.call_tool("search", {"query": "cavity", "limit": 2})
            return refused, found

    refused, found = asyncio.run(session())
    assert refused.is_error
    assert len(refused.content[0].text) <= DEFAULT_CHARS
    assert json.loads(refused.content[0].text)["error"]["code"] == "validation_failed"
    assert json.loads(found.content[0].text)["results_found"] == 2
