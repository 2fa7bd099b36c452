"""Unified search over HTTP: both prefixes, what is offered, what is kept of it."""

from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest

from tests.support.fixtures.system import System
from tests.support.waiting import until
from tests.support.written import ok

QUERY = "Why did gate valve 8 close?"
ENTRY = {
    "source": "api",
    "external_id": "OPS-1",
    "title": "Gate valve 8 closed, beam lost",
    "text": "Gate valve 8 closed because the compressed air had sagged to 3 bar. GV08.",
    "metadata": {"snake_case": {"inner_key": 1}},
    "entry_time": "2026-03-02T05:10:00Z",
}
OURS, THEIRS = "/v1/search", "/v1/advisory-ai/search"
# The events of a question of which nothing is found.
FOLLOWING = ("query", "zero_result", "answer_frame")
ROUTES = (
    "/query",
    "/synthesize",
    "/suggestions/evaluate",
    "/quality/metrics",
    "/quality/alerts",
)


@pytest.fixture
def logbook(client: httpx2.Client) -> httpx2.Client:
    answer = client.post("/v1/entries?wait_for=index&wait_ms=30000", json=ENTRY)
    assert answer.is_success, answer.text
    return client


def events_of(system: System, tenant: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(system.database) as conn:
        return conn.execute(
            "SELECT type, query_key, session_key, details, job_id FROM search_event"
            " WHERE tenant = %s ORDER BY at, type",
            (tenant,),
        ).fetchall()


@pytest.mark.requirement("S4-78", "S4-47", "S4-48")
def test_openapi_has_the_contracts_of_both_prefixes(api: System) -> None:
    with api.client() as anybody:
        document = ok(anybody.get("/openapi.json"))
    for prefix in (OURS, THEIRS):
        assert all(f"{prefix}{route}" in document["paths"] for route in ROUTES)
    schemas = document["components"]["schemas"]
    assert "viability_state" in schemas["SuggestionOut"]["properties"]
    camel = schemas["CamelSearchResponse"]["properties"]
    assert {"contextAnswer", "overflow", "coverage", "cards"} <= camel.keys()
    assert {"viabilityState", "scopeReady"} <= schemas["CamelSuggestionOut"][
        "properties"
    ].keys()


@pytest.mark.requirement("S4-74", "S4-75", "S4-60", "S4-64", "S4-35", "C36")
def test_the_other_prefix_answers_the_same_in_camel_case(logbook) -> None:
    asked = {"query": "Why did GV08 close?", "mode": "hybrid"}
    ours = ok(logbook.post(f"{OURS}/query", json=asked))
    theirs = ok(
        logbook.post(f"{THEIRS}/query", json={**asked, "sessionId": "s", "debug": True})
    )
    assert theirs["stabilityHash"] == ours["stability_hash"]
    assert theirs["contextAnswer"]["status"] == ours["context_answer"]["status"]
    assert theirs["meta"]["totalCandidates"] == ours["meta"]["total_candidates"]
    assert "_" not in "".join(theirs["meta"])
    (hit,) = theirs["results"]
    # What an entry says is nobody's to spell.
    assert hit["metadata"] == ENTRY["metadata"]
    assert hit["entryId"] == ours["results"][0]["entry_id"]
    plain = ok(logbook.post("/search", json={"query": asked["query"]}))
    assert [one["metadata"]["entry_id"] for one in plain["results"]] == [hit["entryId"]]
    assert theirs["cards"][0]["cardId"] == ours["cards"][0]["card_id"]
    # Cards are there beside an answer, and without one.
    assert theirs["answer"] == ours["answer"] != None  # noqa: E711
    for prefix, name in ((OURS, "context_answer"), (THEIRS, "contextAnswer")):
        bare = {**asked, "synthesize": False}
        plain = ok(logbook.post(f"{prefix}/query", json=bare))
        assert (plain["answer"], plain[name]) == (None, None)
        assert len(plain["cards"]) == len(ours["cards"])
        assert len(plain["results"]) == 1
    # On a busy machine it may not be counted in time: then another is asked.
    until(
        lambda: (
            ok(logbook.post(f"{THEIRS}/query", json=asked))["coverage"][
                "entriesInWindow"
            ]
            == 1
        ),
        within_seconds=20,
        what="an answer whose window is counted",
    )
    refused = logbook.post(f"{THEIRS}/query", json={"query": "x", "unheardOf": 1})
    assert refused.status_code == 422
    assert "request_id" in refused.json()["error"]


@pytest.mark.requirement("S4-61", "S4-72", "S4-73", "S4-77")
def test_what_is_offered_is_evaluated_and_nothing_recorded(logbook, running, tenant):
    asked = {"queries": [QUERY, "zebra", "gate valve 8 exploded"]}
    told = ok(logbook.post(f"{OURS}/suggestions/evaluate", json=asked))
    assert [(one["viable"], one["viability_state"]) for one in told["items"]] == [
        (True, "grounded"),
        (False, "no_match"),
        (False, "needs_clarification"),
    ]
    assert told["coverage"]["domains"][0]["domain"] == "logbook"
    assert told["coverage"]["domains"][0]["candidates"] == 2
    spelt = ok(logbook.post(f"{THEIRS}/suggestions/evaluate", json=asked))
    assert [one["viabilityState"] for one in spelt["items"]] == [
        one["viability_state"] for one in told["items"]
    ]
    assert all(one["scopeReady"] for one in spelt["items"])
    too_many = {"queries": ["x"] * 11}
    assert (
        logbook.post(f"{OURS}/suggestions/evaluate", json=too_many).status_code == 422
    )
    # Telemetry writes one behind the other: what follows shows what came before.
    ok(logbook.post(f"{OURS}/query", json={"query": "zebrafish?"}))
    kept = until(
        lambda: (
            rows if len(rows := events_of(running, tenant)) >= len(FOLLOWING) else None
        ),
        within_seconds=20,
        what="the events of a question that was asked",
    )
    assert sorted(row[0] for row in kept) == sorted(FOLLOWING)
    assert len({row[1] for row in kept}) == 1


@pytest.mark.requirement("S4-72")
def test_where_nothing_was_written_no_question_has_an_answer(client) -> None:
    asked = {"queries": [QUERY, "zebra"]}
    told = ok(client.post(f"{OURS}/suggestions/evaluate", json=asked))["items"]
    assert [one["viability_state"] for one in told] == ["corpus_unready"] * 2
    assert not any(one["viable"] or one["scope_ready"] for one in told)


@pytest.mark.requirement("S4-43", "S4-44", "S4-57")
def test_an_answer_is_noted_without_its_text(logbook, running, tenant) -> None:
    session = {"session_id": "s-1"}
    ok(logbook.post(f"{OURS}/query", json={"query": "zebrafish?", **session}))
    ok(logbook.post(f"{OURS}/query", json={"query": QUERY, **session}))
    expected = [
        *("query", "zero_result", "answer_frame"),
        *("reformulation", "query", "answer_frame"),
    ]
    kept = until(
        lambda: (
            rows if len(rows := events_of(running, tenant)) == len(expected) else None
        ),
        within_seconds=20,
        what="the events of both questions",
    )
    assert sorted(row[0] for row in kept) == sorted(expected)
    assert len({row[1] for row in kept}) == 2
    assert len({row[2] for row in kept}) == 1
    assert "zebrafish" not in str(kept)
    assert "valve" not in str(kept)


@pytest.mark.requirement("S4-57")
def test_an_answer_does_not_wait_for_a_table_that_is_locked(logbook, running) -> None:
    with psycopg.connect(running.database) as conn:
        conn.execute("LOCK TABLE search_event IN ACCESS EXCLUSIVE MODE")
        told = ok(logbook.post(f"{OURS}/query", json={"query": QUERY}))
        assert told["context_answer"]["status"] == "grounded"
        assert told["state"] == "done"
        conn.rollback()


@pytest.mark.requirement("S4-41", "S4-43", "S4-46")
def test_a_page_tells_of_events_and_feedback(caller, operator, api, tenant) -> None:
    job = str(uuid4())
    event = {
        "type": "answer_frame",
        "job_id": job,
        "session_id": "s-2",
        "query": "why zebrafish",
        "details": {"status": "clarify", "code": "unsupported_words", "results": 3},
    }
    more = [{"type": "rescue_action"}, {"type": "reformulation", "query": "x"}]
    told = caller.post(f"{OURS}/analytics", json={"events": [event, event, *more]})
    assert ok(told, 202) == {"recorded": 4}
    assert "zebrafish" not in str(events_of(api, tenant))
    for wrong in (
        {"type": "unheardof"},
        {**event, "details": {"said": "any words of theirs"}},
        {**event, "details": {f"k{n}": "x" * 40 for n in range(40)}},
        {**event, "text": "x"},
    ):
        refused = caller.post(f"{OURS}/analytics", json={"events": [wrong]})
        assert refused.status_code == 422, wrong
    many = {"events": [{"type": "click"}] * 51}
    assert caller.post(f"{OURS}/analytics", json=many).status_code == 422
    said = {"job_id": job, "verdict": "wrong_citation", "comment": "of another pump"}
    assert ok(caller.post(f"{OURS}/feedback", json=said), 202) == {"recorded": 1}

    assert caller.get(f"{OURS}/quality/metrics").status_code == 403
    signals = ok(operator.get(f"{OURS}/quality/metrics"))
    assert signals["clarify_rate"] == signals["fallback_answer_rate"] == 1
    assert (signals["rescue_action_count"], signals["reformulation_count"]) == (1, 1)
    spelt = ok(operator.get(f"{THEIRS}/quality/metrics?windowHours=2"))
    assert spelt["clarifyRate"] == 1
    for _ in range(2):
        ok(
            caller.post(
                f"{OURS}/analytics",
                json={"events": [{**event, "job_id": str(uuid4())}]},
            ),
            202,
        )
    (alert,) = ok(operator.get(f"{OURS}/quality/alerts"))["items"]
    assert (alert["type"], alert["count"]) == ("fallback_loop", 1)
    (spelt_alert,) = ok(operator.get(f"{THEIRS}/quality/alerts"))["items"]
    assert spelt_alert["queryKey"] == alert["query_key"]


@pytest.mark.requirement("S4-42")
def test_switched_off_nothing_is_kept(make_api, tenant: str) -> None:
    quiet = make_api(LOGCHORD_TELEMETRY__ENABLED="false")
    quiet.start("search")
    quiet.wait_ready("search")
    with quiet.client(quiet.key(tenant=tenant)) as caller:
        # Searches go on; the page keeps no visit. The first of a process may be late.
        asked = {"query": "zebrafish?", "mode": "keyword"}
        until(
            lambda: caller.post(f"{OURS}/query", json=asked).status_code == 200,
            within_seconds=60,
            what="a search",
        )
        html = {"accept": "text/html"}
        page = caller.get("/search?q=zebrafish&mode=keyword", headers=html)
        assert page.status_code == 200
        assert not caller.cookies
        told = caller.post(f"{OURS}/analytics", json={"events": [{"type": "click"}]})
        assert ok(told, 202) == {"recorded": 0}
        said = {"job_id": str(uuid4()), "verdict": "good"}
        assert ok(caller.post(f"{OURS}/feedback", json=said), 202) == {"recorded": 0}
    # Whoever ends writes what waits first.
    quiet.stop("api")
    with psycopg.connect(quiet.database) as conn:
        for table in ("search_event", "search_feedback"):
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.requirement("S4-40")
def test_whoever_reads_results_alone_needs_nothing_of_what_is_beside_them(logbook):
    plain = {"query": "Why did GV08 close?", "method": "keyword"}
    expected = ok(logbook.post("/search", json=plain))
    asked = {"query": plain["query"], "mode": "keyword"}

    for more in ({}, {"synthesize": False}):
        told = ok(logbook.post(f"{OURS}/query", json={**asked, **more}))
        kept = [
            {
                "content": one["content"],
                "source": one["source_uri"],
                "rank": one["rank"],
                "entry_id": one["entry_id"],
            }
            for one in told["results"]
        ]
        assert kept == [
            {
                **{name: one[name] for name in ("content", "source", "rank")},
                "entry_id": one["metadata"]["entry_id"],
            }
            for one in expected["results"]
        ]
        assert kept


@pytest.mark.requirement("S4-82", "S4-86")
def test_unified_search_is_switched_off_for_one_facility_alone(make_api) -> None:
    name, other = "closed-one", "open-one"
    flags = f'{{"{name}": {{"enabled": false}}}}'
    system = make_api(LOGCHORD_TENANTS=flags)
    asked = {"queries": ["x"]}
    for tenant, status in ((name, 422), (other, 200)):
        with system.client(system.key(tenant=tenant)) as caller:
            for prefix in (OURS, THEIRS):
                told = caller.post(f"{prefix}/suggestions/evaluate", json=asked)
                assert told.status_code == status, told.text
                if status != 200:
                    assert told.json()["error"]["code"] == "module_not_enabled"
                    asking = caller.post(f"{prefix}/query", json={"query": "x"})
                    assert asking.json()["error"]["code"] == "module_not_enabled"
        with system.client(system.key(tenant=tenant, scopes=("admin",))) as admin:
            for prefix in (OURS, THEIRS):
                told = admin.get(f"{prefix}/quality/metrics")
                assert told.status_code == status, told.text
            if status != 200:
                page = admin.get("/search?q=x", headers={"accept": "text/html"})
                assert page.status_code == status
                assert "module_not_enabled" in page.text
