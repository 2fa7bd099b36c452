"""The server by the SDK's own client in this process: what is refused, and how."""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from api.cli.commands import serve
from api.cli.output import USAGE, CommandError
from api.mcp import tools
from api.mcp.mcp_server import make_server
from api.mcp.rest_calls import RestCalls
from api.mcp.tool_contract import Arguments
from api.mcp.tools import BASIC_TOOLS, Search
from shared.errors import AccessError
from shared.settings.sections import McpSettings
from shared.settings.settings import Settings

ERAS = ("legacy", "2026-07-28")


def refuse(_: httpx2.Request) -> httpx2.Response:
    """Answer as REST answers whoever has no key."""
    error = AccessError()
    return httpx2.Response(error.status, json=error.body("r-1"))


def is_away(_: httpx2.Request) -> httpx2.Response:
    message = "refused"
    raise httpx2.ConnectError(message)


def ask(
    era: str,
    work: Callable[[Client], Any],
    answer: Callable[[httpx2.Request], httpx2.Response] = refuse,
    **mcp: Any,
) -> Any:
    """Ask a server whose API answers so."""
    transport = httpx2.MockTransport(answer)
    rest = RestCalls(httpx2.AsyncClient(transport=transport, base_url="http://api"))
    settings = Settings().model_copy(update={"mcp": McpSettings(**mcp)})

    async def session() -> Any:
        async with Client(make_server(settings, lambda _: rest), mode=era) as client:
            return await work(client)

    return asyncio.run(session())


@pytest.mark.parametrize("era", ERAS)
def test_a_refused_call_is_an_error_with_the_object_of_rest(era: str):
    found = ask(era, lambda client: client.call_tool("search", {"query": "x"}))
    assert found.is_error
    assert json.loads(found.content[0].text) == found.structured_content
    assert found.structured_content["error"]["code"] == "auth_required"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("uri", "code"),
    [("logchord://status", "auth_required"), ("logchord://stats", "not_found")],
)
def test_a_refused_resource_says_why(era: str, uri: str, code: str):
    async def read(client: Client) -> Any:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.data

    assert ask(era, read)["error"]["code"] == code


@pytest.mark.parametrize("era", ERAS)
def test_an_api_that_is_away_may_be_asked_again(era: str):
    asked = {"question": "why"}
    found = ask(era, lambda client: client.call_tool("ask", asked), is_away)
    assert found.is_error
    assert found.structured_content["error"]["severity"] == "RETRIABLE"


# Those of the contract besides the eight.
OTHER_NAMES = {
    *("keyword_search", "semantic_search", "hybrid_search", "agentic_search"),
    *("entry_get", "entries_by_ids", "thread_get", "similar_entries"),
    *("changes", "filter_options", "capabilities", "status", "classify", "why_not"),
}


def tell_modes(_: httpx2.Request) -> httpx2.Response:
    """Answer as REST tells its modes: one is a plug-in's, and one is off."""
    names = ("auto", "keyword", "semantic", "hybrid", "agentic", "pinned", "agent")
    modes = [
        {"name": name, "description": "-", "enabled": name != "agent"} for name in names
    ]
    return httpx2.Response(200, json={"modes": modes})


@pytest.mark.requirement("O09")
def test_all_tools_and_the_one_that_writes_are_there_where_settings_say_so():
    def names(**mcp: Any) -> set[str]:
        listed = ask(ERAS[1], lambda client: client.list_tools(), tell_modes, **mcp)
        return {
            one.name if one.annotations.read_only_hint else f"{one.name} (write)"
            for one in listed.tools
        }

    eight = {one.name for one in BASIC_TOOLS}
    assert names() == eight
    assert names(write=True) == {*eight, "entry_create (write)"}
    assert names(tools="all") == {*eight, *OTHER_NAMES, "pinned_search"}


def test_arguments_that_only_the_tool_itself_finds_wrong_are_an_error(monkeypatch):
    async def validate(_: RestCalls, __: Arguments) -> dict[str, Any]:
        return Search.model_validate({"query": "x", "sort": "date"}).model_dump()

    tool = replace(BASIC_TOOLS[0], run=validate)
    monkeypatch.setattr(tools, "BASIC_TOOLS", (tool,))
    found = ask(ERAS[1], lambda client: client.call_tool("search", {"query": "x"}))
    assert found.is_error
    told = found.structured_content["error"]
    assert told["details"]["fields"][0]["path"] == "sort"


def test_without_its_package_the_command_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    command = serve.mcp.callback
    assert command is not None
    for stdio in (False, True):
        with pytest.raises(CommandError, match=r"logchord\[mcp\]") as caught:
            command(stdio=stdio)
        assert caught.value.exit_code == USAGE
