"""Jobs of searches over HTTP: listed, read on, watched, cancelled."""

import json
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shared.messaging import redis_clients
from shared.search.jobs import redis_keys
from shared.settings.settings import Settings
from tests.support.waiting import until
from tests.support.written import ok

JOBS = "/v1/search/jobs"
COUNT = 7


@pytest.fixture(scope="module")
def logbook(lasting_admin: httpx2.Client) -> httpx2.Client:
    """A facility with a few entries of one word, to be read."""
    return fill(lasting_admin)


@pytest.fixture
def changing(admin: httpx2.Client) -> httpx2.Client:
    """A facility of the same entries for one test, which deletes some."""
    return fill(admin)


def fill(admin: httpx2.Client) -> httpx2.Client:
    """Push a few entries, and return the caller once they are found."""
    entries = [
        {
            "source": "api",
            "external_id": f"E-{number}",
            "text": f"klystron tripped, note {number} of the shift",
            "entry_time": f"2026-03-0{number + 1}T05:31:10Z",
        }
        for number in range(COUNT)
    ]
    assert admin.post("/v1/entries", json={"entries": entries}).status_code < 300

    def found() -> bool:
        asked = {"query": "klystron", "mode": "keyword"}
        body = admin.post("/v1/search/query", json=asked).json()
        return body.get("total_results") == COUNT

    until(found, within_seconds=60, what="all entries in the index")
    return admin


def ended(client: httpx2.Client, **body: Any) -> dict[str, Any]:
    where = ok(client.post(JOBS, json=body), 202)["links"]["self"]
    job: dict[str, Any] = client.get(where, params={"wait_ms": 10_000}).json()
    assert job["ended_at"], job
    return job


def pages(client: httpx2.Client, job_id: str, **params: Any) -> list[dict[str, Any]]:
    read = [client.get(f"{JOBS}/{job_id}/results", params=params).json()]
    while read[-1]["next_cursor"]:
        params["cursor"] = read[-1]["next_cursor"]
        read.append(ok(client.get(f"{JOBS}/{job_id}/results", params=params)))
    return read


def ids(page: dict[str, Any]) -> list[str]:
    return [hit["external_id"] for hit in page["items"]]


def test_the_pages_of_a_job_are_one_ranking_each_hit_once(logbook):
    job = ended(logbook, query="klystron", mode="keyword", limit=3)
    first = [hit["external_id"] for hit in job["response"]["results"]]
    read = pages(logbook, job["job_id"])
    assert [len(page["items"]) for page in read] == [3, 3, 1]
    assert ids(read[0]) == first
    assert sorted(one for page in read for one in ids(page)) == [
        f"E-{number}" for number in range(COUNT)
    ]
    ranks = [hit["rank"] for page in read for hit in page["items"]]
    assert ranks == list(range(1, COUNT + 1))
    # The answer itself names the second page.
    cursor = job["response"]["next_cursor"]
    where = f"{JOBS}/{job['job_id']}/results"
    again = logbook.get(where, params={"cursor": cursor}).json()
    assert ids(again) == ids(read[1])


def test_what_is_deleted_meanwhile_is_counted_and_not_shown(changing):
    job = ended(changing, query="klystron", mode="keyword", limit=3)
    victim = pages(changing, job["job_id"])[1]["items"][0]["entry_id"]
    assert changing.delete(f"/v1/entries/{victim}").status_code < 300
    read = pages(changing, job["job_id"])
    shown = [hit["entry_id"] for page in read for hit in page["items"]]
    assert victim not in shown
    assert len(shown) == COUNT - 1
    assert sum(page["removed"] for page in read) == 1


