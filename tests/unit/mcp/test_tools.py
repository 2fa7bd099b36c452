"""The tools as they are described, and what they make of wrong arguments."""

import asyncio
import json
from typing import Any

import httpx2
import jsonschema
import pytest

from api.mcp.mcp_server import _described
from api.mcp.more_tools import find_tool
from api.mcp.rest_calls import RestCalls
from api.mcp.tools import BASIC_TOOLS
from shared.errors import InvalidRequestError
from shared.search.retrieval.modules import os_bm25, pg_fts
from shared.settings.sections import McpSettings

BY_NAME = {one.name: one for one in BASIC_TOOLS}


@pytest.mark.requirement("O09")
def test_eight_tools_are_described_in_six_kilobytes():
    listed = [
        _described(one).model_dump(by_alias=True, exclude_none=True, mode="json")
        for one in BASIC_TOOLS
    ]
    assert list(BY_NAME) == [
        *("search", "ask", "get_entries", "get_thread", "browse", "find_similar"),
        *("filter_values", "explain"),
    ]
    assert len(json.dumps({"tools": listed})) <= 6144
    for one in listed:
        assert one["inputSchema"]["additionalProperties"] is False
        assert one["annotations"] == {"readOnlyHint": True, "idempotentHint": True}


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("search", {"querry": "x"}, "Did you mean query?"),
        ("search", {}, "query"),
        ("search", {"query": 3}, "query"),
        ("search", {"query": "x", "limit": "many"}, "limit"),
        ("search", {"query": "x", "limit": 101}, "limit"),
        ("search", {"query": "x", "max_chars": 999}, "max_chars"),
        ("search", {"query": "x", "filters": "author"}, "filters"),
        ("get_entries", {"refs": []}, "refs"),
        ("get_entries", {"refs": ["1"] * 51}, "refs"),
        ("get_thread", {"reff": "1"}, "Did you mean ref?"),
        ("explain", {"job_id": None}, "job_id"),
    ],
)
def test_a_wrong_argument_is_named(name: str, given: dict[str, Any], said: str):
    with pytest.raises(InvalidRequestError, match=said.replace("?", r"\?")):
        BY_NAME[name].read(given)


def test_a_whole_number_may_have_a_point_as_json_schema_says():
    given = {"query": "x", "limit": 3.0, "max_chars": 2000.0}
    jsonschema.validate(given, BY_NAME["search"].schema)
    asked: Any = BY_NAME["search"].read(given)
    assert (asked.limit, asked.max_chars) == (3, 2000)
    with pytest.raises(InvalidRequestError, match="limit"):
        BY_NAME["search"].read({"query": "x", "limit": 3.5})


MODES: dict[str, dict[str, Any]] = {
    "keyword_search": {},
    "semantic_search": {"similarity_threshold": 0.4},
    "agentic_search": {"validate": True},
}


def answer_of_rest(request: httpx2.Request) -> httpx2.Response:
    """Answer as REST does, as far as a tool of a mode reads it."""
    if request.url.path == "/v1/capabilities":
        modes = [
            {"name": name.removesuffix("_search"), "description": "-", "enabled": True}
            for name in MODES
        ]
        return httpx2.Response(200, json={"modes": modes})
    asked = json.loads(request.content)
    answered = asked["synthesize"] == "deterministic"
    body: dict[str, Any] = {
        **dict.fromkeys(("as_of", "job_id", "context_answer")),
        **{name: [] for name in ("results", "branches", "diagnostics", "citations")},
        "method_used": json.dumps(asked),
        "degraded": False,
        "answer": "On arc [#OPS-1@1]." if answered else None,
        "answer_source": "deterministic" if answered else None,
    }
    return httpx2.Response(200, json=body)


def asked_by_mode(name: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return what a tool of a mode asks of REST, and what it tells."""
    transport = httpx2.MockTransport(answer_of_rest)
    rest = RestCalls(httpx2.AsyncClient(transport=transport, base_url="http://api"))

    async def call() -> Any:
        tool = await find_tool(McpSettings(tools="all"), rest, name)
        return await tool.run(rest, tool.read(given))

    told = asyncio.run(call())
    return json.loads(told["mode"]), told


@pytest.mark.parametrize(("name", "own"), MODES.items())
def test_a_mode_takes_what_is_its_own_and_no_other_does(name: str, own: dict[str, Any]):
    asked, _ = asked_by_mode(name, {"query": "rf", "sort": "newest", **own})
    assert asked.items() >= {"sort": "newest", **own}.items()
    for other, others in MODES.items():
        if other != name:
            for argument in others:
                assert argument not in asked
                with pytest.raises(InvalidRequestError, match=argument):
                    asked_by_mode(name, {"query": "rf", **others})


@pytest.mark.requirement("O01")
def test_a_search_by_words_takes_up_to_fifty_and_ten_unless_told():
    for most in (1, 50):
        asked, _ = asked_by_mode("keyword_search", {"query": "rf", "limit": most})
        assert asked["limit"] == most
    assert asked_by_mode("keyword_search", {"query": "rf"})[0]["limit"] == 10
    for wrong in (0, 51):
        with pytest.raises(InvalidRequestError, match="limit"):
            asked_by_mode("keyword_search", {"query": "rf", "limit": wrong})
    for module in (pg_fts, os_bm25):
        takes = module.get_tool_descriptor().args_schema.model_json_schema()
        limit = takes["properties"]["limit"]
        assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 50, 10)


def test_a_question_of_several_parts_is_answered_in_sentences_of_entries():
    asked, told = asked_by_mode("agentic_search", {"query": "rf"})
    assert asked["synthesize"] == "deterministic"
    assert told["answer"] == "<logbook-text>On arc [#OPS-1@1].</logbook-text>"
    assert "answer" not in asked_by_mode("keyword_search", {"query": "rf"})[1]


def test_an_order_that_there_is_not_is_refused():
    with pytest.raises(InvalidRequestError, match="sort"):
        asked_by_mode("keyword_search", {"query": "rf", "sort": "date"})


def test_what_makes_an_entry_is_not_said_to_be_the_same_twice():
    settings = McpSettings(tools="all", write=True)
    transport = httpx2.MockTransport(answer_of_rest)
    rest = RestCalls(httpx2.AsyncClient(transport=transport, base_url="http://api"))
    tool = asyncio.run(find_tool(settings, rest, "entry_create"))
    described = _described(tool).model_dump(by_alias=True, mode="json")
    assert described["annotations"]["idempotentHint"] is False
