"""`logchord search --mode agentic` in a terminal, and `agentic_search` in Python."""

import inspect
from typing import Any

import httpx2
import pytest

from api import agentic as python
from api.cli import api_client
from api.cli.search import agentic

HIT: dict[str, Any] = {
    "entry_id": "01a2",
    "rank": 1,
    "title": "Gate valve 8",
    "content": "It closed.",
    "source_uri": "logchord:default/api/OPS-2",
    "found_by": ["gate valve"],
    "multi_source": False,
    "validation_score": 0.874,
    "scores": {"rrf": 0.0355},
}
ANSWER: dict[str, Any] = {
    "query": "gate valve and air",
    "sub_queries": ["gate valve and air", "gate valve"],
    "decomposed": True,
    "results": [HIT, {**HIT, "rank": 2, "title": "", "validation_score": None}],
    "meta": {"total_candidates": 7, "returned": 2, "sub_query_count": 2},
    "plan": {"limit": 3},
    "score_trace": [],
}


@pytest.mark.requirement("S3-41", "S3-45")
def test_a_hit_that_nobody_has_compared_says_so() -> None:
    assert [*agentic.lines(ANSWER)] == [
        'AGENTIC SEARCH: "gate valve and air"',
        "=" * 60,
        "   Decomposed into 2 sub-queries:",
        '      1. "gate valve and air"',
        '      2. "gate valve"',
        "   7 unique candidates found \u2192 returning top 2",
        "<logchord_grounding>",
        "  1. [RRF:0.0355 V:0.87] Gate valve 8",
        "        path: logchord:default/api/OPS-2",
        "        Found by: ['gate valve']",
        "  2. [RRF:0.0355 V:-] (no title)",
        "        path: logchord:default/api/OPS-2",
        "        Found by: ['gate valve']",
        "</logchord_grounding>",
    ]


@pytest.mark.requirement("S3-07")
def test_python_calls_it_as_other_software_does(monkeypatch) -> None:
    taken = inspect.signature(python.agentic_search).parameters.values()
    assert [(one.name, one.default) for one in taken] == [
        ("query", inspect.Parameter.empty),
        ("limit", 10),
        ("validate", True),
        ("debug", False),
    ]
    asked: list[dict[str, Any]] = []

    def call(_: httpx2.Client, method: str, path: str, *, json: Any) -> dict[str, Any]:
        asked.append({"method": method, "path": path, **json})
        return ANSWER

    monkeypatch.setattr(api_client, "call", call)
    monkeypatch.setattr(api_client, "open_client", lambda _: httpx2.Client())
    plain = python.agentic_search("gate valve and air")
    more = python.agentic_search("gate valve and air", 3, False, True)  # noqa: FBT003
    assert [(one["limit"], one["validate"], one["debug"]) for one in asked] == [
        (10, True, False),
        (3, False, True),
    ]
    assert {one["mode"] for one in asked} == {"agentic"}
    assert plain.keys() == {"results", "sub_queries", "decomposed", "meta"}
    assert (more["plan"], more["score_trace"]) == ({"limit": 3}, [])
    assert [one.rrf_score for one in plain["results"]] == [0.0355, 0.0355]
