"""Answers by a model over the whole system: its chord, its events, its end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from tests.support.fixtures.system import Factory, System
from tests.support.stub_servers.chat_server import (
    ChatScript,
    answers,
    begin_stream,
    chatting,
    goes_on,
    part,
    says,
    send_part,
)
from tests.support.waiting import until

QUESTION = "Why did gate valve 8 close?"
CAUSE = "Gate valve 8 closed because the compressed air had sagged to 3 bar."


@dataclass
class World:
    """A system with one logbook, and the endpoint that its workers ask."""

    system: System
    server: ChatScript
    client: httpx.Client

    def events(
        self, method: str, path: str, after: int = 0, **more: Any
    ) -> Iterator[tuple[int, str, dict[str, Any]]]:
        headers = {"Last-Event-ID": str(after)} if after else {}
        with self.client.stream(method, path, headers=headers, **more) as answer:
            assert answer.status_code == 200, answer.read()
            number, name = 0, ""
            for line in answer.iter_lines():
                kind, _, value = line.partition(": ")
                if kind == "id":
                    number = int(value)
                elif kind == "event":
                    name = value
                elif kind == "data":
                    yield number, name, json.loads(value)

    def ask(self, query: str = QUESTION, **more: Any) -> dict[str, Any]:
        answer = self.client.post("/v1/search/query", json={"query": query, **more})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def submit(self, **more: Any) -> str:
        body = {"query": QUESTION, "mode": "rag", **more}
        answer = self.client.post("/v1/search/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])


def words_it(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """Answer as a model does that heeds its prompt."""
    prompt = body["messages"][1]["content"]
    found = re.search(r"^\[(\d+\.\d+)\] .*sagged to 3 bar", prompt, re.MULTILINE)
    assert found is not None, prompt
    said = (
        f"Valve 8 closed because the compressed air had sagged to 3 bar [{found[1]}]."
    )
    says(said)(handler, body)


@pytest.fixture(scope="module")
def world(make_lasting_system: Factory) -> Iterator[World]:
    with chatting(words_it) as server:
        system = make_lasting_system(
            LOGCHORD_API__PROVIDERS__HERE__BASE_URL=server.url,
            LOGCHORD_API__PROVIDERS__HERE__TIMEOUT_SECONDS="4",
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
            LOGCHORD_SYNTHESIS__QUOTA_PER_DAY="1000",
            LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE="1000",
            EMBEDDING_MODEL="hashing-384",
        )
        system.start("api", "search", "answer", "enhance", "embed")
        system.wait_ready("search", "answer", "enhance")
        with system.client() as client:
            made = World(system, server, client)
            entry = {"external_id": "OPS-2", "text": CAUSE, "title": "Gate valve 8"}
            client.post("/v1/entries", json=entry).raise_for_status()
            until(
                lambda: bool(made.ask("gate valve", mode="keyword")["results"]),
                within_seconds=30,
                what="the words of the entry",
            )
            yield made


@pytest.fixture(autouse=True)
def _heeds_its_prompt(world: World) -> None:
    world.server.replies = [words_it]
    world.server.hung_up.clear()


@pytest.mark.requirement("S4-09", "S0-47", "S0-58")
def test_a_question_goes_to_rag_where_a_model_is_configured(world: World) -> None:
    told = world.ask()
    assert told["method_used"] == "rag"
    assert told["search_modes_used"] == ["keyword", "semantic", "rag"]
    assert (told["answer_source"], told["llm_status"]) == ("llm", "ok"), told
    assert told["answer"].endswith("[#OPS-2@1].")
    assert {"rank", "hydrate", "assemble", "generate"} <= told["timings_ms"].keys()

    plain = world.ask(synthesize="deterministic")
    assert (plain["method_used"], plain["llm_status"]) == ("hybrid", None)
    words = world.ask("gate valve")
    assert words["method_used"] == "hybrid"


@pytest.mark.requirement("S4-59", "S4-30", "S4-33")
def test_a_watched_job_tells_the_whole_answer_before_any_word_of_a_model(
    world: World,
) -> None:
    job_id = world.submit()
    told = list(world.events("GET", f"/v1/search/jobs/{job_id}/events"))

    names = [name for _, name, _ in told]
    assert [one for one in dict.fromkeys(names) if not one.startswith("branch_")] == [
        *("accepted", "planned", "results", "deterministic", "llm_chunk"),
        *("llm_status", "actions", "done"),
    ]
    numbers = [number for number, _, _ in told]
    assert numbers == sorted(set(numbers))
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
def test_an_answer_to_known_hits_is_streamed_by_job_and_by_entries(
    world: World,
) -> None:
    hits = world.ask("gate valve air", mode="hybrid", synthesize=False)
    entry_id = hits["results"][0]["entry_id"]
    for body in (
        {"job_id": hits["job_id"]},
        {"query": QUESTION, "entry_ids": [entry_id]},
    ):
        told = list(world.events("POST", "/v1/search/synthesize", json=body))
        names = list(dict.fromkeys(name for _, name, _ in told))
        wanted = ["meta", "deterministic", "llm_chunk", "llm_status", "actions", "done"]
        assert names == [one for one in wanted if one in names]
        by_name = {name: data for _, name, data in told}
        assert by_name["meta"]["model"] == "here:tiny"
        assert by_name["meta"]["quota"]["remaining"] > 0
        assert by_name["done"]["state"] == "done"
        if "query" in body:
            assert by_name["llm_status"]["status"] == "ok", by_name
            assert "[#OPS-2@1]" in by_name["llm_status"]["answer"]

    refused = world.client.post("/v1/search/synthesize", json={"query": "x"})
    assert refused.status_code == 422
    absent = {"job_id": "0199f0c2-0000-7000-8000-000000000000"}
    assert world.client.post("/v1/search/synthesize", json=absent).status_code == 404


@pytest.mark.requirement("P8", "S4-34")
def test_a_slow_endpoint_costs_its_time_and_not_the_answer(world: World) -> None:
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


def test_who_hangs_up_on_an_answer_stops_the_model(world: World) -> None:
    world.server.replies = [goes_on(world.server.released)]
    body = {"query": QUESTION, "entry_ids": [_first(world)]}
    for _, name, _ in world.events("POST", "/v1/search/synthesize", json=body):
        if name == "llm_chunk":
            break
    # The block of the stream is left, and with it the connection.
    assert world.server.hung_up.wait(5)


def test_a_job_that_is_cancelled_stops_the_model(world: World) -> None:
    world.server.replies = [goes_on(world.server.released)]
    job_id = world.submit()
    path = f"/v1/search/jobs/{job_id}"
    for _, name, _ in world.events("GET", f"{path}/events"):
        if name == "llm_chunk":
            break
    assert world.client.delete(path).json()["cancelled"]
    assert world.server.hung_up.wait(5)


@pytest.mark.requirement("S1-105", "S1-31", "S1-44")
def test_the_plain_shape_has_the_model_s_words_with_numbers(world: World) -> None:
    asked = {"query": QUESTION, "limit": 3, "min_relevance_score": 0.0}
    told = world.client.post("/search", json=asked).json()
    assert re.search(r"3 bar \[1\]\.", told["synthesis"]), told
    bare = world.client.post("/search", json={**asked, "include_citations": False})
    assert bare.json()["citations"] == []
    assert "[" not in bare.json()["synthesis"]


@pytest.mark.requirement("P8", "C41")
def test_a_worker_killed_while_a_model_speaks_costs_the_wording_alone(
    world: World,
) -> None:
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
    world.system.start("answer")
    world.system.wait_ready("answer")
    world.server.replies = [words_it]
    assert world.ask()["llm_status"] == "ok"


def _first(world: World) -> str:
    hits = world.ask("gate valve air", mode="hybrid", synthesize=False)
    return str(hits["results"][0]["entry_id"])
