"""What matches is shown where nobody says how much a hit must score."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import pytest

from local import sample
from tests.support.fixtures.system import System
from tests.support.waiting import are_worked_on, until

WORDS = [
    *("klystron", "beam", "vacuum", "injection", "undulator", "interlock"),
    *("vacuum leak", "gate valve", "Kühlwasser"),
]
NAMES = ["SW-12", "GV08", "LOTO-2026-0117", '"reflected power"']


@pytest.fixture(scope="module")
def sampled(running: System) -> Iterator[httpx2.Client]:
    """The sample logbook, as every stage leaves it."""
    with running.client(running.key(tenant="floors", scopes=("admin",))) as client:
        for page in sample.pages():
            client.post("/v1/entries", json={"entries": page}).raise_for_status()
        done = partial(are_worked_on, client)
        until(done, within_seconds=180, what="the sample logbook")
        # What the stages have written is found once the index has refreshed.
        again = client.post("/v1/entries?wait_for=index", json={"entries": page})
        assert again.json()["indexed"] is True
        yield client


def shown(client: httpx2.Client, query: str, **asked: Any) -> list[str]:
    """Return the sources of what the plain search shows by its defaults."""

    def whole() -> httpx2.Response | None:
        """Ask; a loaded machine may leave out a part in its time, and says so."""
        answer = client.post("/search", json={"query": query, **asked})
        answer.raise_for_status()
        return None if "X-Logchord-Degraded" in answer.headers else answer

    answer = until(whole, within_seconds=60, what="an answer with all of its parts")
    return [one["source"] for one in answer.json()["results"]]


def matching(client: httpx2.Client, query: str) -> set[str]:
    """Return the sources of all entries that have every word."""
    asked = {"query": query, "exhaustive": True, "limit": 100}
    answer = client.post("/v1/search/query", json=asked)
    answer.raise_for_status()
    return {one["source_uri"] for one in answer.json()["results"]}


@pytest.mark.requirement("S1-43")
@pytest.mark.parametrize("query", [*WORDS, *NAMES])
@pytest.mark.parametrize("method", ["keyword", "hybrid"])
def test_what_matches_is_shown_by_default(sampled, method, query) -> None:
    wanted = matching(sampled, query)
    found = shown(sampled, query, method=method, limit=100)
    assert wanted & set(found)
    if query in NAMES:
        assert set(found) >= wanted
    if method == "keyword":
        assert len(wanted & set(found)) >= min(10, len(wanted))


@pytest.mark.requirement("U18")
@pytest.mark.parametrize("query", NAMES)
def test_a_name_is_shown_whatever_a_caller_wants_of_a_score(sampled, query) -> None:
    wanted = matching(sampled, query)
    asked = {"query": query, "mode": "hybrid", "limit": 100}
    answer = sampled.post("/v1/search/query", json={**asked, "min_relevance_score": 1})
    results = {one["source_uri"]: one for one in answer.json()["results"]}
    assert results.keys() >= wanted
    assert {results[one]["confidence"] for one in wanted} == {"high"}
    assert min(one["relevance_score"] for one in results.values()) == 1


@pytest.mark.requirement("S1-49")
@pytest.mark.parametrize(
    "asked",
    [
        {"query": "-beam"},
        {"query": "source:maintenance"},
        {"query": "beam", "sort": "oldest"},
    ],
    ids=["negation", "field", "by time"],
)
def test_a_list_heeds_the_least_score_too(sampled, asked) -> None:
    body = {**asked, "limit": 100, "min_relevance_score": 1}
    told = sampled.post("/v1/search/query", json=body).json()
    assert len(told["results"]) > 20
    assert {one["relevance_score"] for one in told["results"]} == {1}
    assert {one["confidence"] for one in told["results"]} == {"none"}
    assert told["thresholds_applied"] == {"min_relevance_score": 1}
    following = sampled.get(
        f"/v1/search/jobs/{told['job_id']}/results",
        params={"cursor": told["next_cursor"]},
    )
    if told["next_cursor"]:
        assert {one["relevance_score"] for one in following.json()["items"]} == {1}