@pytest.mark.requirement("SEC9")
@pytest.mark.parametrize("change", ["size", "job", "key", "garbage"])
def test_a_cursor_opens_nothing_else(logbook, running, lasting_tenant, change):
    other_key = running.key(tenant=lasting_tenant, scopes=("admin",))
    job = ended(logbook, query="klystron", mode="keyword", limit=3)
    other = ended(logbook, query="tripped", mode="keyword", limit=3)
    params: dict[str, Any] = {"cursor": job["response"]["next_cursor"]}
    where, headers = f"{JOBS}/{job['job_id']}/results", {}
    if change == "size":
        params["limit"] = 2
    elif change == "job":
        where = f"{JOBS}/{other['job_id']}/results"
    elif change == "garbage":
        params["cursor"] = params["cursor"][:-2] + "AA"
    else:
        headers = {"Authorization": f"Bearer {other_key}"}
    answer = logbook.get(where, params=params, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_cursor")


def test_a_job_that_has_not_ended_has_no_page_yet_and_a_cursor_to_its_first(logbook):
    accepted = logbook.post(
        JOBS,
        json={"query": "klystron", "mode": "hybrid", "limit": 3},
        headers={"X-Logchord-Fault": "branch=semantic;delay_ms=1500"},
    ).json()
    where = f"{JOBS}/{accepted['job_id']}/results"
    early = logbook.get(where).json()
    assert (early["state"], early["items"]) == ("running", [])
    logbook.get(accepted["links"]["self"], params={"wait_ms": 10_000})
    page = logbook.get(where, params={"cursor": early["next_cursor"]}).json()
    assert (page["state"], len(page["items"])) == ("done", 3)


def test_one_lists_ones_own_jobs_the_newest_first(logbook, running, tenant):
    mine = [ended(logbook, query=f"note {n}")["job_id"] for n in range(3)]
    first = logbook.get(JOBS, params={"limit": 2}).json()
    assert [job["job_id"] for job in first["items"]] == mine[:0:-1]
    assert all(job["ended_at"] for job in first["items"])
    rest = logbook.get(JOBS, params={"limit": 2, "cursor": first["next_cursor"]})
    assert rest.json()["items"][0]["job_id"] == mine[0]
    with running.client(running.key(tenant=f"{tenant}-too")) as stranger:
        assert stranger.get(JOBS).json()["items"] == []


def watched(client: httpx2.Client, where: str, last: int = 0) -> list[dict[str, Any]]:
    headers = {"Last-Event-ID": str(last)} if last else {}
    events = []
    with client.stream("GET", where, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        event: dict[str, Any] = {}
        for line in answer.iter_lines():
            if not line and event:
                events.append(event)
                event = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                event[name] = json.loads(value) if name in {"data", "id"} else value
    return events


def test_a_job_is_watched_branch_by_branch_and_taken_up_again(logbook):
    accepted = logbook.post(
        JOBS,
        json={"query": "klystron", "mode": "hybrid"},
        headers={"X-Logchord-Fault": "branch=semantic;delay_ms=500"},
    ).json()
    events = watched(logbook, accepted["links"]["events"])
    told = [event["event"] for event in events]
    assert told[:2] == ["accepted", "planned"]
    assert sorted(told[2:6]) == ["branch_done"] * 2 + ["branch_started"] * 2
    assert told[6:] == ["results", "deterministic", "actions", "done"]
    done = [e["data"]["name"] for e in events if e["event"] == "branch_done"]
    assert done == ["os_bm25", "semantic"]
    assert events[-1]["data"]["state"] == "done"
    assert events[6]["data"]["results"][0]["external_id"].startswith("E-")
    rest = watched(logbook, accepted["links"]["events"], last=events[3]["id"])
    # What was found is read again, by the rights of now.
    assert [one["event"] for one in rest] == told[4:]
    assert rest[:2] == events[4:6]


def test_a_job_whose_events_are_gone_is_shown_whole(logbook, running):
    job = ended(logbook, query="klystron", mode="hybrid")
    # As after a flush of the broker: the job's row is all that is left.
    with redis_clients.jobs_redis(Settings.load(running.environment)) as broker:
        assert broker.delete(redis_keys.events(UUID(job["job_id"])))
    events = watched(logbook, f"{JOBS}/{job['job_id']}/events")
    told = [event["event"] for event in events]
    assert told == ["snapshot", "results", "deterministic", "actions", "done"]
    assert events[0]["data"]["response"]["results"]


def test_a_cancelled_job_ends_at_once_with_what_is_in(logbook):
    accepted = logbook.post(
        JOBS,
        json={"query": "klystron", "mode": "hybrid", "deadline_ms": 6000},
        headers={"X-Logchord-Fault": "branch=semantic;delay_ms=5000"},
    ).json()
    where = accepted["links"]["cancel"]

    def one_is_in() -> bool:
        branches = logbook.get(where).json()["branches"]
        return [branch["name"] for branch in branches] == ["os_bm25"]

    until(one_is_in, within_seconds=4, what="the keyword branch")
    job = logbook.delete(where).json()
    assert (job["state"], job["cancelled"]) == ("partial", True)
    assert job["ended_at"] < job["deadline_at"]
    assert len(job["response"]["results"]) == COUNT
    again = logbook.delete(where)
    assert (again.status_code, again.json()["ended_at"]) == (200, job["ended_at"])
    told = [event["event"] for event in watched(logbook, accepted["links"]["events"])]
    assert told[-1] == "done"


def test_a_job_cancelled_before_anything_is_in_has_failed_and_says_so(logbook):
    accepted = logbook.post(
        JOBS,
        json={"query": "klystron", "mode": "semantic"},
        headers={"X-Logchord-Fault": "branch=semantic;delay_ms=1500"},
    ).json()
    job = logbook.delete(accepted["links"]["cancel"]).json()
    assert (job["state"], job["cancelled"]) == ("failed", True)
    assert job["error"]["code"] == "job_cancelled"
    assert job["response"] is None


def test_cancelling_what_has_ended_changes_nothing(logbook):
    job = ended(logbook, query="klystron", mode="keyword")
    after = logbook.delete(f"{JOBS}/{job['job_id']}").json()
    assert (after["state"], after["cancelled"]) == ("done", False)
