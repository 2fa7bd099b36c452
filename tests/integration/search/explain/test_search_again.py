"""An ended search over HTTP: why an entry is not in it, and the same asked again."""

from typing import Any

import httpx2
import psycopg
import pytest

from shared.access.keys import create_key
from tests.support.waiting import until
from tests.support.written import ok

QUERY, JOBS = "/v1/search/query", "/v1/search/jobs"


@pytest.fixture
def logbook(admin: httpx2.Client) -> httpx2.Client:
    """A facility with three entries, one of them for others."""
    texts = {"trip": "klystron 3 tripped", "pump": "vacuum pump replaced"}
    entries: list[dict[str, Any]] = [
        {"source": "api", "external_id": name, "text": text}
        for name, text in texts.items()
    ]
    secret = {"source": "api", "external_id": "secret", "text": "klystron 9 tripped"}
    entries.append({**secret, "readers": ["ben"]})
    assert admin.post("/v1/entries", json={"entries": entries}).status_code < 300

    def found() -> bool:
        body = search(admin, query="klystron OR pump", mode="hybrid")
        names = {one["external_id"] for one in body.get("results", ())}
        branches = {one for hit in body.get("results", ()) for one in hit["found_by"]}
        return names == set(texts) and branches == {"os_bm25", "semantic"}

    until(found, within_seconds=60, what="both entries in every branch")
    return admin


def search(client: httpx2.Client, **body: Any) -> dict[str, Any]:
    return client.post(QUERY, json=body).json()


def stored(client: httpx2.Client, job_id: str) -> None:
    """Wait until an answer that was told is kept as well."""
    until(lambda: client.get(f"{JOBS}/{job_id}").status_code == 200, within_seconds=10)


def why(client: httpx2.Client, job_id: str, entry: str) -> dict[str, Any]:
    return ok(client.get(f"{JOBS}/{job_id}/why-not", params={"entry": entry}))


def test_the_step_that_left_an_entry_out_is_named(logbook):
    body = search(logbook, query="klystron AND tripped", mode="keyword")
    assert [one["highlights"] for one in body["results"]] == [
        ["<b>klystron</b> 3 <b>tripped</b>"]
    ]
    job_id = body["job_id"]
    stored(logbook, job_id)
    assert why(logbook, job_id, "api/trip")["gate"] == "returned"
    missing = why(logbook, job_id, "pump")
    assert missing["gate"] == "no_match"
    assert missing["explanation"] == "It does not have 'klystron', 'tripped'."
    hybrid = search(logbook, query="klystron tripped", mode="semantic", limit=1)
    stored(logbook, hybrid["job_id"])
    # Whatever the model thinks of pumps.
    assert why(logbook, hybrid["job_id"], "pump")["gate"] in {
        "below_limit",
        "below_similarity",
    }


@pytest.mark.requirement("P10", "U21")
def test_nobody_learns_of_what_is_not_theirs(logbook, running, tenant):
    body = search(logbook, query="klystron", mode="keyword")
    job_id = body["job_id"]
    stored(logbook, job_id)
    absent = why(logbook, job_id, "api/none")
    assert absent["gate"] == "not_found"
    assert why(logbook, job_id, "api/secret") == absent

    with psycopg.connect(running.database) as conn:
        scopes = ("search",)
        ben = create_key(conn, tenant=tenant, name="x", subject="ben", scopes=scopes)
    other = running.key(tenant=f"{tenant}x")
    for token in (ben.token, other):
        with running.client(token) as client:
            looks = client.get(f"{JOBS}/{job_id}/why-not", params={"entry": "trip"})
            again = client.post(f"{JOBS}/{job_id}/replay")
        assert (looks.status_code, again.status_code) == (404, 404)
    with running.client(ben.token) as client:
        own = search(client, query="klystron", mode="keyword")
        stored(client, own["job_id"])
        assert why(client, own["job_id"], "api/secret")["gate"] == "returned"


@pytest.mark.requirement("I06")
def test_the_same_again_is_the_same_until_an_entry_is_edited(logbook):
    body = search(logbook, query="klystron", mode="semantic")
    assert body["replayable"] is True
    job_id = body["job_id"]
    stored(logbook, job_id)
    first = replayed(logbook, job_id)
    assert (first["of"], first["same"]) == (job_id, True)
    assert first["old_hash"] == first["new_hash"] == body["stability_hash"]
    assert first["changed"] == []

    edited = {"source": "api", "external_id": "trip", "text": "klystron 3 is back"}
    answer = logbook.post("/v1/entries", json=edited)
    assert answer.json()["revision"] == 2

    def is_embedded() -> bool:
        found = search(logbook, query="klystron 3 is back", mode="semantic")
        return any("back" in one["content"] for one in found["results"])

    until(is_embedded, within_seconds=30, what="the new revision")
    second = replayed(logbook, job_id)
    assert {one["input"] for one in second["changed"]} == {"entry", "index_watermark"}


def replayed(client: httpx2.Client, job_id: str) -> dict[str, Any]:
    where = ok(client.post(f"{JOBS}/{job_id}/replay"), 202)["links"]["self"]
    found: dict[str, Any] = client.get(where, params={"wait_ms": 10_000}).json()
    assert found["ended_at"], found
    return found["replay"]


@pytest.mark.requirement("I05")
def test_an_empty_answer_says_among_how_much(logbook):
    body = search(logbook, query="unheardof", mode="keyword")
    assert body["results"] == []
    assert body["coverage"]["entries_in_window"] == 2
    assert body["context_answer"]["summary"] == "Nothing was found among 2 entries."
