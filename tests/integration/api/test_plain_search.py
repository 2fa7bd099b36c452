"""`POST /search`: the shape that its clients know, to the letter."""

import re
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.support.fixtures.system import System
from tests.support.waiting import until
from tests.support.written import ok

KEYS = ["results", "query", "method_used", "total_results", "synthesis", "citations"]
HIT_KEYS = ["content", "source", "relevance_score", "rank", "metadata"]
ENTRIES: list[dict[str, Any]] = [
    {
        "external_id": "OPS-77",
        "title": "RF trip",
        "text": "SR RF cavity 2 tripped on arc. Reset from the control room.",
        "author": "J. Ruiz",
        "category": "rf",
        "logbook": "Operations",
        "metadata": {"beam_mode": "top-up", "fill": 3},
        "entry_time": "2026-03-02T05:10:00+01:00",
    },
    {
        "external_id": "OPS-78",
        "text": "The arc detector of RF cavity 2 was replaced",
        "author": "K. Ito",
        "category": "rf",
        "entry_time": "2026-03-03T05:10:00+01:00",
    },
    {
        "external_id": "OPS-79",
        "text": "Cooling water of the vacuum pump is low",
        "entry_time": "2026-03-04T05:10:00+01:00",
    },
]


@pytest.fixture(scope="module")
def logbook(lasting_admin: httpx2.Client) -> httpx2.Client:
    """Three entries, found by words and by meaning, to be read."""
    return fill(lasting_admin)


@pytest.fixture
def changing(admin: httpx2.Client) -> httpx2.Client:
    """The same entries for one test, which adds to them."""
    return fill(admin)


def fill(admin: httpx2.Client) -> httpx2.Client:
    """Push three entries, and return the caller once words and meaning find them."""
    answer = admin.post(
        "/v1/entries", json={"entries": [{"source": "api", **one} for one in ENTRIES]}
    )
    assert answer.status_code < 300, answer.text

    def found() -> bool:
        asked = {"query": "arc cavity", "mode": "hybrid"}
        body = admin.post("/v1/search/query", json=asked).json()
        found_by = [hit["found_by"] for hit in body.get("results", [])[:2]]
        return found_by == [["os_bm25", "semantic"]] * 2

    until(found, within_seconds=60, what="the entries in every branch")
    return admin


def ask(client: httpx2.Client, **body: Any) -> dict[str, Any]:
    return ok(client.post("/search", json=body))


def test_what_is_no_filter_is_a_key_of_the_metadata_if_entries_have_it(logbook) -> None:
    def found(**filters: Any) -> list[str]:
        asked = {"query": "arc cavity", "method": "keyword", "filters": filters}
        body = ask(logbook, **asked)
        return [hit["source"].rpartition("/")[2] for hit in body["results"]]

    assert sorted(found()) == ["OPS-77", "OPS-78"]
    assert found(beam_mode="Top-Up") == ["OPS-77"]
    assert found(beam_mode="decay") == []
    assert found(fill=3, category="rf", **{"metadata.beam_mode": "top-up"}) == [
        "OPS-77"
    ]


