"""Each mode has a deadline of its own, and whoever is late by then is told as late."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

QUERY = "/v1/search/query"
GRACE_SECONDS = 1.0
# What is asked, the mode that answers, its deadline and its branches.
MODES = (
    ({"mode": "keyword"}, "keyword", 2.0, {"os_bm25"}),
    ({"mode": "semantic"}, "semantic", 2.0, {"semantic"}),
    ({"mode": "hybrid"}, "hybrid", 3.0, {"os_bm25", "semantic"}),
    ({"mode": "auto"}, "hybrid", 3.0, {"os_bm25", "semantic"}),
    # A name is asked for by words alone.
    ({"mode": "auto", "query": "SR:C01-RF"}, "keyword", 2.0, {"os_bm25"}),
)


def asked(client: httpx2.Client, fault: str, **fields: Any) -> tuple[Any, float]:
    """Return what is answered, and how long it took."""
    body = {"query": "magnet tripped", **fields}
    began = time.monotonic()
    answer = client.post(QUERY, json=body, headers={"X-Logchord-Fault": fault})
    return answer, time.monotonic() - began


def statuses(branches: list[dict[str, Any]]) -> dict[str, str]:
    return {one["name"]: one["status"] for one in branches}


def test_every_mode_ends_by_its_own_deadline_and_names_who_was_late(admin) -> None:
    def late(case: tuple[dict[str, Any], str, float, set[str]]) -> tuple[Any, float]:
        return asked(admin, "branch=*;delay_ms=60000", **case[0])

    with ThreadPoolExecutor(len(MODES)) as pool:
        answers = list(pool.map(late, MODES))
    for (_, _, seconds, names), (answer, took) in zip(MODES, answers, strict=True):
        told = answer.json()["error"]
        assert (answer.status_code, told["code"]) == (504, "search_timeout")
        found = statuses(told["details"]["branches"])
        assert names <= found.keys()
        assert set(found.values()) == {"timeout"}
        # Not before its time either, but for what is kept to answer in it.
        assert seconds - 0.6 < took < seconds + GRACE_SECONDS


@pytest.mark.parametrize("mode", ["hybrid", "auto"])
@pytest.mark.parametrize("slow", ["keyword", "semantic"])
def test_of_two_branches_the_late_one_is_a_timeout_and_the_other_answers(
    admin: httpx2.Client, mode: str, slow: str
) -> None:
    fault = f"branch={slow};delay_ms=60000"
    # Long enough for the other one, with a lane of tests beside.
    answer, took = asked(admin, fault, mode=mode, deadline_ms=3000)
    told = answer.json()
    assert (answer.status_code, told["state"]) == (200, "partial")
    found = statuses(told["branches"])
    late = {"os_bm25", "pg_fts"} if slow == "keyword" else {"semantic"}
    assert {name for name in found if found[name] == "timeout"} <= late
    assert "timeout" in found.values()
    assert took < 3.0 + GRACE_SECONDS
