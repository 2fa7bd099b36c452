"""Answers over all that match, through the whole system: by time, page after page."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.waiting import are_worked_on, until
from tests.support.written import ok, push_found

QUERY = "/v1/search/query"
JOBS = "/v1/search/jobs"
# More than a window holds, and several of one time.
COUNT = 73
# The longest that every mode takes: this is about what an answer holds, not how soon.
PATIENT = {"deadline_ms": 4000}


@pytest.fixture(scope="module")
def logbook(lasting_admin: httpx2.Client) -> httpx2.Client:
    """A facility with more entries of one word than a window has places, to be read."""
    return fill(lasting_admin)


@pytest.fixture
def shrinking(admin: httpx2.Client) -> httpx2.Client:
    """A facility of the same entries for one test, which takes some of them away."""
    return fill(admin)


def fill(admin: httpx2.Client) -> httpx2.Client:
    """Push all entries, and return the caller once they are found."""
    entries = [
        {
            "source": "api" if number % 3 else "operations",
            "external_id": f"E-{number:02d}",
            "text": f"klystron tripped, note {number}",
            "author": ("J. Ruiz", "A. Chen")[number % 2],
            "tags": ["rf"] if number % 4 else ["rf", "vacuum"],
            "entry_time": f"2026-03-{number // 5 + 1:02d}T05:31:10Z",
        }
        for number in range(COUNT)
    ]
    entries.append({"source": "api", "external_id": "other", "text": "a quiet night"})
    assert admin.post("/v1/entries", json={"entries": entries}).status_code < 300

    def found() -> bool:
        asked = {"query": "klystron", "mode": "keyword", "limit": 100, **PATIENT}
        body = admin.post(QUERY, json=asked).json()
        return bool(body.get("total_results") == COUNT) and are_worked_on(admin)

    until(found, within_seconds=60, what="all entries in the index, with meaning")
    return admin


def asked_of(client: httpx2.Client, **body: Any) -> dict[str, Any]:
    return ok(client.post(QUERY, json={**PATIENT, **body}))


def pages(client: httpx2.Client, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Read on from an answer to the end."""
    where = f"{JOBS}/{answer['job_id']}/results"
    cursor = answer["next_cursor"]
    while cursor:
        page = client.get(where, params={"cursor": cursor})
        if page.status_code == 404:
            # The answer is told first, and stored behind it.
            continue
        assert page.status_code == 200, page.text
        yield page.json()
        cursor = page.json()["next_cursor"]


