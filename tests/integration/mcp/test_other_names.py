"""The tools of `mcp.tools: all`, each called over a running system."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client

from api.mcp.mcp_server import make_server
from api.mcp.rest_calls import RestCalls
from api.mcp.tools import BASIC_TOOLS
from shared.settings.sections import McpSettings
from shared.settings.settings import Settings
from tests.support.mcp_agent import ERAS, Served

# Every name of the contract, with what it is called with and what it then tells.
BY_OTHER_NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "keyword_search": ({"query": "cavity", "author": "Ruiz", "limit": 50}, "results"),
    "semantic_search": ({"query": "cavity", "similarity_threshold": 0.1}, "results"),
    "hybrid_search": ({"query": "cavity", "source": "api"}, "results"),
    "agentic_search": ({"query": "cavity 3 and cavity 4"}, "results"),
    "entry_get": ({"refs": ["OPS-3"]}, "entries"),
    "entries_by_ids": ({"refs": ["OPS-3", "OPS-4"]}, "entries"),
    "thread_get": ({"ref": "OPS-3"}, "entries"),
    "similar_entries": ({"ref": "OPS-3"}, "results"),
    "changes": ({}, "items"),
    "filter_options": ({"field": "author"}, "options"),
    "capabilities": ({}, "version"),
    "status": ({}, "version"),
    "classify": ({"query": "rf trip last night"}, "plan"),
}


@pytest.mark.usefixtures("answering")
def test_every_other_name_of_the_contract_answers(served: Served):
    """By the server in this process, over REST as `--stdio` asks it."""
    headers = {"Authorization": f"Bearer {served.key()}"}
    given = {"tools": "all", "write": True}
    settings = Settings().model_copy(update={"mcp": McpSettings(**given)})

    async def session() -> dict[str, Any]:
        async with httpx2.AsyncClient(
            base_url=served.system.url, headers=headers, timeout=40
        ) as http:
            server = make_server(settings, lambda _: RestCalls(http))
            async with Client(server, mode=ERAS[1]) as client:
                known = (await http.get("/v1/capabilities")).json()["modes"]
                modes = {one["name"] for one in known if one["enabled"]} - {"auto"}
                assert modes >= {"keyword", "semantic", "hybrid", "agentic"}
                offered = {one.name for one in (await client.list_tools()).tools}
                eight = {one.name for one in BASIC_TOOLS}
                more = {"why_not", "entry_create"}
                searches = {f"{one}_search" for one in modes}
                assert offered == {*eight, *more, *BY_OTHER_NAMES, *searches}
                told = {
                    name: await client.call_tool(name, given)
                    for name, (given, _) in BY_OTHER_NAMES.items()
                }
                job_id = told["keyword_search"].structured_content["job_id"]
                about = {"job_id": job_id, "entry": "OPS-3"}
                told["why_not"] = await client.call_tool("why_not", about)
                entry = {"text": "Written by an agent.", "external_id": "AG-1"}
                made = await client.call_tool("entry_create", {"entry": entry})
                told["entry_create"] = made
                return told

    told = asyncio.run(session())
    for name, found in told.items():
        assert not found.is_error, (name, found.content[0].text)
        assert json.loads(found.content[0].text) == found.structured_content
    for name, (_, filled) in BY_OTHER_NAMES.items():
        assert told[name].structured_content[filled], name
    assert told["why_not"].structured_content["returned"] is True
    assert told["entry_create"].structured_content["status"] == "created"
