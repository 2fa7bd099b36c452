"""The thinnest path through the whole system, on real servers, from outside."""

import pytest

from tests.support.waiting import until
from tests.support.written import ok


def search(client, query, mode="hybrid", **fields):
    return ok(
        client.post(
            "/v1/search/query",
            json={"query": query, "mode": mode, "limit": 10, **fields},
        )
    )


def found(client, query, external_id, mode="hybrid"):
    body = search(client, query, mode)
    return body if external_id in str(body["results"]) else None


@pytest.mark.requirement("S0-32")
def test_an_entry_is_stored_enriched_indexed_and_found_by_words_and_meaning(client):
    posted = client.post(
        "/v1/entries?wait_for=index&wait_ms=20000",
        json={
            "source": "operations",
            "external_id": "OPS-77",
            "title": "RF trip",
            "text": "SR RF cavity 2 tripped on arc, beam lost, refilled after reset.",
            "author": "J. Ruiz",
            "logbook": "Operations",
        },
    )
    assert posted.status_code == 201, posted.text
    assert posted.json()["indexed"] is True

    for mode, query in (
        ("keyword", "cavity tripped"),
        ("semantic", "the accelerating structure sparked"),
        ("hybrid", "cavity arc"),
    ):
        body = until(
            lambda mode=mode, query=query: found(client, query, "OPS-77", mode),
            within_seconds=10,
            what=f"{mode} {query}",
        )
        assert body["state"] == "done"
        assert body["degraded"] is False
        statuses = {one["name"]: one["status"] for one in body["branches"]}
        expected = {
            "keyword": {"os_bm25": "ok"},
            "semantic": {"semantic": "ok"},
            "hybrid": {"os_bm25": "ok", "semantic": "ok"},
        }
        assert statuses == expected[mode]

    address = f"/v1/entries/{posted.json()['entry_id']}"
    until(
        lambda: set(client.get(address).json()["stages"].values()) == {"done"},
        within_seconds=10,
        what="every stage done",
    )
    assert client.get(address).json()["language"] == "en"


def test_the_same_entry_twice_is_one_entry(client):
    body = {"source": "operations", "external_id": "OPS-78", "text": "Vacuum leak."}

    first = client.post("/v1/entries", json=body)
    second = client.post("/v1/entries", json=body)

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["status"] == "unchanged"
    assert client.get("/v1/entries?external_id=OPS-78").json()["total"] == 1


@pytest.mark.requirement("SEC2")
def test_another_facility_finds_nothing_of_it(client, running):
    client.post(
        "/v1/entries?wait_for=index&wait_ms=20000",
        json={"source": "operations", "external_id": "OPS-79", "text": "Klystron."},
    )
    until(
        lambda: found(client, "klystron", "OPS-79", "keyword"),
        within_seconds=10,
        what="its own search",
    )

    with running.client(running.key(tenant="elsewhere")) as stranger:
        for mode in ("keyword", "semantic", "hybrid"):
            assert search(stranger, "klystron", mode)["results"] == []
        entry_id = client.get("/v1/entries").json()["items"][0]["entry_id"]
        assert stranger.get(f"/v1/entries/{entry_id}").status_code == 404


def test_a_fresh_system_answers_undegraded_before_its_first_entry(
    make_system, opensearch
):
    system = make_system(opensearch=opensearch.url, afresh=True)
    system.start("api", "search", "upkeep")
    system.wait_ready("search", "upkeep")

    with system.client() as client:
        body = until(
            lambda: (
                answer
                if not (answer := search(client, "beam", "keyword"))["degraded"]
                else None
            ),
            within_seconds=20,
            what="an index that upkeep makes",
        )

    assert body["results"] == []
    assert body["branches"][0]["status"] == "empty"
