"""Answers by a model over the whole system: its chord, its events, its end."""

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx2
import psycopg
import pytest
from pydantic.alias_generators import to_camel

from api.agentic import agentic_search
from api.client import AsyncClient, Event
from tests.support.agent_runner import call, calls
from tests.support.fixtures.system import Factory
from tests.support.model_world import (
    CAUSE,
    QUESTION,
    World,
    mark_of_cause,
    model_world,
    words_it,
)
from tests.support.stub_servers.chat_server import (
    answers,
    begin_stream,
    goes_on,
    part,
    says,
    send_part,
)
from tests.support.typed import typist
from tests.support.waiting import until


@pytest.fixture(scope="module")
def world(make_lasting_system: Factory) -> Iterator[World]:
    with model_world(make_lasting_system) as made:
        yield made


@pytest.fixture(autouse=True)
def _heeds_its_prompt(world: World) -> None:
    world.server.replies = [words_it]
    world.server.hung_up.clear()


@pytest.mark.requirement("S4-09", "S0-47", "S0-58", "S4-05")
def test_a_question_goes_to_rag_where_a_model_is_configured(world):
    told = world.ask()
    assert told["method_used"] == "rag"
    assert told["search_modes_used"] == ["keyword", "semantic", "rag"]
    assert (told["answer_source"], told["llm_status"]) == ("llm", "ok"), told
    assert told["answer"].endswith("[#OPS-2@1].")
    layers = ["rank", "hydrate", "cards", "assemble", "generate"]
    assert [one for one in told["timings_ms"] if one in layers] == layers

    plain = world.ask(synthesize="deterministic")
    assert (plain["method_used"], plain["llm_status"]) == ("hybrid", None)
    words = world.ask("gate valve")
    assert words["method_used"] == "hybrid"


