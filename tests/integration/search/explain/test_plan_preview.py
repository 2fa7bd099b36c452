"""What a search would do is told as the search itself tells it, and nothing is done."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from local.server import free_port
from shared.entries.draft import EntryDraft
from shared.search.explain import plan_preview
from shared.search.jobs.outcome import Outcome
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE
from tests.support.fixtures.system import System
from tests.support.statements import fetch_rows, fetch_value
from tests.support.waiting import until

PLAN, QUERY, JOBS = "/v1/search/plan", "/v1/search/query", "/v1/search/jobs"
FAULT = "X-Logchord-Fault"
# What the preview knows besides, and the answer tells elsewhere.
BESIDE = {"engines", "diagnostics", "expected_ms"}
OF_THE_SEARCH = {"terms_expanded", "rerank_skipped", "facts_skipped"}
ASKED: list[dict[str, Any]] = [
    {"query": "klystron tripped"},
    {"query": 'HCM03 "klystron tripped" -vacuum', "mode": "hybrid", "limit": 40},
    {"query": "klystron since June 2024 author:Ito", "mode": "keyword"},
    {"query": "klyst* tripped", "mode": "keyword"},
    {"query": "klystron metadata.run:40..50 -metadata.run:>44", "mode": "keyword"},
    {"query": "klystron OR metadata.run:>5mA", "mode": "keyword"},
    {"query": '"klyst* tripped" OR HCM03', "mode": "keyword"},
    {"query": "klystron", "filters": {"source": "api", "device": "HCM03"}},
    {"query": "klystron", "sort": "newest"},
    {"query": "klystron", "facets": ["source"], "rerank": False, "deadline_ms": 3000},
    {"query": "the klystron", "mode": "semantic"},
    {"query": "klystron", "exhaustive": True},
    {"query": "klystron", "modules": ["pg_fts"], "mode": "keyword"},
    {"query": "(klystron tripped", "mode": "keyword"},
    {"query": ""},
]
REFUSED: list[dict[str, Any]] = [
    {"query": "x", "filters": {"colour": "red"}},
    {"query": "x", "mode": "sideways"},
    {"query": "x", "mode": "agent"},
    {"query": "x", "limit": 1000},
    {"query": "x", "deadline_ms": 1},
    {"query": "x", "facets": ["colour"]},
    {"query": "x", "modules": ["nothing"]},
    {"query": "x" * 10_001},
    {"query": "x\0"},
    {"query": "x", "exhaustive": True, "fuzzy_threshold": 0.5},
    {"query": "x", "parameters": {"nothing": 1}},
    {"query": "x", "ambient": {"rout": "/"}},
    {"query": "x", "nonsense": 1},
]


@pytest.fixture
def logbook(admin: httpx2.Client) -> httpx2.Client:
    entries = [
        {"external_id": "1", "text": "HCM03: klystron tripped", "authors": ["Ito"]},
        {"external_id": "2", "text": "The klystron tripped again", "authors": ["Ito"]},
    ]
    answer = admin.post(
        "/v1/entries", json={"entries": [{"source": "api", **one} for one in entries]}
    )
    assert answer.is_success, answer.text

    def found() -> bool:
        body = {"query": "klystron", "mode": "hybrid"}
        told = admin.post(QUERY, json=body).json()
        ranks = [one["ranks"] for one in told.get("results", ())]
        return len(ranks) == len(entries) and all(len(one) > 1 for one in ranks)

    until(found, within_seconds=60, what="both entries found by words and by meaning")
    return admin


def ok(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def said_by_both(ours: Any, theirs: Any) -> Any:
    """Return what they say without what ours leaves open."""
    if ours is None:
        return None
    if isinstance(ours, dict):
        return {name: said_by_both(one, theirs[name]) for name, one in ours.items()}
    if isinstance(ours, list):
        pairs = zip(ours, theirs, strict=True)
        return [said_by_both(one, other) for one, other in pairs]
    return theirs


def check_same(previewed: dict[str, Any], plan: dict[str, Any]) -> None:
    told = {name: one for name, one in previewed.items() if name not in BESIDE}
    assert told.keys() == plan.keys()
    assert told == said_by_both(told, plan)


@pytest.mark.requirement("I15")
def test_a_plan_is_the_one_of_the_search_that_follows(logbook):
    for asked in ASKED:
        body = {"deadline_ms": 4000, **asked}
        previewed = ok(logbook.post(PLAN, json=body))

        answer = ok(logbook.post(QUERY, json={**body, "debug": True}))

        check_same(previewed, answer["plan"])
        assert previewed["diagnostics"] == [
            one for one in answer["diagnostics"] if one["code"] not in OF_THE_SEARCH
        ]
        names = [one["branch"] for one in previewed["engines"]]
        assert names == previewed["branches"]
        if "*" not in body["query"] and body["query"]:
            assert previewed["tsquery"] == answer["plan"]["tsquery"]
            assert previewed["terms"] == answer["plan"]["terms"]
        # By now one has been answered.
        expected = ok(logbook.post(PLAN, json=body))["expected_ms"]
        assert (expected > 0) is bool(previewed["branches"])


@pytest.mark.requirement("I15", "S4-13")
def test_a_plan_is_the_one_of_the_later_job(logbook):
    body = {"query": "klystron tripped HCM03", "mode": "hybrid", "debug": True}
    previewed = ok(logbook.post(PLAN, json=body))

    job = ok(logbook.post(JOBS, json=body))["links"]["self"]
    answer = ok(logbook.get(job, params={"wait_ms": 10_000}))["response"]

    check_same(previewed, answer["plan"])
    parts = {"intent", "entities", "domain_weights", "context_boosts", "time"}
    assert parts | {"sub_queries", "branches"} <= previewed.keys()
    assert previewed["opensearch_query"] == answer["plan"]["opensearch_query"]
    assert [one["engine"] for one in previewed["engines"]] == ["opensearch", "postgres"]
    assert [(one["kind"], one["name"]) for one in previewed["entities"]] == [
        ("device", "HCM03")
    ]


@pytest.fixture(scope="module")
def alone(make_api: Callable[..., System]) -> System:
    """An API whose broker and engine do not answer, and which has no worker."""
    return make_api(
        opensearch=f"http://127.0.0.1:{free_port()}",
        BROKER_URL=f"redis://127.0.0.1:{free_port()}/0",
    )


def counted(system: System) -> dict[str, str]:
    """Return what its process counts of searches, jobs and branches."""
    text = httpx2.get(f"{system.url}/metrics", timeout=40).text
    rows = (row.rpartition(" ") for row in text.splitlines() if row[:1] != "#")
    of = ("logchord_search_seconds", "logchord_jobs", "logchord_branch")
    return {name: value for name, _, value in rows if name.startswith(of)}


@pytest.mark.requirement("I15")
def test_nothing_of_a_plan_is_carried_out(alone, tenant):
    before = counted(alone)

    with alone.client(alone.key(tenant=tenant)) as client:
        plans = [ok(client.post(PLAN, json=body)) for body in ASKED]

    for told in plans:
        # Nothing was ever searched here: nothing is known of how long it takes.
        assert told["expected_ms"] == (None if told["branches"] else 0)
        assert {one["circuit"] for one in told["engines"]} <= {None}
    assert counted(alone) == before
    assert fetch_value(alone.database, "SELECT count(*) FROM job") == 0


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: str(body)[:60])
def test_a_plan_is_refused_as_its_search_is(caller, body):
    searched, planned = (caller.post(path, json=body) for path in (QUERY, PLAN))

    assert planned.status_code == 422
    ours, theirs = planned.json()["error"], searched.json()["error"]
    for own in ("id", "request_id"):
        del ours[own], theirs[own]
    assert ours == theirs


def test_a_fault_is_for_admins_in_a_plan_too(caller):
    headers = {FAULT: "branch=semantic;empty"}
    answers = [
        caller.post(path, json={"query": "x"}, headers=headers)
        for path in (QUERY, PLAN)
    ]
    assert [one.status_code for one in answers] == [403, 403]


def test_the_command_prints_the_plan_as_debug_does(logchord):
    ended = logchord("search", "--plan", "--mode", "keyword", "klyst* HCM03 (pump")

    assert ended.returncode == 0, ended.stderr
    assert "( at character 14 has no other" in ended.stderr
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert "intent lookup" in lines
    assert "mode keyword" in lines
    assert "expected_ms unknown" in lines
    assert "names HCM03 (device) -> hcm3" in lines
    assert any("klyst* (pattern) -> looked up when" in line for line in lines)
    assert "pg_fts postgres · circuit not met lately" in lines
    as_json = logchord("search", "--plan", "--json", "HCM03")
    told = json.loads(as_json.stdout)
    assert (told["intent"], told["mode"]) == ("exact", "keyword")
    both = logchord("search", "--plan", "--job", "HCM03")
    assert (both.returncode, both.stdout) == (2, "")


def test_words_of_no_entry_are_told_by_a_plan(asking):
    asking.write(
        EntryDraft("api", "open", "The klystron tripped"),
        EntryDraft("api", "closed", "klystrom klystrux", readers=("ben",)),
    )
    for scope in (ANNA, BEN, ELSEWHERE):
        for query in ("klyst*", "klystrn", '"klyst* tripped"', "klystr?m"):
            plan = asking.plan(query, scope)
            told = json.dumps(plan_preview.preview_plan(asking.context, plan))
            assert "klystrom" not in told
            assert "klystrux" not in told
            assert "klystron" not in told


def test_hidden_entries_of_a_thread_are_told_by_no_plan(asking):
    ids = asking.write(
        EntryDraft("api", "open", "The klystron tripped"),
        EntryDraft("api", "closed", "Its tube", reply_to="open", readers=("ben",)),
    )
    threads = fetch_rows(asking.pool.conninfo, "SELECT DISTINCT thread_id FROM entry")
    ((thread,),) = threads
    for scope, is_seen in ((ANNA, False), (BEN, True), (ELSEWHERE, False)):
        for wanted in (str(thread), {"not": [str(thread)]}):
            plan = asking.plan("klystron", scope, filters={"thread_id": wanted})
            plan = replace(plan, branches=("os_bm25",), without_opensearch=False)
            told = json.dumps(plan_preview.preview_plan(asking.context, plan))
            # By the id of the other, which the thread has, it was asked for.
            assert (str(ids["closed"]) in told) == is_seen


def test_a_circuit_is_told_as_the_last_searches_met_it(asking, monkeypatch):
    plan = replace(asking.plan("klystron"), branches=("os_bm25",))

    def met(scope: Any = ANNA) -> str | None:
        told = plan_preview.preview_plan(asking.context, replace(plan, scope=scope))
        (one,) = told["engines"]
        assert one["fallback"] == "pg_fts"
        return str(one["circuit"]) if one["circuit"] else None

    def ends(**fields: Any) -> None:
        outcome = Outcome("os_bm25", unit="bm25", **fields)
        instead = Outcome("pg_fts", "empty", "ts_rank", fallback_for="os_bm25")
        asking.ended(plan, {0: [outcome, instead]})

    assert met() is None
    ends(status="error", error_code="opensearch_unavailable", severity="RETRIABLE")
    assert met() == "closed"
    ends(status="skipped", reason="circuit_open")
    assert met() == "open"
    # Whatever says nothing of it changes nothing.
    ends(status="skipped", reason="empty_query")
    assert met() == "open"
    assert met(ELSEWHERE) is None
    monkeypatch.setattr(plan_preview, "LATELY_SECONDS", -1)
    assert met() is None
