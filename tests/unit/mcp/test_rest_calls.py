"""What a tool makes of a search that goes on as a job."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from api.mcp.rest_calls import RestCalls, ToolError
from shared.errors import SearchTimeoutError

LATE = SearchTimeoutError(timeout_seconds=120, operation="agent").body()["error"]


def searched(state: str, response: Any) -> Any:
    """Return what is told of a search whose job ended so, late."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(202, json={"job_id": "j"})
        body = {"job_id": "j", "state": state, "response": response, "error": LATE}
        return httpx.Response(200, json=body)

    transport = httpx.MockTransport(answer)
    rest = RestCalls(httpx.AsyncClient(transport=transport, base_url="http://api"))
    return asyncio.run(rest.search({"query": "x"}))


def test_a_part_of_an_answer_is_told_and_a_failure_is_an_error():
    assert searched("partial", {"results": [1]}) == {"results": [1]}
    for state in ("failed", "partial"):
        with pytest.raises(ToolError):
            searched(state, None)