@pytest.mark.requirement("U06")
@pytest.mark.parametrize("sort", ["newest", "oldest"])
@pytest.mark.parametrize("query", ["klystron tripped", "tag:rf"])
def test_a_search_by_time_pages_through_all_that_match_and_not_only_a_window(
    logbook: httpx2.Client, sort: str, query: str
) -> None:
    answer = asked_of(logbook, query=query, sort=sort, limit=10)
    assert [one["name"] for one in answer["branches"]] == ["newest"]
    assert answer["complete"] is False
    hits = [*answer["results"]]
    for page in pages(logbook, answer):
        hits += page["items"]
    assert {one["external_id"] for one in hits} == {f"E-{n:02d}" for n in range(COUNT)}
    assert len(hits) == COUNT
    places = [(one["entry_time"], one["entry_id"]) for one in hits]
    assert places == sorted(places, reverse=sort == "newest")
    assert [one["rank"] for one in hits] == list(range(1, COUNT + 1))
    scores = [one["relevance_score"] for one in hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_a_page_by_time_longer_than_the_window_leaves_nothing_out(logbook, sort):
    body = {"query": "klystron", "sort": sort}
    where = logbook.post(JOBS, json={**PATIENT, **body}).json()["links"]["self"]
    logbook.get(where, params={"wait_ms": 10_000})
    page = logbook.get(f"{where}/results", params={"limit": 100}).json()
    assert (len(page["items"]), page["removed"]) == (COUNT, 0)
    assert page["next_cursor"] is None


def test_a_page_by_time_shows_nothing_that_was_deleted_meanwhile(shrinking) -> None:
    answer = asked_of(shrinking, query="klystron", sort="oldest", limit=30)
    gone = asked_of(shrinking, query="note 40", mode="keyword")["results"][0]
    assert shrinking.delete(f"/v1/entries/{gone['entry_id']}").status_code < 300
    hits = [hit for page in pages(shrinking, answer) for hit in page["items"]]
    names = {hit["external_id"] for hit in (*answer["results"], *hits)}
    assert names == {f"E-{n:02d}" for n in range(COUNT)} - {gone["external_id"]}


def test_by_time_what_is_misspelt_is_found_on_every_page(logbook) -> None:
    answer = asked_of(logbook, query="klystrom", sort="newest", limit=40)
    assert [one["code"] for one in answer["diagnostics"]] == ["fuzzy_fallback"]
    (page,) = pages(logbook, answer)
    assert len(answer["results"]) + len(page["items"]) == COUNT


def values(answer: dict[str, Any], name: str) -> dict[str, int]:
    return {one["value"]: one["count"] for one in answer["facets"][name]["values"]}


@pytest.mark.requirement("U06")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_facets_count_all_that_match_and_not_only_the_page(logbook, mode) -> None:
    asked = {"query": "klystron", "mode": mode, "limit": 5}
    answer = asked_of(logbook, **asked, facets=["tags", "author", "date"])
    assert values(answer, "tags") == {"rf": COUNT, "vacuum": 19}
    assert values(answer, "author") == {"A. Chen": 36, "J. Ruiz": 37}
    buckets = answer["facets"]["date"]["buckets"]
    assert sum(one["count"] for one in buckets) == COUNT
    assert {one["exact"] for one in answer["facets"].values()} == {True}
    told = answer["branches"][-1]
    assert (told["name"], told["status"], told["candidates"]) == ("facets", "ok", COUNT)
    assert answer["state"] == "done"
    # Hits are ranked as without.
    alone = asked_of(logbook, **asked)
    assert alone["stability_hash"] == answer["stability_hash"]
    assert alone["facets"] == {}


def test_facets_of_a_job_are_counted_anew_when_it_is_read(shrinking) -> None:
    body = {"query": "klystron", "mode": "keyword", "facets": ["tags"]}
    accepted = shrinking.post(JOBS, json={**PATIENT, **body}).json()
    where = accepted["links"]["self"]
    job = shrinking.get(where, params={"wait_ms": 10_000}).json()
    assert values(job["response"], "tags") == {"rf": COUNT, "vacuum": 19}
    gone = asked_of(shrinking, query="note 4", mode="keyword")["results"][0]
    assert shrinking.delete(f"/v1/entries/{gone['entry_id']}").status_code < 300
    job = shrinking.get(where).json()
    assert values(job["response"], "tags")["rf"] == COUNT - 1


def test_a_search_whose_facets_failed_is_partial_and_one_of_facets_alone_failed(
    logbook: httpx2.Client,
) -> None:
    body = {"query": "klystron", "mode": "keyword", "facets": ["tags"]}

    def with_fault(branch: str) -> httpx2.Response:
        fault = {"X-Logchord-Fault": f"branch={branch};error=opensearch_unavailable"}
        return logbook.post(QUERY, json={**PATIENT, **body}, headers=fault)

    answer = with_fault("facets").json()
    assert (answer["state"], answer["degraded"], answer["facets"]) == (
        "partial",
        True,
        {},
    )
    assert answer["results"]
    assert with_fault("keyword").status_code == 503


@pytest.mark.requirement("I14")
def test_an_exhaustive_search_counts_all_and_says_whether_it_has(logbook) -> None:
    answer = asked_of(logbook, query="klystron", exhaustive=True, limit=10)
    assert answer["total_candidates"] == {"lower_bound": COUNT, "exact": True}
    assert (answer["complete"], answer["method_used"]) == (True, "keyword")
    hits = [*answer["results"]]
    for page in pages(logbook, answer):
        hits += page["items"]
    assert len({hit["entry_id"] for hit in hits}) == COUNT
    # What may have been meant is not what was asked for.
    answer = asked_of(logbook, query="klystrom", exhaustive=True)
    assert answer["total_candidates"] == {"lower_bound": 0, "exact": True}
    assert (answer["results"], answer["diagnostics"]) == ([], [])


def exported(client: httpx2.Client, form: str, **body: Any) -> str:
    answer = client.post(
        "/v1/search/export", params={"format": form}, json={"exhaustive": True, **body}
    )
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.requirement("I14")
@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_a_file_of_lines_holds_all_that_match_and_says_so_last(logbook, sort) -> None:
    text = exported(logbook, "jsonl", query="klystron -note", sort=sort)
    assert json.loads(text) == {"complete": True, "rows": 0}
    text = exported(logbook, "jsonl", query="klystron", sort=sort)
    *rows, last = [json.loads(line) for line in text.splitlines()]
    assert last == {"complete": True, "rows": COUNT}
    assert len({row["entry_id"] for row in rows}) == COUNT
    times = [(row["entry_time"], row["entry_id"]) for row in rows]
    assert times == sorted(times, reverse=sort == "newest")
    assert rows[0]["text"].startswith("klystron tripped, note")


@pytest.mark.requirement("I14")
def test_a_spreadsheet_runs_nothing_of_a_file(admin: httpx2.Client) -> None:
    cells = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'plain, "quoted"\nand broken')
    entries = [
        {"external_id": f"{n}", "title": cell, "text": f"formula {cell}"}
        for n, cell in enumerate(cells)
    ]
    push_found(admin, entries)
    text = exported(admin, "csv", query="formula", sort="oldest")
    head, *rows, last = list(csv.reader(io.StringIO(text, newline="")))
    titles = {row[head.index("title")] for row in rows}
    assert titles == {*(f"'{cell}" for cell in cells[:5]), cells[5]}
    assert last == ["complete", "true", "rows", "6"]