def test_a_key_that_only_hidden_entries_have_is_no_filter(changing) -> None:
    hidden: dict[str, Any] = {
        "source": "api",
        "external_id": "OPS-80",
        "text": "arc",
        "readers": [],
        "metadata": {"secret_mode": "on"},
    }
    assert changing.post("/v1/entries", json=hidden).status_code < 300
    for name in ("secret_mode", "beam_mod", "beam", "beam_mode=top"):
        body = {"query": "arc", "filters": {name: "on"}}
        answer = changing.post("/search", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["code"] == "unknown_filter"


@pytest.mark.requirement("S1-45", "S1-46", "S1-55")
def test_the_answer_has_exactly_its_keys_in_their_order(
    logbook, lasting_tenant
) -> None:
    body = ask(logbook, query="rf cavity trip")
    assert list(body) == KEYS
    assert [list(hit) for hit in body["results"]] == [HIT_KEYS] * len(body["results"])
    first = next(h for h in body["results"] if h["source"].endswith("/OPS-77"))
    assert first["source"] == f"logchord:{lasting_tenant}/api/OPS-77"
    assert {**first["metadata"], "entry_id": "x"} == {
        "category": "rf",
        "date": "2026-03-02",
        "author": "J. Ruiz",
        "logbook": "Operations",
        "title": "RF trip",
        "entry_id": "x",
    }


@pytest.mark.requirement("S1-103", "S1-33")
def test_a_search_by_meaning(logbook: httpx2.Client) -> None:
    body = ask(logbook, query="rf cavity arc", method="vector", limit=5)
    assert 0 < body["total_results"] <= 5
    assert body["method_used"] == "vector"
    assert all(hit["relevance_score"] > 0 for hit in body["results"])
    assert [list(hit) for hit in body["results"]] == [HIT_KEYS] * len(body["results"])
    places = [hit["rank"] for hit in body["results"]]
    assert places == list(range(1, len(places) + 1))
    asked = {"query": "rf cavity arc", "mode": "semantic"}
    native = logbook.post("/v1/search/query", json=asked).json()["results"][0]
    first = body["results"][0]
    assert first["source"] == native["source_uri"]
    assert first["relevance_score"] == native["relevance_score"] <= 1
    # What the vectors said, as it is.
    assert native["calibration"] == "cosine_map"
    assert 0 < native["scores"]["cosine"] < 1


@pytest.mark.requirement("S1-104", "S1-49", "S1-38")
def test_a_hybrid_search_keeps_what_scores_enough_in_descending_order(logbook) -> None:
    asked = {"query": "arc detector rf cavity 2", "method": "hybrid", "limit": 10}
    every = ask(logbook, **asked)["results"]
    body = ask(logbook, **asked, min_relevance_score=0.6)
    scores = [hit["relevance_score"] for hit in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert [hit["rank"] for hit in every] == list(range(1, len(every) + 1))
    assert scores == [
        hit["relevance_score"] for hit in every if hit["relevance_score"] >= 0.6
    ]
    # Equal is kept.
    least = every[-1]["relevance_score"]
    edge = ask(logbook, **asked, min_relevance_score=least)
    assert len(edge["results"]) == len(every)


@pytest.mark.requirement("S1-105", "S1-52", "S1-07", "S1-59")
def test_the_synthesis_cites_the_results_by_their_place(logbook: httpx2.Client) -> None:
    asked = {"query": "arc detector of cavity 2", "limit": 5}
    body = ask(logbook, **asked, include_citations=True)
    marks = [f"[{n}]" for n in range(1, len(body["citations"]) + 1)]
    assert any(mark in body["synthesis"] for mark in marks)
    assert body["citations"] == [hit["source"] for hit in body["results"]]
    assert body["total_results"] == len(body["results"]) >= 2
    place = next(h["rank"] for h in body["results"] if h["source"].endswith("OPS-78"))
    assert f"RF cavity 2 was replaced [{place}]." in body["synthesis"]
    first, second = body["results"][:2]
    assert {first["source"][-6:], second["source"][-6:]} == {"OPS-77", "OPS-78"}
    for hit in (first, second):
        assert hit["metadata"].keys() >= {"category", "date", "author"}
        assert f"[{hit['rank']}]" in body["synthesis"]


@pytest.mark.requirement("S1-58", "C14")
def test_a_category_is_compared_and_a_date_is_a_beginning(logbook) -> None:
    asked = {"query": "cavity arc water"}
    given = {"category": "rf", "date_from": "2026-03-03"}

    def found(**filters: str) -> set[str]:
        results = ask(logbook, **asked, filters=filters)["results"]
        return {hit["source"][-6:] for hit in results}

    assert found(**given) == {"OPS-78"}
    assert found(category="rf") == {"OPS-77", "OPS-78"}
    assert found(date_from="2026-03-03") >= {"OPS-78"}
    assert found(date_from="2026-03-05") == set()


@pytest.mark.requirement("S1-27", "S1-50", "S1-53")
def test_of_more_than_are_wanted_so_many_are_given_and_five_are_read(admin) -> None:
    entries = [
        {"source": "api", "external_id": f"K-{n}", "text": f"Klystron {n} is off."}
        for n in range(12)
    ]
    answer = admin.post("/v1/entries", json={"entries": entries})
    assert answer.status_code < 300, answer.text
    asked = {"query": "klystron", "method": "keyword"}
    until(
        lambda: ask(admin, **asked, limit=100)["total_results"] == 12,
        within_seconds=60,
        what="twelve entries",
    )
    body = ask(admin, **asked)
    assert body["total_results"] == len(body["results"]) == len(body["citations"]) == 10
    marks = {int(one) for one in re.findall(r"\[(\d+)\]", body["synthesis"])}
    assert marks
    assert marks <= {1, 2, 3, 4, 5}


@pytest.mark.requirement("S1-08", "S1-37", "C13")
def test_one_request_asks_any_number_of_sources(changing: httpx2.Client) -> None:
    other = {**ENTRIES[0], "source": "operations", "logbook": "Linac"}
    assert changing.post("/v1/entries", json=other).status_code < 300

    def found(**filters: object) -> set[str]:
        asked = {"query": "arc control room"}
        results = ask(changing, **asked, filters=filters)["results"]
        return {"/".join(h["source"].split("/")[-2:]) for h in results}

    ours, theirs = "api/OPS-77", "operations/OPS-77"
    # One number in two sources is two entries, all of them asked unless said otherwise.
    until(lambda: found() >= {ours, theirs}, within_seconds=60, what="both of them")
    assert found(source="operations") == {theirs}
    assert found(source={"in": ["api", "operations"]}) >= {ours, theirs}
    assert found(logbook="Linac") == {theirs}
    assert theirs not in found(source="api")


@pytest.mark.requirement("C15")
def test_without_citations_the_synthesis_stays(logbook: httpx2.Client) -> None:
    asked = {"query": "arc detector of cavity 2"}
    body = ask(logbook, **asked, include_citations=False)
    assert body["citations"] == []
    assert "[1]" not in body["synthesis"]
    assert "RF cavity 2 was replaced." in body["synthesis"]


@pytest.mark.requirement("S1-60", "S1-51", "S1-40")
def test_nothing_found_is_an_answer(client: httpx2.Client) -> None:
    answer = client.post("/search", json={"query": "rf trip"})
    assert answer.json() == {
        "results": [],
        "query": "rf trip",
        "method_used": "hybrid",
        "total_results": 0,
        "synthesis": None,
        "citations": [],
    }
    assert "X-Logchord-Job" in answer.headers
    assert "X-Logchord-Degraded" not in answer.headers


@pytest.mark.requirement("S1-55")
def test_a_degraded_answer_says_so_in_its_headers(logbook: httpx2.Client) -> None:
    answer = logbook.post(
        "/search",
        json={"query": "cavity", "method": "hybrid"},
        headers={"X-Logchord-Fault": "branch=semantic;error=embedding_unavailable"},
    )
    assert answer.headers["X-Logchord-Degraded"] == "true"
    assert list(answer.json()) == KEYS


@pytest.mark.requirement("S1-18", "S1-39", "S1-41", "S1-42")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": 5},
        {"query": "x", "method": "semantic"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 101},
        {"query": "x", "min_relevance_score": -0.1},
        {"query": "x", "min_relevance_score": 1.1},
        {"query": "x", "filters": {"colour": "red"}},
        {"query": "x", "mode": "hybrid"},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_422_in_both_forms(client, body) -> None:
    answer = client.post("/search", json=body)
    assert answer.status_code == 422
    told = answer.json()
    assert list(told) == ["detail", "error"]
    assert told["detail"]
    fields = told["error"].get("details", {}).get("fields")
    assert told["detail"] == fields or told["error"]["id"] in told["detail"]


@pytest.mark.requirement("S1-56")
def test_a_search_whose_every_branch_failed_speaks_in_both_forms(logbook) -> None:
    answer = logbook.post(
        "/search",
        json={"query": "x"},
        headers={"X-Logchord-Fault": "branch=*;error=opensearch_unavailable"},
    )
    told = answer.json()
    assert (answer.status_code, told["error"]["code"]) == (503, "search_failed")
    assert told["detail"].startswith(told["error"]["message"])


def test_another_route_speaks_in_one_form(client: httpx2.Client) -> None:
    answer = client.post("/v1/search/query", json={"limit": 0})
    assert list(answer.json()) == ["error"]


@pytest.mark.requirement("P10")
def test_it_shows_nothing_of_another_facility(logbook, running) -> None:
    with running.client(running.key(tenant="stranger")) as stranger:
        body = ask(stranger, query="arc cavity")
    assert body["results"] == []


@pytest.mark.requirement("S1-105", "S4-29")
def test_a_question_typed_in_a_terminal_is_answered_with_its_sources(
    logbook: httpx2.Client, running: System, lasting_tenant: str
) -> None:
    key = running.key(tenant=lasting_tenant)
    typed = replace(
        running, environment={**running.environment, "LOGCHORD_API_KEY": key}
    )
    said = typed.run("ask", "why was RF cavity 2 reset?")
    assert "SR RF cavity 2 tripped on arc [1]." in said
    assert "[1] OPS-77  RF trip" in said
    refused = typed.run("ask", "why did RF cavity 7 trip?")
    assert "No entry that was found names cavity 7" in refused
    told = typed.run("ask", "what happened on 3 March 2026")
    assert "The arc detector of RF cavity 2 was replaced [1]." in told
    listed = typed.run("ask", "source:api")
    assert "api/OPS-79" in listed
    assert "Nothing was found" not in listed
