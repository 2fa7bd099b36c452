"""Searches through the whole system: direct, submitted, late, failed, refused."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from math import isclose
from typing import Any

import httpx2
import pytest
import redis

from api.search.schemas.branches import BranchOutcome
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.messaging import redis_clients
from shared.search.ranking import calibration
from shared.settings.settings import Settings
from tests.support.waiting import until
from tests.support.written import ok

FAULT = "X-Logchord-Fault"
QUERY = "/v1/search/query"
JOBS = "/v1/search/jobs"
# How long after its deadline an answer may come (P5).
GRACE_SECONDS = 1.0


def search(client: httpx2.Client, fault: str | None = None, **body: Any) -> Any:
    headers = {FAULT: fault} if fault else {}
    return client.post(QUERY, json=body, headers=headers)


def push(client: httpx2.Client, *texts: str) -> None:
    entries = [
        {
            "source": "api",
            "external_id": f"E-{number}",
            "text": text,
            "entry_time": "2026-03-02T05:31:10Z",
        }
        for number, text in enumerate(texts)
    ]
    answer = client.post("/v1/entries", json={"entries": entries})
    assert answer.status_code in {200, 201}, answer.text


@pytest.fixture(scope="module")
def logbook(lasting_admin: httpx2.Client) -> httpx2.Client:
    """A tenant with three entries that every branch can find, to be read."""
    return fill(lasting_admin)


@pytest.fixture
def shrinking(admin: httpx2.Client) -> httpx2.Client:
    """A tenant of the same entries for one test, which deletes one of them."""
    return fill(admin)


def fill(admin: httpx2.Client) -> httpx2.Client:
    """Push three entries, and return the caller once every branch finds each."""
    texts = (
        "RF cavity 3 tripped during injection",
        "The corrector HCM-03 was replaced",
        "Cooling water of the klystron is low",
    )
    push(admin, *texts)

    def found() -> bool:
        # One may be found before another, and by words before it is by meaning.
        answers = (search(admin, query=one, mode="hybrid").json() for one in texts)
        firsts = [(one.get("results") or [{}])[0] for one in answers]
        both = ["os_bm25", "semantic"]
        return [one.get("found_by") for one in firsts] == [both, both, both]

    until(found, within_seconds=60, what="three entries in every branch")
    return admin


@pytest.mark.requirement("S1-53", "C16", "C13")
def test_a_hybrid_search_finds_an_entry_by_words_and_by_meaning(logbook):
    body = ok(search(logbook, query="HCM 03 replaced", mode="hybrid"))
    first = body["results"][0]
    assert body["state"] == "done"
    assert body["degraded"] is False
    assert (first["external_id"], first["rank"]) == ("E-1", 1)
    assert first["ranks"] == {"os_bm25": 1, "semantic": 1}
    assert abs(first["scores"]["rrf"] - 2 / 61) < 1e-9
    assert first["content"] == "The corrector HCM-03 was replaced"
    assert body["as_of"].endswith("Z")
    assert [branch["name"] for branch in body["branches"]] == ["os_bm25", "semantic"]
    assert (body["reranked"], first["calibration"]) == (True, "linear_map")
    # It names what the question names.
    near = (first["scores"]["cosine"] - 0.48) / 0.52
    linear = (0.7 * near + 0.3) * 1.2
    shown = calibration.of_linear(linear, DEFAULT_MODEL)
    assert abs(first["relevance_score"] - shown) < 1e-6
    assert body["diagnostics"] == []
    assert body["total_results"] == len(body["results"])
    most = body["total_candidates"]
    assert most["lower_bound"] >= len(body["results"])
    assert most["exact"] is False
    keyed: dict[str, Any] = {"query": "klystron", "exhaustive": True}
    counted = search(logbook, **keyed).json()
    assert counted["total_candidates"] == {"lower_bound": 1, "exact": True}


@pytest.mark.requirement("S1-17", "S1-54", "S4-21", "C42")
def test_an_answer_tells_how_it_came_about_when_asked(logbook):
    body = search(logbook, query="HCM 03 replaced", mode="hybrid", debug=True).json()
    assert body["plan"]["branches"] == ["os_bm25", "semantic"]
    assert "'hcm3'" in body["plan"]["tsquery"][0]["query"]
    asked = body["plan"]["opensearch_query"]["query"]["bool"]["should"]
    # Beside a name, words only rank.
    assert all(term in str(asked) for term in ("'hcm3'", "'replac'"))
    first = body["results"][0]
    (trace, *_) = body["score_trace"]
    assert trace["entry_id"] == first["entry_id"]
    assert trace["calibrated"] == first["relevance_score"]
    # It names what the question names.
    assert trace["factors"] == first["factors"] == {"entity_proximity": 1.2}
    assert body["plan"]["context_boosts"]["entity_proximity"] == 1.2
    assert body["plan"]["branch_weights"] == {}
    assert [step.split(":")[0] for step in trace["steps"]] == [
        "Query Analysis",
        "Parallel Search",
        "Result Fusion",
        "Reranking",
        "Filtering",
        "Limiting",
        "Synthesis",
    ]
    plain = search(logbook, query="HCM 03 replaced", mode="hybrid").json()
    assert not {"plan", "score_trace"} & set(plain)


@pytest.mark.requirement("U18")
def test_strict_keeps_what_was_named_and_counts_what_it_leaves_out(logbook):
    named = search(logbook, query="HCM 03", mode="hybrid", strict=True).json()
    assert [one["external_id"] for one in named["results"]] == ["E-1"]
    assert named["results"][0]["confidence"] == "high"
    vague = search(logbook, query="water", mode="semantic", min_relevance_score=1.0)
    body = vague.json()
    assert body["results"] == []
    assert body["suppressed"]["count"] > 0
    assert body["thresholds_applied"]["min_relevance_score"] == 1.0


@pytest.mark.requirement("S1-40")
def test_equal_searches_have_equal_hashes(logbook):
    bodies = [search(logbook, query="tripped").json() for _ in range(5)]
    assert len({body["stability_hash"] for body in bodies}) == 1
    assert bodies[0]["results"]
    assert {body["mode"] for body in bodies} == {"auto"}


def test_another_tenant_finds_nothing_of_it(logbook, running):
    with running.client(running.key(tenant="stranger")) as stranger:
        body = search(stranger, query="HCM 03 replaced", mode="hybrid").json()
    assert body["results"] == []
    assert body["state"] == "done"


@pytest.mark.requirement("I03")
@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize(
    "mode", ["keyword", "semantic", "hybrid", "auto", "rag", "agentic"]
)
def test_every_mode_answers(logbook, mode):
    body = search(logbook, query="klystron cooling", mode=mode).json()
    first = body["results"][0]
    assert first["external_id"] == "E-2"
    assert body["mode"] == mode
    assert BranchOutcome.model_fields.keys() == body["branches"][0].keys()
    for one in body["results"]:
        assert isclose(sum(one["contrib"].values()), one["scores"]["rrf"])
        assert one["contrib"].keys() == one["ranks"].keys()
        # Of several parts of a question it is told which of them found it.
        finders = body["sub_queries"] if mode == "agentic" else one["ranks"]
        assert {*one["found_by"]} == {*finders}
    # What was there before the oldest watermark was found; no other was promised.
    marks = [one["index_watermark"] for one in body["branches"]]
    assert body["as_of"] == min(marks)
    written = logbook.get(f"/v1/entries/{first['entry_id']}").json()["modified_at"]
    until(
        lambda: search(logbook, query="klystron", mode=mode).json()["as_of"] > written,
        within_seconds=10,
        what="a watermark behind the entry",
    )


@pytest.mark.requirement("S1-36")
def test_branches_search_at_the_same_time(logbook):
    # The first that is sent is the slow one: the other would wait for it.
    slow = "branch=os_bm25;delay_ms=700"
    body = search(
        logbook, slow, query="klystron cooling", mode="hybrid", deadline_ms=6000
    ).json()
    words, meaning = body["branches"]
    assert (words["name"], meaning["name"]) == ("os_bm25", "semantic")
    # Each began before the other had ended.
    assert words["queued_ms"] < meaning["queued_ms"] + meaning["took_ms"]
    assert meaning["queued_ms"] < words["queued_ms"] + words["took_ms"]


def test_a_blank_query_with_a_filter_lists_and_without_one_finds_nothing(logbook):
    listed = search(logbook, query="", filters={"source": "api"}).json()
    assert listed["total_results"] == 3
    empty = search(logbook, q="   ").json()
    assert (empty["total_results"], empty["branches"]) == (0, [])


@pytest.mark.requirement("U05", "C24", "I27")
def test_opensearch_down_is_degraded_and_still_answers(logbook):
    fault = "branch=os_bm25;error=opensearch_unavailable"
    body = search(logbook, fault, query="tripped", mode="keyword").json()
    assert (body["state"], body["degraded"]) == ("done", True)
    told = [(b["name"], b["status"], b["fallback_for"]) for b in body["branches"]]
    assert told == [("os_bm25", "error", None), ("pg_fts", "ok", "os_bm25")]
    assert body["search_modes_used"] == ["keyword"]
    fault = "branch=semantic;error=embedding_unavailable"
    other = search(logbook, fault, query="tripped", mode="hybrid").json()
    assert other["search_modes_used"] == ["keyword", "hybrid"]
    assert body["results"][0]["external_id"] == "E-0"


@pytest.mark.requirement("P5", "U05", "I27")
def test_a_branch_that_is_late_leaves_a_partial_answer_within_the_deadline(logbook):
    began = time.monotonic()
    fault = "branch=semantic;delay_ms=60000"
    body = search(
        logbook, fault, query="tripped", mode="hybrid", deadline_ms=1500
    ).json()
    assert time.monotonic() - began < 1.5 + GRACE_SECONDS
    assert (body["state"], body["degraded"]) == ("partial", True)
    late = body["branches"][-1]
    assert (late["name"], late["status"]) == ("semantic", "timeout")
    assert body["results"][0]["external_id"] == "E-0"


@pytest.mark.requirement("U05", "I27", "S2-67")
def test_nothing_in_by_the_deadline_is_504_and_says_what_to_do(admin):
    fault = "branch=*;delay_ms=60000"
    answer = search(admin, fault, query="x", mode="semantic", deadline_ms=500)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (504, "search_timeout")
    assert (error["category"], error["severity"]) == ("timeout", "CRITICAL")
    assert "deadline_ms" in error["message"]


@pytest.mark.requirement("U05", "I27")
@pytest.mark.parametrize(
    ("code", "severity"),
    [("opensearch_unavailable", "RETRIABLE"), ("embedding_unavailable", "CRITICAL")],
)
@pytest.mark.requirement("S2-62")
def test_all_branches_failed_is_503_with_the_severity_of_the_worst(
    admin, code, severity
):
    answer = search(admin, f"branch=*;error={code}", query="x", mode="hybrid")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "search_failed")
    assert error["category"] == "search"
    assert error["severity"] == severity


@pytest.mark.requirement("I27")
def test_a_fault_needs_an_admin(client):
    answer = search(client, "branch=*;empty", query="x")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "scope_missing"


@pytest.mark.requirement("S4-60")
def test_a_search_that_outlasts_its_wait_becomes_a_job(admin):
    answer = search(
        admin, "branch=semantic;delay_ms=600", query="x", mode="hybrid", wait_ms=50
    )
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    where = answer.headers["Location"]
    job = admin.get(where, params={"wait_ms": 10_000}).json()
    assert job["state"] == "done"
    assert job["response"]["job_id"] == answer.json()["job_id"]


@pytest.mark.requirement("P8")
def test_a_submitted_job_is_looked_after_until_it_ends(logbook):
    accepted = logbook.post(JOBS, json={"query": "HCM 03", "mode": "hybrid"})
    assert accepted.status_code == 202
    job = logbook.get(
        accepted.json()["links"]["self"], params={"wait_ms": 10_000}
    ).json()
    assert job["state"] == "done"
    assert job["response"]["results"][0]["external_id"] == "E-1"
    assert job["request"]["query"] == "HCM 03"


def test_a_stored_job_reads_its_entries_again(shrinking):
    body = search(shrinking, query="HCM 03 replaced", mode="hybrid").json()
    first = body["results"][0]["entry_id"]
    path = f"{JOBS}/{body['job_id']}"

    def stored() -> Any:
        answer = shrinking.get(path)
        return answer.json() if answer.status_code == 200 else None

    job = until(stored, within_seconds=10, what="the finished job")
    assert job["response"]["stability_hash"] == body["stability_hash"]
    assert shrinking.delete(f"/v1/entries/{first}").status_code < 300
    again = shrinking.get(path).json()["response"]
    assert first not in [hit["entry_id"] for hit in again["results"]]


def test_somebody_elses_job_is_not_found(admin, running):
    accepted = admin.post(JOBS, json={"query": "x"}).json()
    with running.client(running.key(tenant="stranger")) as stranger:
        answer = stranger.get(accepted["links"]["self"])
    assert answer.status_code == 404


def test_a_job_without_a_question_has_ended_already(admin):
    accepted = admin.post(JOBS, json={"query": ""}).json()
    job = admin.get(accepted["links"]["self"]).json()
    assert (job["state"], job["response"]["results"]) == ("done", [])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "x", "mode": "psychic"}, "unknown_mode"),
        ({"query": "x", "rerank": "model"}, "module_not_enabled"),
        ({"query": "x", "rerank": "upside down"}, "validation_failed"),
        ({"query": "x", "synthesize": "llm"}, "module_not_enabled"),
        ({"query": "x", "mode": "semantic", "sort": "newest"}, "validation_failed"),
        ({"query": "x", "min_relevance_score": -0.1}, "validation_failed"),
        ({"query": "x", "min_relevance_score": 1.1}, "validation_failed"),
        ({"query": "x", "similarity_threshold": 1.1}, "validation_failed"),
        ({"query": "x", "strict": "yes"}, "validation_failed"),
        ({"query": "x", "scope": {"colours": ["red"]}}, "validation_failed"),
        ({"query": "x", "ambient": {"colour": "red"}}, "validation_failed"),
        ({"query": "x", "ambient": {"route": "/" * 2001}}, "validation_failed"),
        (
            {"query": "x", "ambient": {"lastAction": {"occurredAt": "soon"}}},
            "validation_failed",
        ),
        ({"query": "x", "session_id": ""}, "validation_failed"),
        ({"query": "x", "filters": {"thread_id": "x"}}, "validation_failed"),
        ({"query": "x", "filters": {"date_from": "soon"}}, "validation_failed"),
        ({"query": "x", "filters": {"author": "  "}}, "validation_failed"),
        ({"query": "x", "filters": {"quantity": {"gte": 1}}}, "validation_failed"),
        ({"query": "x", "filters": {"colour": "red"}}, "unknown_filter"),
        ({"query": "x", "colour": "red"}, "validation_failed"),
        ({"query": "x", "q": "y"}, "validation_failed"),
        ({"query": "x", "limit": "5"}, "validation_failed"),
        ({"query": "x", "deadline_ms": 99}, "validation_failed"),
        ({"query": "x", "wait_ms": 30_001}, "validation_failed"),
    ],
)
@pytest.mark.requirement("B16", "S4-06", "S4-07")
def test_what_cannot_be_answered_is_refused_by_name(client, body, code):
    answer = search(client, **body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


@pytest.mark.requirement("C10")
@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"mode": "keyword"}, "keyword"),
        ({"method": "keyword"}, "keyword"),
        ({"method": "vector"}, "semantic"),
        ({"mode": "semantic", "method": "vector"}, "semantic"),
        ({"mode": "hybrid", "method": "hybrid"}, "hybrid"),
        ({"mode": "keyword", "method": "hybrid"}, None),
        ({"mode": "auto", "method": "vector"}, None),
    ],
    ids=str,
)
def test_a_mode_is_named_in_two_ways_that_may_not_differ(client, given, used):
    answer = search(client, query="x", **given)
    if used is None:
        assert answer.status_code == 422
        assert answer.json()["error"]["code"] == "validation_failed"
    else:
        assert answer.json()["method_used"] == used


@pytest.mark.parametrize(
    "extra",
    [{"rerank": False, "synthesize": False}, {"maxResults": 3}, {"max_results": 3}],
)
def test_aliases_and_neutral_values_pass(client, extra):
    body = {"q": "x", "method": "vector", **extra}
    assert client.post(QUERY, json=body).status_code == 200


def test_a_cut_query_says_so(client):
    body = search(client, query="beam " * 300, mode="keyword").json()
    assert "query_truncated" in [note["code"] for note in body["diagnostics"]]


@pytest.mark.requirement("O03")
@pytest.mark.usefixtures("answering")
def test_a_diagnostic_has_one_shape_in_every_mode(client):
    modes = client.get("/v1/capabilities").json()["modes"]
    # Brackets, length and the number of words are each told of by another part.
    words = "beam) " + " ".join(f"word{number}" for number in range(200))
    sources = set()
    for mode in (one["name"] for one in modes if one["enabled"]):
        notes = search(client, query=words, mode=mode).json()["diagnostics"]
        assert notes, mode
        for note in notes:
            assert set(note) == {"level", "source", "code", "message", "category"}
            assert note["level"] in {"info", "warning", "error"}
            assert re.fullmatch(r"[a-z_]++(\.[a-z_0-9]++)*", note["source"]), note
            sources.add(note["source"])
    assert "retrieve.os_bm25" in sources


@pytest.mark.requirement("F26", "P8")
def test_a_search_ends_when_the_worker_dies(make_system):
    system = make_system(LOGCHORD_FAULT_INJECTION="true")
    broker_url = system.environment["BROKER_URL"]
    system.bring_up("api", "search", "upkeep")
    with system.client(system.key(scopes=("admin",))) as admin:
        assert search(admin, query="x", mode="hybrid").status_code == 200
        # One branch is in, the other is slow: its worker dies with it in hand.
        with ThreadPoolExecutor(1) as pool:
            dying = pool.submit(
                search,
                admin,
                "branch=semantic;delay_ms=60000",
                query="x",
                mode="hybrid",
                deadline_ms=3000,
            )
            until(lambda: _one_is_in(broker_url), within_seconds=3, what="a branch")
            system.kill("search")
            body = dying.result(timeout=10).json()
        assert body["state"] == "partial"
        told = [(b["name"], b["status"]) for b in body["branches"]]
        assert told == [("pg_fts", "empty"), ("semantic", "timeout")]
        began = time.monotonic()
        gone = search(admin, query="x", mode="hybrid", deadline_ms=1000)
        assert time.monotonic() - began < 1.0 + GRACE_SECONDS
        assert gone.json()["error"]["code"] == "search_timeout"
        job = admin.post(JOBS, json={"query": "x", "deadline_ms": 500}).json()
        path = job["links"]["self"]
        ended = admin.get(path, params={"wait_ms": 5000}).json()
        assert ended["state"] == "failed"
        assert ended["error"]["code"] == "search_timeout"


def test_an_answer_and_its_pages_tell_as_much_as_was_asked_for(logbook):
    asked: dict[str, Any] = {"query": "cavity corrector klystron", "mode": "hybrid"}
    asked["limit"] = 2
    fields = ["content", "entry_id"]
    body = search(logbook, **asked, fields=fields, max_chars=40).json()

    assert body["total_results"] == 2
    assert [sorted(one) for one in body["results"]] == [fields, fields]
    assert sum(len(one["content"]) for one in body["results"]) <= 40
    assert body["cut"]["chars"] > 0
    whole = search(logbook, **asked).json()
    assert whole["cut"] == {"entries": 0, "chars": 0}
    assert whole["stability_hash"] == body["stability_hash"]

    sent = logbook.post(JOBS, json={**asked, "fields": fields, "max_chars": 40})
    path = sent.json()["links"]["self"]
    ended = logbook.get(path, params={"wait_ms": 10_000}).json()
    assert [sorted(one) for one in ended["response"]["results"]] == [fields, fields]
    page = logbook.get(f"{path}/results").json()
    assert all(sorted(one) == fields for one in page["items"])
    assert page["cut"]["chars"] > 0
    # A page may be asked for more, or for less, than its job was.
    more = {"fields": "content", "max_chars": 10_000, "detail": "full"}
    page = logbook.get(f"{path}/results", params=more).json()
    assert [[*one] for one in page["items"]] == [["content"], ["content"]]
    assert page["cut"] == {"entries": 0, "chars": 0}
    similar = f"/v1/entries/{whole['results'][0]['entry_id']}/similar"
    alike = logbook.get(similar, params={"fields": "content", "max_chars": 9}).json()
    assert [[*one] for one in alike["results"]] == [["content"]] * len(alike["results"])
    assert sum(len(one["content"]) for one in alike["results"]) == 9
    for where in (f"{path}/results", similar):
        for no in ({"fields": "titel"}, {"detail": "all"}, {"max_chars": -1}):
            assert logbook.get(where, params=no).status_code == 422

    wrong = search(logbook, query="x", fields=["titel"])
    assert wrong.status_code == 422
    assert "Did you mean title" in wrong.text


def test_what_reads_all_that_match_keeps_no_other_search_waiting(make_system):
    system = make_system()
    system.bring_up("api")
    with system.client(system.key()) as client:
        for _ in range(3):
            answer = client.post(JOBS, json={"query": "x", "exhaustive": True})
            assert answer.status_code == 202
        answer = client.post(JOBS, json={"query": "x", "mode": "keyword"})
        assert answer.status_code == 202
    with redis.Redis.from_url(system.environment["BROKER_URL"]) as waiting:
        lengths = [waiting.llen(name) for name in ("search.bulk", "search")]
    assert lengths == [3, 1]


def _one_is_in(broker_url: str) -> bool:
    with redis_clients.jobs_redis(Settings.load({"BROKER_URL": broker_url})) as client:
        names = list(client.scan_iter("job:*"))
        return any(
            client.hexists(name, "outcome:0") and not client.hexists(name, "outcome:1")
            for name in names
        )


@pytest.mark.requirement("F27", "P8")
def test_searches_end_when_redis_is_emptied_under_them(make_system):
    system = make_system(LOGCHORD_FAULT_INJECTION="true")
    system.bring_up("api", "search", "upkeep")
    client = redis.Redis.from_url(system.environment["BROKER_URL"])
    fault = "branch=semantic;delay_ms=400"
    with system.client(system.key(scopes=("admin",))) as admin:
        body = {"query": "x", "mode": "hybrid", "deadline_ms": 1000}
        headers = {FAULT: fault}
        submitted = [
            admin.post(JOBS, json=body, headers=headers).json() for _ in range(5)
        ]
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(search, admin, fault, **body) for _ in range(5)]
            client.flushall()
            client.close()
            answers = [one.result(timeout=10) for one in asked]
        jobs = [
            admin.get(job["links"]["self"], params={"wait_ms": 6000}).json()
            for job in submitted
        ]
    for answer in answers:
        told = answer.json()
        state = told.get("state") or told["error"]["code"]
        assert state in {"done", "partial", "search_timeout"}
    assert {job["state"] for job in jobs} <= {"done", "partial", "failed"}


def test_without_a_broker_a_search_is_refused_at_once_and_says_when_to_come_again(
    make_system,
):
    system = make_system(BROKER_URL="redis://127.0.0.1:1/0")
    system.bring_up("api")
    with system.client() as caller:
        began = time.monotonic()
        for path in (QUERY, JOBS):
            answer = caller.post(path, json={"query": "x"})
            assert answer.status_code == 503, answer.text
            assert answer.json()["error"]["code"] == "broker_unavailable"
            assert answer.headers["Retry-After"] == "1"
        assert time.monotonic() - began < 3
        blank = caller.post(QUERY, json={"query": ""})
        assert blank.status_code == 200