@pytest.mark.requirement("S4-59", "S4-30", "S4-33", "S4-05")
def test_a_watched_job_tells_the_whole_answer_before_any_word_of_a_model(world):
    is_watched = threading.Event()

    def waits(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Answer once somebody watches: of a job that has ended less is told."""
        is_watched.wait(10)
        words_it(handler, body)

    world.server.replies = [waits]
    job_id = world.submit()
    told = []
    for one in world.events("GET", f"/v1/search/jobs/{job_id}/events"):
        told.append(one)
        is_watched.set()

    names = [name for _, name, _ in told]
    assert [one for one in dict.fromkeys(names) if not one.startswith("branch_")] == [
        *("accepted", "planned", "results", "deterministic", "llm_chunk"),
        *("llm_status", "actions", "done"),
    ]
    numbers = [number for number, _, _ in told]
    assert numbers == sorted(set(numbers))
    # Understood, then searched, then ranked: each layer has ended before the next.
    last_branch = max(n for n, name in enumerate(names) if name == "branch_done")
    assert names.index("planned") < names.index("branch_done")
    assert last_branch < names.index("results")
    by_name = {name: data for _, name, data in told}
    assert by_name["results"]["answer"] is None
    assert "sagged to 3 bar" in by_name["deterministic"]["answer"]
    assert by_name["llm_status"]["status"] == "ok"
    assert by_name["llm_status"]["grounding_score"] == 1.0
    text = "".join(data["text"] for _, name, data in told if name == "llm_chunk")
    assert text.strip() == by_name["llm_status"]["answer"].replace(" [#", " [#")

    # Cut behind its text, it goes on behind the last event; cut before, that is read
    # again with the rights of now.
    path = f"/v1/search/jobs/{job_id}/events"
    assert list(world.events("GET", path, told[-2][0])) == told[-1:]
    for place in (0, 3, len(told) // 2):
        rest = list(world.events("GET", path, told[place][0]))
        steps = [
            one
            for one in told[place + 1 :]
            if one[1] == "planned" or one[1].startswith("branch_")
        ]
        assert rest[: len(steps)] == steps
        again = [name for _, name, _ in rest[len(steps) :]]
        assert again == ["results", "llm_status", "actions", "done"]
        assert rest[-1] == told[-1]
        assert rest[-3][2]["answer"] == by_name["llm_status"]["answer"]
    stored = world.client.get(f"/v1/search/jobs/{job_id}").json()["response"]
    assert stored["answer"] == by_name["llm_status"]["answer"]
    assert stored["llm_status"] == "ok"


@pytest.mark.requirement("S4-62", "S4-59")
def test_an_answer_to_known_hits_is_streamed_by_job_and_by_entries(world):
    hits = world.ask("gate valve air", mode="hybrid", synthesize=False)
    entry_id = hits["results"][0]["entry_id"]
    for body in (
        {"job_id": hits["job_id"]},
        {"query": QUESTION, "entry_ids": [entry_id]},
    ):
        told = list(world.events("POST", "/v1/search/synthesize", json=body))
        names = list(dict.fromkeys(name for _, name, _ in told))
        wanted = ["meta", "deterministic", "llm_chunk", "llm_status", "actions", "done"]
        assert names == wanted
        by_name = {name: data for _, name, data in told}
        assert by_name["meta"]["model"] == "here:tiny"
        assert by_name["meta"]["quota"]["remaining"] > 0
        assert by_name["done"]["state"] == "done"
        (opened,) = by_name["actions"]["actions"]
        assert opened["label"] == "Open OPS-2"
        if "query" in body:
            assert by_name["llm_status"]["status"] == "ok", by_name
            assert "[#OPS-2@1]" in by_name["llm_status"]["answer"]

    # The other prefix says the same in names of its own.
    camel = {"query": QUESTION, "entryIds": [entry_id]}
    alias = "/v1/advisory-ai/search/synthesize"
    spelt = {name: data for _, name, data in world.events("POST", alias, json=camel)}
    assert [*spelt] == [*by_name]
    for name, data in by_name.items():
        assert {to_camel(key) for key in data} == spelt[name].keys(), name

    refused = world.client.post("/v1/search/synthesize", json={"query": "x"})
    assert refused.status_code == 422
    absent = {"job_id": "0199f0c2-0000-7000-8000-000000000000"}
    assert world.client.post("/v1/search/synthesize", json=absent).status_code == 404


@pytest.mark.requirement("P8", "S4-34")
def test_a_slow_endpoint_costs_its_time_and_not_the_answer(world):
    def slow(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begin_stream(handler)
        send_part(handler, part("Valve 8 "))
        world.server.released.wait(10)

    world.server.replies = [slow]
    began = time.monotonic()
    told = world.ask(mode="rag", deadline_ms=2500)
    assert time.monotonic() - began < 3.0
    assert told["llm_status"] == "unavailable", told
    assert told["answer_source"] == "deterministic"
    assert "sagged to 3 bar" in told["answer"]
    assert "llm_failed" in {one["code"] for one in told["diagnostics"]}


def test_who_hangs_up_on_an_answer_stops_the_model(world):
    world.server.replies = [goes_on(world.server.released)]
    body = {"query": QUESTION, "entry_ids": [_first(world)]}
    for _, name, _ in world.events("POST", "/v1/search/synthesize", json=body):
        if name == "llm_chunk":
            break
    # The block of the stream is left, and with it the connection.
    assert world.server.hung_up.wait(5)


def test_a_job_that_is_cancelled_stops_the_model(world):
    world.server.replies = [goes_on(world.server.released)]
    job_id = world.submit()
    path = f"/v1/search/jobs/{job_id}"
    for _, name, _ in world.events("GET", f"{path}/events"):
        if name == "llm_chunk":
            break
    assert world.client.delete(path).json()["cancelled"]
    assert world.server.hung_up.wait(5)


@pytest.mark.requirement("S1-105", "S1-31", "S1-44")
def test_the_plain_shape_has_the_model_s_words_with_numbers(world):
    asked = {"query": QUESTION, "limit": 3}
    told = world.client.post("/search", json=asked).json()
    assert re.search(r"3 bar \[1\]\.", told["synthesis"]), told
    bare = world.client.post("/search", json={**asked, "include_citations": False})
    assert bare.json()["citations"] == []
    assert "[" not in bare.json()["synthesis"]


@pytest.mark.requirement("P8", "C41")
def test_a_worker_killed_while_a_model_speaks_costs_the_wording_alone(world):
    world.server.replies = [goes_on(world.server.released)]
    job_id = world.submit(deadline_ms=4000)
    for _, name, _ in world.events("GET", f"/v1/search/jobs/{job_id}/events"):
        if name == "llm_chunk":
            break
    world.system.kill("answer")
    world.server.replies = [answers(503, {}, "application/json")]
    direct = world.ask(mode="rag", deadline_ms=2000)
    assert "sagged to 3 bar" in direct["answer"]
    assert (direct["llm_status"], direct["answer_source"]) == (
        "unavailable",
        "deterministic",
    )
    world.system.start("upkeep")
    until(
        lambda: world.client.get(f"/v1/search/jobs/{job_id}").json()["ended_at"],
        within_seconds=15,
        what="the end of the job",
    )
    world.system.bring_up("answer")
    world.server.replies = [words_it]
    assert world.ask()["llm_status"] == "ok"


@pytest.mark.slow
def test_a_client_reads_on_where_the_server_was_killed_while_a_model_spoke(world):
    killed = threading.Event()

    def slowly(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        begin_stream(handler)
        send_part(handler, part("Valve 8 closed because"))
        assert killed.wait(3)
        rest = f" the compressed air had sagged to 3 bar [{mark_of_cause(body)}]."
        for one in (part(rest), part(finish="stop"), "data: [DONE]\n\n"):
            send_part(handler, one)

    world.server.replies = [slowly]
    system = world.system

    async def listen() -> list[Event]:
        heard = []
        async with AsyncClient(system.url, system.key()) as client:
            async for event in client.ask(QUESTION, mode="rag", deadline_ms=20_000):
                heard.append(event)
                if event.name == "llm_chunk" and not killed.is_set():
                    system.kill("api")
                    killed.set()
                    system.start("api")
        return heard

    heard = asyncio.run(listen())
    assert killed.is_set(), [(one.name, one.data) for one in heard[-4:]]
    numbers = [int(one.id) for one in heard]
    assert numbers == sorted(set(numbers))
    names = [one.name for one in heard]
    assert names[-1] == "done"
    (status,) = [one.data for one in heard if one.name == "llm_status"]
    assert status["status"] == "ok"
    assert "closed because the compressed air had sagged to 3 bar" in status["answer"]


@pytest.mark.requirement("S0-02", "S0-04")
def test_every_mode_answers_in_one_shape_from_the_same_entries(world):
    shapes = {}
    for mode in ("auto", "keyword", "semantic", "hybrid", "rag", "agentic"):
        shapes[mode] = world.ask(QUESTION, mode=mode)
    world.server.replies = [
        calls(call("keyword", query="gate valve 8")),
        says("The compressed air had sagged to 3 bar [1.1]."),
    ]
    shapes["agent"] = world.run(mode="agent")["response"]

    for mode, found in shapes.items():
        assert found["mode"] == mode
        assert [one["external_id"] for one in found["results"]] == ["OPS-2"], mode
        assert found["reasoning"], mode
        assert set(found["sources"]) <= {"OPS-2", "OPS-2@1"}, mode
        assert found["answer"] is None or "sagged to 3 bar" in found["answer"], mode
    answered = {mode for mode, found in shapes.items() if found["answer"]}
    assert answered == {"auto", "hybrid", "rag", "agentic", "agent"}
    (fields,) = {frozenset(one) - {"agent"} for one in shapes.values()}
    assert {"results", "answer", "sources", "reasoning"} <= fields


@pytest.mark.requirement("S0-48", "C41", "S2-18")
def test_a_module_that_fails_costs_rag_its_hits_and_all_of_them_cost_the_job(world):
    def faulty(module: str, **more: Any) -> httpx2.Response:
        fault = {"X-Logchord-Fault": f"branch={module};error=database_unavailable"}
        with world.system.client(world.system.key(scopes=("admin", "search"))) as admin:
            asked = {"query": QUESTION, "mode": "rag", **more}
            return admin.post("/v1/search/query", json=asked, headers=fault)

    one = faulty("semantic").json()
    assert {b["name"]: b["status"] for b in one["branches"]} == {
        "pg_fts": "ok",
        "semantic": "error",
    }
    assert (one["state"], one["degraded"]) == ("partial", True)
    # The modes that were used are those of the branches that succeeded.
    assert one["search_modes_used"] == ["keyword", "rag"]
    assert "sagged to 3 bar" in one["answer"]
    (warned,) = [o for o in one["diagnostics"] if o["level"] == "warning"]
    assert (warned["source"], warned["code"]) == (
        "rag.retrieve.semantic",
        "database_unavailable",
    )

    every = faulty("keyword", modules=["keyword"])
    assert every.status_code == 503, every.text


@pytest.mark.requirement("S4-31")
def test_metrics_tell_how_many_answers_a_tenant_has_left(world):
    told = re.compile(
        r'^logchord_llm_quota_remaining{tenant="(.+)"} (.+)', re.MULTILINE
    )

    def left() -> dict[str, float]:
        text = world.client.get("/metrics").text
        return {tenant: float(count) for tenant, count in told.findall(text)}

    before = left()
    assert world.ask()["llm_status"] == "ok"
    assert left() == {"default": before["default"] - 1}


@pytest.mark.requirement("S3-01", "S3-59")
def test_a_job_of_several_parts_is_searched_part_by_part_and_merged(world):
    query = "gate valve and compressed air"
    job = world.run(query=query, mode="agentic", validation_threshold=0.0)

    assert (job["state"], job["error"]) == ("done", None), job
    parts = {one["sub_query"] for one in job["branches"]}
    assert parts == {query, "gate valve", "compressed air"}
    assert {one["status"] for one in job["branches"]} <= {"ok", "empty", "skipped"}
    found = job["response"]
    assert found["sub_queries"] == [query, "gate valve", "compressed air"]
    (hit,) = found["results"]
    assert (hit["external_id"], hit["multi_source"]) == ("OPS-2", True)
    assert hit["found_by"] == found["sub_queries"]
    assert hit["validation_score"] is not None


@pytest.mark.requirement("S3-41", "S3-42", "S3-45")
def test_the_terminal_prints_the_parts_and_what_each_found(world, tmp_path):
    parts = ["gate valve", "compressed air"]
    query = " and ".join(parts)
    asked = ("--mode", "agentic", query)
    run = typist(world.system, tmp_path, world.system.key())
    printed = run("search", *asked).stdout.splitlines()

    # What a model that hashes words makes of them is nobody's to know.
    scores = re.compile(r"\[RRF:0\.\d{4} V:[01]\.\d\d\]")
    assert [scores.sub("[RRF V]", one) for one in printed] == [
        'AGENTIC SEARCH: "gate valve and compressed air"',
        "=" * 60,
        "   Decomposed into 3 sub-queries:",
        '      1. "gate valve and compressed air"',
        '      2. "gate valve"',
        '      3. "compressed air"',
        "   1 unique candidates found \u2192 returning top 1",
        "<logchord_grounding>",
        "  1. [RRF V] Gate valve 8",
        "        path: logchord:default/api/OPS-2",
        f"        Found by: {[query, *parts]}",
        "</logchord_grounding>",
    ]

    more = run("search", "--debug", *asked).stdout.splitlines()
    assert more[: len(printed)] == printed
    traced = "\n".join(more[len(printed) :])
    assert "score" in traced, more
    told = run("ask", *asked).stdout
    assert "[1]" in told
    assert "cites     [1] OPS-2  Gate valve 8" in told


@pytest.mark.requirement("S3-43", "S3-57", "S3-58")
def test_programs_read_hits_by_the_names_of_other_software(
    world, tmp_path, monkeypatch
):
    query = "gate valve and compressed air"
    environ = {"LOGCHORD_URL": world.system.url, "LOGCHORD_API_KEY": world.system.key()}
    command = [sys.executable, "-m", "api.agentic", query, "--json"]
    told = subprocess.run(
        command,
        env={**world.system.environment, **environ},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(told.stdout)
    assert found.keys() == {"results", "sub_queries", "decomposed", "meta"}
    assert found["meta"] == {"total_candidates": 1, "returned": 1, "sub_query_count": 3}
    (hit,) = found["results"]
    assert hit.keys() == {"id", "content", "rrf_score", "metadata"}
    assert hit["content"] == CAUSE

    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    (one,) = agentic_search(query)["results"]
    assert (one.id, f"{one.rrf_score:.4f}") == (hit["id"], f"{hit['rrf_score']:.4f}")
    assert one.metadata == hit["metadata"]
    assert one.metadata["found_by"] == found["sub_queries"]
    assert one.metadata["multi_source"] is True
    assert 0.25 <= one.metadata["validation_score"] <= 1.0
    assert one.metadata["path"] == "logchord:default/api/OPS-2"


def test_every_worker_that_compares_with_a_question_has_loaded_its_model(world):
    def loaded(kind: str) -> list[str] | None:
        with psycopg.connect(world.system.database) as conn:
            (models,) = conn.execute(
                "SELECT models FROM worker_process WHERE kind = %s"
                " ORDER BY since DESC LIMIT 1",
                (kind,),
            ).fetchone() or (None,)
        return models

    for kind in ("search", "answer", "embed"):
        until(
            lambda kind=kind: loaded(kind) == ["hashing-384"],
            within_seconds=20,
            what=f"the model of {kind}",
        )
    assert loaded("enhance") is None


def _first(world: World) -> str:
    hits = world.ask("gate valve air", mode="hybrid", synthesize=False)
    return str(hits["results"][0]["entry_id"])
