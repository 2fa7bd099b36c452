"""The tools as they are described, and what they make of wrong arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.mcp.mcp_server import _described
from api.mcp.tools import EIGHT
from shared.errors import InvalidRequestError

BY_NAME = {one.name: one for one in EIGHT}


@pytest.mark.requirement("O09")
def test_eight_tools_are_described_in_six_kilobytes():
    listed = [
        _described(one).model_dump(by_alias=True, exclude_none=True, mode="json")
        for one in EIGHT
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
