"""The MCP process of a running system, and clients of it by the SDK and by hand."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.fixtures.system import TRUSTED, System
from tests.support.waiting import until

ERAS = ("legacy", "2026-07-28")
ENTRIES = 12
# Of one reader, and of one logbook: whoever is neither learns nothing of them.
HIDDEN = ("HID-1", "HID-2")
SECRET = "Zirconium"


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
            return httpx2.get(address, timeout=2, verify=TRUSTED).status_code == 200
        except httpx2.TransportError:
            return False


class Agent:
    """An MCP client of one era that asks one thing at a time, with a key of its own."""

    def __init__(self, served: Served, era: str, key: str | None = None) -> None:
        self._url, self._era = served.url, era
        self._key = served.key() if key is None else key

    def ask(self, work: Callable[[Client], Any]) -> Any:
        async def session() -> Any:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=40, verify=TRUSTED) as http,
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
        return json.loads(found.content[0].text)["error"]


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