@pytest.mark.requirement("P10", "SEC2")
def test_a_file_and_a_count_hold_nothing_of_anothers(running, tenant) -> None:
    everybody = {"text": "klystron open", "external_id": "open"}
    closed: list[dict[str, Any]] = [
        {"text": "klystron closed", "external_id": "closed", "readers": ["x"]},
        {"text": "klystron nobody", "external_id": "nobody", "readers": []},
        {
            "text": "klystron later",
            "external_id": "later",
            "visible_from": "2199-01-01T00:00:00Z",
        },
    ]
    with running.client(running.key(tenant=f"{tenant}-b")) as theirs:
        push_found(theirs, [{"text": "klystron theirs", "external_id": "theirs"}])
        with running.client(running.key(tenant=tenant)) as ours:
            push_found(ours, [everybody, *closed])
            for client, name in ((ours, "open"), (theirs, "theirs")):
                text = exported(client, "jsonl", query="klystron")
                *rows, last = [json.loads(line) for line in text.splitlines()]
                assert [row["external_id"] for row in rows] == [name]
                assert last == {"complete": True, "rows": 1}
                body = {"query": "klystron", "facets": ["source", "date"]}
                for more in ({}, {"exhaustive": True}, {"sort": "oldest"}):
                    answer = asked_of(client, **body, **more)
                    names = [hit["external_id"] for hit in answer["results"]]
                    assert names == [name]
                    assert values(answer, "source") == {"api": 1}
                    buckets = answer["facets"]["date"]["buckets"]
                    assert sum(one["count"] for one in buckets) == 1


def test_the_window_of_a_job_is_a_file_of_lines_of_cells_or_to_be_read(logbook) -> None:
    body = {"query": "klystron note", "mode": "keyword", "limit": 20}
    accepted = logbook.post(JOBS, json={**PATIENT, **body}).json()
    where = accepted["links"]["self"]
    job = logbook.get(where, params={"wait_ms": 10_000}).json()
    assert job["ended_at"], job

    def file(form: str) -> str:
        answer = logbook.get(f"{where}/export", params={"format": form})
        assert answer.status_code == 200, answer.text
        return answer.text

    *rows, last = [json.loads(line) for line in file("jsonl").splitlines()]
    # As much as a branch may find: there is more.
    assert last == {"complete": False, "rows": 50}
    first = [hit["entry_id"] for hit in job["response"]["results"]]
    assert [row["entry_id"] for row in rows[: len(first)]] == first
    head, *cells, end = list(csv.reader(io.StringIO(file("csv"), newline="")))
    assert [row[head.index("entry_id")] for row in cells] == [
        row["entry_id"] for row in rows
    ]
    assert end == ["complete", "false", "rows", "50"]
    text = file("md")
    assert f"[#{rows[0]['external_id']}@1]" in text
    assert text.endswith("The first 50 entries.\n")


@pytest.mark.parametrize(
    "body",
    [
        {"query": "x"},
        {"query": "x", "exhaustive": True, "facets": ["source"]},
        {"query": "x", "exhaustive": True, "mode": "semantic"},
        {"query": "x", "exhaustive": True, "limit": 10},
        {"query": "tag:x", "exhaustive": True, "modules": ["keyword"]},
        {"query": "tag:x", "exhaustive": True, "collapse": "thread"},
        {"query": "tag:x", "exhaustive": True, "rerank": True},
        {"query": "tag:x", "exhaustive": True, "strict": True},
        {"query": "tag:x", "exhaustive": True, "similarity_threshold": 0.5},
        {"query": "x", "exhaustive": True, "debug": True},
        {"query": "x", "exhaustive": True, "wait_ms": 10},
        {"query": "x", "exhaustive": True, "deadline_ms": 500},
    ],
)
def test_a_file_of_less_than_all_is_refused(client, body) -> None:
    answer = client.post("/v1/search/export", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        422,
        "validation_failed",
    )


def test_a_file_that_nobody_takes_to_its_end_leaves_its_place_to_others(logbook):
    body = {"query": "klystron", "exhaustive": True}
    for _ in range(4):
        with logbook.stream("POST", "/v1/search/export", json=body) as answer:
            assert answer.status_code in {200, 429}

    def free() -> bool:
        return logbook.post("/v1/search/export", json=body).status_code == 200

    until(free, within_seconds=10, what="a place for an export")
