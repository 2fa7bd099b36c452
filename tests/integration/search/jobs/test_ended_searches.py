"""Searches that no worker ends: each is counted once, and watched to its end."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import psycopg
import pytest

from local.server import free_port
from tests.support.fixtures.system import BIN, TRUSTED, System
from tests.support.typed import typist
from tests.support.waiting import until

QUERY, JOBS = "/v1/search/query", "/v1/search/jobs"
UPKEEP = "LOGCHORD_METRICS_PORT"
BRANCHES = ("pg_fts", "semantic")


@pytest.fixture(scope="module")
def without_workers(make_lasting_system: Callable[..., System]) -> Iterator[System]:
    system = make_lasting_system(**{UPKEEP: str(free_port())})
    system.bring_up("api", "upkeep")
    yield system
    system.kill_all()


def body(deadline_ms: int, **fields: Any) -> dict[str, Any]:
    return {"query": "x", "mode": "hybrid", "deadline_ms": deadline_ms, **fields}


def counted(url: str) -> dict[str, float]:
    """Return how many of each are counted, without those of which there are none."""
    text = httpx2.get(f"{url}/metrics", verify=TRUSTED).text
    found = re.findall(
        r"^logchord_((?:jobs_total|(?:search|branch)_seconds_count)\{.*\}) (.*)$",
        text,
        re.MULTILINE,
    )
    return {name: float(number) for name, number in found if float(number)}


def late(number: float) -> dict[str, float]:
    """Return what is counted where all branches of so many searches told nothing."""
    named = (f'branch="{name}",status="timeout"' for name in BRANCHES)
    return {
        'jobs_total{state="failed"}': number,
        **{f"branch_seconds_count{{{labels}}}": number for labels in named},
    }


@pytest.mark.timeout(120)
def test_each_search_is_counted_by_whoever_ended_it_and_timed_where_it_was_waited_for(
    without_workers,
):
    of_api = without_workers.url
    of_upkeep = f"http://127.0.0.1:{without_workers.environment[UPKEEP]}"
    with psycopg.connect(without_workers.database, autocommit=True) as conn:
        # What other tests have asked is counted by then.
        unended = "SELECT count(*) FROM job WHERE ended_at IS NULL"
        until(
            lambda: conn.execute(unended).fetchone() == (0,),
            within_seconds=20,
            what="no job any more",
        )
    before = {url: counted(url) for url in (of_api, of_upkeep)}

    def more(url: str) -> dict[str, float]:
        known = before[url]
        now = {name: n - known.get(name, 0) for name, n in counted(url).items()}
        return {name: n for name, n in now.items() if n}

    with without_workers.client() as client:
        assert client.post(QUERY, json=body(500)).status_code == 504
        # Stored behind the answer, and counted then.
        told = late(1) | {'search_seconds_count{mode="hybrid"}': 1.0}
        until(
            lambda: more(of_api) == told,
            within_seconds=10,
            what="a search that was late",
        )
        goes_on = client.post(QUERY, json=body(6000, wait_ms=0))
        assert goes_on.status_code == 202
        where = goes_on.headers["Location"]
        for _ in range(2):
            assert client.delete(where).json()["state"] == "failed"
        assert client.post(JOBS, json={"query": ""}).status_code == 202
        told |= {'jobs_total{state="failed"}': 2, 'jobs_total{state="done"}': 1}
        assert more(of_api) == told
        assert more(of_upkeep) == {}
        overdue = client.post(JOBS, json=body(500)).json()["links"]["self"]
        assert client.get(overdue, params={"wait_ms": 10_000}).json()["ended_at"]
        until(
            lambda: more(of_upkeep) == late(1),
            within_seconds=5,
            what="a job that upkeep has ended",
        )
        assert more(of_api) == told


@pytest.mark.timeout(120)
def test_a_job_is_watched_to_its_end_though_the_api_is_killed_meanwhile(
    without_workers, tmp_path
):
    key = without_workers.key()
    with without_workers.client(key) as client:
        job = client.post(JOBS, json=body(6000)).json()["job_id"]
    environment = {
        **without_workers.environment,
        "LOGCHORD_URL": without_workers.url,
        "LOGCHORD_API_KEY": key,
    }
    told, complained = tmp_path / "told", tmp_path / "complained"
    with told.open("wb") as file, complained.open("wb") as errors:
        watching = subprocess.Popen(
            [str(BIN / "logchord"), "jobs", "watch", job],
            env=environment,
            stdout=file,
            stderr=errors,
        )
    try:
        until(lambda: b"planned" in told.read_bytes(), within_seconds=20)
        without_workers.kill("api")
        without_workers.start("api")
        ending = watching.wait(timeout=60)
    finally:
        watching.kill()
    # The search was late: the command ends as `logchord ask` of it does.
    assert (ending, complained.read_text().split("\n")[1]) == (
        1,
        "code: search_timeout",
    )
    names = [line.split()[0] for line in told.read_text().splitlines()]
    # What it had before is not told again.
    assert (names[:2], names[-1]) == (["accepted", "planned"], "done")
    assert len(names) == len(set(names))


@pytest.mark.timeout(120)
def test_a_replay_that_fails_ends_the_command_by_its_severity(
    without_workers, tmp_path
):
    key = without_workers.key()
    with without_workers.client(key) as client:
        job = client.post(JOBS, json=body(500)).json()["job_id"]
        assert client.get(f"{JOBS}/{job}", params={"wait_ms": 10_000}).json()["error"]
    run = typist(without_workers, tmp_path, key)
    told = run("jobs", "replay", job)
    assert (told.returncode, told.stderr.split("\n")[1]) == (1, "code: search_timeout")
    # How it compares is told all the same.
    assert "\nhashes    unknown" in told.stdout
    as_json = run("jobs", "replay", job, "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)["state"]) == (1, "failed")


def test_a_request_is_kept_as_it_was_given_and_can_be_sent_again(without_workers):
    given = {
        **body(500, limit=3, facets=["author"], collapse="thread", strict=True),
        "filters": {"source": {"in": ["api", "operations"]}},
        "scope": {"kinds": ["logbook"]},
        "modules": ["pg_fts"],
        "rerank": False,
        "min_relevance_score": 0.25,
        "wait_ms": 0,
    }
    with without_workers.client() as client:
        answer = client.post(QUERY, json=given)
        assert answer.status_code == 202, answer.text
        kept = client.get(answer.headers["Location"]).json()["request"]
        assert kept == given
        again = client.post(QUERY, json=kept)
        assert client.get(again.headers["Location"]).json()["request"] == given
        # By the words of the contract, whatever they were called.
        called = {"q": "x", "method": "vector", "maxResults": 2}
        where = client.post(JOBS, json=called).json()["links"]["self"]
        assert client.get(where).json()["request"] == {
            "query": "x",
            "mode": "vector",
            "limit": 2,
        }


def test_a_blank_question_is_no_job(without_workers):
    with without_workers.client() as client:
        answer = client.post(QUERY, json={"query": " "})
        assert (answer.status_code, answer.json()["job_id"]) == (200, None)
        plain = client.post("/search", json={"query": " "})
        assert plain.status_code == 200
        assert "X-Logchord-Job" not in plain.headers
