"""A package outside this repository brings search modules and pipelines."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.contract.outside import EXAMPLES, installed_package
from tests.support.agent_runner import call, calls
from tests.support.fixtures.system import Factory, System
from tests.support.read_page import read_page
from tests.support.stub_servers.chat_server import ChatScript, chatting, says
from tests.support.waiting import until
from tests.support.written import ok

PINNED, BROKEN = "pinned", "pinned_later"
PACKAGES = {EXAMPLES / "search_module": BROKEN, EXAMPLES / "pipeline": ""}
# Of entry points, and of what the package registers itself.
BY_POINT, REGISTERED, AGAIN = "pinned_first", "words_and_pins", "pinned_again"
# What is pinned says so in its metadata, which no search by words reads.
FOR_KLYSTRON = {"pinned": "klystron"}
ENTRIES: tuple[dict[str, Any], ...] = (
    {"external_id": "words", "text": "the klystron tripped in the morning"},
    {
        "external_id": "pin",
        "text": "see the drawing",
        "metadata": {"pinned": "Klystron", "asked_for": "klystron"},
    },
    {
        "external_id": "theirs",
        "text": "only for ben",
        "metadata": FOR_KLYSTRON,
        "readers": ["ben"],
    },
    {
        "external_id": "ops",
        "text": "for operations",
        "metadata": FOR_KLYSTRON,
        "logbooks": ["ops"],
    },
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the built packages are installed, beside what this run can import."""
    folders = (
        installed_package(one, tmp_path_factory.mktemp(one.name), broken)
        for one, broken in PACKAGES.items()
    )
    return os.pathsep.join(map(str, folders))


@pytest.fixture(scope="module")
def script() -> Iterator[ChatScript]:
    with chatting(says("nothing")) as found:
        yield found


@pytest.fixture(scope="module")
def system(make_lasting_system: Factory, installed: str, script: ChatScript) -> System:
    made = make_lasting_system(
        LOGCHORD_API__PROVIDERS__HERE__BASE_URL=script.url,
        LOGCHORD_REASONING__PROVIDER="here",
        LOGCHORD_REASONING__MODEL_ID="tiny",
        LOGCHORD_PIPELINES__AGENT__RETRIEVAL_MODULES=(
            "keyword pinned pinned_first words_and_pins"
        ),
        LOGCHORD_PIPELINES__RAG__RETRIEVAL_MODULES="keyword words_and_pins",
        PYTHONPATH=installed,
        LOGCHORD_SEARCH_MODULES__PINNED__ENABLED="true",
        LOGCHORD_SEARCH_MODULES__PINNED_LATER__ENABLED="true",
        LOGCHORD_REGISTRY="logchord_pinned.registry",
        LOGCHORD_SEARCH_MODULES__PINNED_AGAIN__ENABLED="true",
        LOGCHORD_PIPELINES__PINNED_FIRST__ENABLED="true",
        LOGCHORD_PIPELINES__PINNED_FIRST__RETRIEVAL_MODULES="keyword pinned",
        LOGCHORD_PIPELINES__WORDS_AND_PINS__ENABLED="true",
        LOGCHORD_PIPELINES__WORDS_AND_PINS__RETRIEVAL_MODULES="keyword pinned_again",
        LOGCHORD_MCP__TOOLS="all",
        LOGCHORD_FAULT_INJECTION="true",
        EMBEDDING_MODEL="hashing-384",
    )
    made.bring_up("api", "search", "answer", "enhance")
    with made.client() as client:
        for entry in ENTRIES:
            client.post("/v1/entries", json=entry).raise_for_status()

        def is_read() -> bool:
            by_words = ask(client, "klystron OR drawing", mode="keyword")
            return names(by_words) == ["pin", "words"]

        until(is_read, within_seconds=30, what="the words of the entries")
    return made


@pytest.fixture
def client(system: System) -> Iterator[httpx2.Client]:
    with system.client() as made:
        yield made


def ask(client: httpx2.Client, query: str, **fields: Any) -> dict[str, Any]:
    return ok(client.post("/v1/search/query", json={"query": query, **fields}))


def names(body: dict[str, Any]) -> list[str]:
    return sorted(one["external_id"] for one in body["results"])


def branch(body: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in body["branches"] if one["name"] == name]
    return found


@pytest.mark.requirement("S0-07", "S0-08", "S0-09")
def test_a_module_of_another_package_is_a_branch_of_searches_and_shown_as_one(client):
    told = client.get("/v1/capabilities").json()
    (known,) = [one for one in told["modules"] if one["name"] == PINNED]
    assert (known["enabled"], known["description"]) == (
        True,
        "What the control room has pinned.",
    )
    assert [one["enabled"] for one in told["modes"] if one["name"] == PINNED] == [True]

    body = ask(client, "klystron", modules=["keyword", PINNED])

    assert names(body) == ["ops", "pin", "words"]
    assert branch(body, PINNED)["status"] == "ok"
    found_by = {one["external_id"]: one["found_by"] for one in body["results"]}
    assert (found_by["words"], found_by["pin"]) == (["pg_fts"], [PINNED])
    (pin,) = [one for one in body["results"] if one["external_id"] == "pin"]
    assert pin["scores"]["pins"] == 1.0
    assert body["search_modes_used"] == ["keyword", PINNED, "hybrid"]
    assert not body["degraded"]


@pytest.mark.requirement("S4-14")
def test_it_is_asked_at_the_same_time_as_words_and_meaning(make_system, installed):
    whole = make_system(
        PYTHONPATH=installed,
        LOGCHORD_SEARCH_MODULES__PINNED__ENABLED="true",
        LOGCHORD_MCP__TOOLS="all",
        LOGCHORD_FAULT_INJECTION="true",
        EMBEDDING_MODEL="hashing-384",
    )
    whole.bring_up("api", "search", "enhance", "embed")
    with whole.client(whole.key(scopes=("admin",))) as admin:
        admin.post("/v1/entries", json=ENTRIES[0]).raise_for_status()

        def asked(**fields: Any) -> list[dict[str, Any]]:
            body = ask(admin, "klystron", mode="hybrid", **fields)
            sent: list[dict[str, Any]] = body["branches"]
            assert [one["name"] for one in sent] == ["pg_fts", "semantic", PINNED]
            return sent

        until(lambda: asked()[1]["status"] == "ok", within_seconds=30, what="a vector")
        # Each slow one is sent before those that follow, which would wait for it.
        for place, slow in enumerate(("pg_fts", "semantic")):
            admin.headers["X-Logchord-Fault"] = f"branch={slow};delay_ms=700"
            sent = asked(deadline_ms=6000)
            assert {one["status"] for one in sent} <= {"ok", "empty"}
            first = sent[place]
            assert first["took_ms"] > 700
            for other in sent[place + 1 :]:
                # It began, and was done, before the one sent before it had ended.
                ended = other["queued_ms"] + other["took_ms"]
                assert ended < first["queued_ms"] + first["took_ms"]


def test_it_can_be_asked_alone_as_a_mode_of_its_own_name(client):
    body = ask(client, "klystron gallery", mode=PINNED)
    assert names(body) == ["ops", "pin"]
    assert {one["relevance_score"] for one in body["results"]} == {0.5}
    assert [one["name"] for one in body["branches"]] == [PINNED]


def test_what_it_names_passes_rights_filters_and_what_is_excluded(system, client):
    # It names every pinned entry; the one for Ben alone is shown to nobody else.
    assert "theirs" not in names(ask(client, "klystron", mode=PINNED))
    one = {"mode": PINNED, "filters": {"logbook": "ops"}}
    assert names(ask(client, "klystron", **one)) == ["ops"]
    assert names(ask(client, "klystron -drawing", mode=PINNED)) == ["ops"]
    with system.client(system.key(tenant="elsewhere")) as other:
        assert names(ask(other, "klystron", mode=PINNED)) == []


@pytest.mark.requirement("S0-07")
def test_one_that_cannot_be_loaded_costs_its_own_branch_alone(client):
    body = ask(client, "klystron", modules=["keyword", BROKEN])
    assert names(body) == ["words"]
    assert (body["state"], body["degraded"]) == ("partial", True)
    failed = branch(body, BROKEN)
    assert (failed["status"], failed["error_code"]) == (
        "error",
        "configuration_invalid",
    )
    told = client.get("/v1/capabilities").json()["modules"]
    (known,) = [one for one in told if one["name"] == BROKEN]
    assert not known["enabled"]
    assert "cannot be used" in known["description"]


@pytest.mark.parametrize(
    ("fields", "near"),
    [
        ({"modules": ["pined"]}, "pinned"),
        ({"modules": ["semantics"]}, "semantic"),
        ({"modules": ["keyword", "PINNED"], "mode": "keyword"}, None),
    ],
    ids=["misspelt", "plural", "not-of-this-mode"],
)
def test_a_module_that_is_not_asked_here_is_refused_with_the_nearest_name(
    client, fields, near
):
    answer = client.post("/v1/search/query", json={"query": "klystron", **fields})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "module_not_enabled"
    assert (f"Did you mean {near}?" in error["message"]) == (near is not None)
    assert "keyword" in error["details"]["available"]


@pytest.mark.requirement("S0-44")
def test_what_it_takes_is_shown_given_to_it_and_held_to_its_bounds(client):
    told = client.get("/v1/capabilities").json()["modules"]
    (known,) = [one for one in told if one["name"] == PINNED]
    assert [one["name"] for one in known["parameters"]] == ["pinned_as"]

    given = {"pinned_as": "asked_for"}
    assert names(ask(client, "klystron", mode=PINNED, parameters=given)) == ["pin"]
    none = ask(client, "klystron", mode=PINNED, parameters={"pinned_as": "nothing"})
    assert names(none) == []

    for wrong in ({"pinned_as": "x" * 41}, {"pinned_as": 7}, {"pined_as": "x"}):
        body = {"query": "klystron", "mode": PINNED, "parameters": wrong}
        assert client.post("/v1/search/query", json=body).status_code == 422, wrong
    body = {"query": "klystron", "mode": "keyword", "parameters": {"pinned_as": "x"}}
    assert client.post("/v1/search/query", json=body).status_code == 422


def mode(client: httpx2.Client, name: str) -> dict[str, Any]:
    told = client.get("/v1/capabilities").json()["modes"]
    (known,) = [one for one in told if one["name"] == name]
    return known


@pytest.mark.requirement("S0-41")
def test_a_module_that_registers_itself_is_one_like_that_of_an_entry_point(client):
    told = client.get("/v1/capabilities").json()["modules"]
    by_name = {one["name"]: one for one in told}
    assert by_name[AGAIN]["description"] == "What is pinned, again."
    for name, unit in ((PINNED, "pins"), (AGAIN, "pins_again")):
        assert by_name[name]["enabled"]
        assert "query" in by_name[name]["arguments"]["properties"]
        body = ask(client, "klystron", mode=name)
        assert names(body) == ["ops", "pin"]
        assert {one["scores"][unit] for one in body["results"]} == {1.0}


@pytest.mark.requirement("S0-09", "S0-78")
def test_modes_of_other_packages_stand_on_the_page_beside_our_own(client):
    page = read_page(client.get("/", headers={"accept": "text/html"}).text)
    shown = [one["value"] for one in page.one("select", id="mode").every("option")]
    told = client.get("/v1/capabilities").json()["modes"]

    assert shown == [one["name"] for one in told if one["enabled"]]
    assert {"auto", "hybrid", PINNED, REGISTERED, BY_POINT} <= {*shown}


@pytest.mark.requirement("S0-08", "S0-77")
def test_a_pipeline_of_nothing_but_a_descriptor_asks_its_modules_at_once(client):
    told = mode(client, REGISTERED)
    assert (told["label"], told["enabled"]) == ("Words and pins", True)
    assert told["description"] == "What words find, and what is pinned."

    body = ask(client, "klystron", mode=REGISTERED)

    assert names(body) == ["ops", "pin", "words"]
    assert body["method_used"] == REGISTERED
    assert [one["name"] for one in body["branches"]] == ["pg_fts", AGAIN]
    assert {tuple(one["found_by"]) for one in body["results"]} == {
        ("pg_fts",),
        (AGAIN,),
    }


@pytest.mark.requirement("S0-07", "S0-77")
def test_a_pipeline_with_a_function_asks_modules_as_it_likes(client):
    told = mode(client, BY_POINT)
    assert (told["category"], told["enabled"], told["deadline_ms"]) == (
        "direct",
        True,
        3000,
    )
    taken = [one["name"] for one in told["parameters"]]
    assert taken == ["deadline_ms", "pinned_as", "then"]

    body = ask(client, "klystron", mode=BY_POINT)

    found = [one["external_id"] for one in body["results"]]
    assert sorted(found[:2]) == ["ops", "pin"]
    assert found[2:] == ["words"]
    scores = [one["relevance_score"] for one in body["results"]]
    assert scores == pytest.approx([1.0, 0.5, 1 / 3])
    assert {tuple(one["found_by"]) for one in body["results"]} == {(BY_POINT,)}
    assert [one["name"] for one in body["branches"]] == [PINNED, "pg_fts", BY_POINT]
    assert (body["state"], body["degraded"]) == ("done", False)

    given = {"mode": BY_POINT, "parameters": {"then": "drawing", "pinned_as": "none"}}
    assert names(ask(client, "klystron", **given)) == ["pin"]
    too_long = {"query": "x", "mode": BY_POINT, "parameters": {"then": "x" * 81}}
    assert client.post("/v1/search/query", json=too_long).status_code == 422


def test_what_a_pipeline_names_passes_rights_filters_and_what_is_excluded(
    system, client
):
    for name in (BY_POINT, REGISTERED):
        assert "theirs" not in names(ask(client, "klystron", mode=name))
        one = {"mode": name, "filters": {"logbook": "ops"}}
        assert names(ask(client, "klystron", **one)) == ["ops"]
        assert "pin" not in names(ask(client, "klystron -drawing", mode=name))
        with system.client(system.key(tenant="elsewhere")) as other:
            assert names(ask(other, "klystron", mode=name)) == []


def test_a_pipeline_fails_as_a_search_whose_branches_say_why(system, client):
    fault = {"X-Logchord-Fault": f"branch={PINNED};error=opensearch_unavailable"}
    with system.client(system.key(scopes=("admin", "search"))) as admin:
        asked = {"query": "klystron", "mode": BY_POINT}
        answer = admin.post("/v1/search/query", json=asked, headers=fault)
        assert answer.status_code == 503, answer.text
    failed = answer.json()["error"]["details"]["branches"]
    assert {one["name"]: one["error_code"] for one in failed} == {
        PINNED: "opensearch_unavailable",
        BY_POINT: "opensearch_unavailable",
    }


def test_a_pipeline_is_a_branch_where_a_search_or_rag_names_it(client):
    found = ask(client, "klystron", mode="hybrid", modules=["keyword", BY_POINT])
    assert names(found) == ["ops", "pin", "words"]
    assert [one["name"] for one in found["branches"]] == [
        *("pg_fts", PINNED, "pg_fts", BY_POINT)
    ]
    by_name = {one["external_id"]: one["found_by"] for one in found["results"]}
    assert by_name["words"] == ["pg_fts", BY_POINT]
    assert by_name["pin"] == [BY_POINT]
    given = {"parameters": {"then": "drawing"}, "modules": [BY_POINT]}
    assert names(ask(client, "klystron", mode="hybrid", **given)) == ["ops", "pin"]
    # It is asked beside nothing that does not name it.
    plain = ask(client, "klystron", mode="hybrid")
    assert BY_POINT not in [one["name"] for one in plain["branches"]]

    # One without a function ranks what its modules find as one list.
    found = ask(client, "klystron", mode="rag", synthesize="deterministic")
    assert names(found) == ["ops", "pin", "words"]
    assert [one["name"] for one in found["branches"]] == [
        *("pg_fts", "pg_fts", AGAIN, REGISTERED)
    ]
    assert (found["state"], found["degraded"]) == ("done", False)
    taken = {one["name"] for one in mode(client, "rag")["parameters"]}
    assert "pinned_as" in taken


@pytest.mark.requirement("S0-09", "S0-65", "S0-66")
def test_an_agent_calls_modules_and_pipelines_with_what_they_take(client, script):
    offered: dict[str, Any] = {}

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if body["messages"][-1]["role"] == "tool":
            says("The klystron tripped in the morning [1.1].")(handler, body)
            return
        offered.update({o["function"]["name"]: o["function"] for o in body["tools"]})
        wanted = (
            call(BY_POINT, query="klystron", then="drawing"),
            call(REGISTERED, place=1, query="klystron"),
            call(PINNED, place=2, query="klystron", pinned_as="asked_for"),
            call(BY_POINT, place=3, query="klystron", then="x" * 81),
        )
        calls(*wanted)(handler, body)

    script.replies[:] = [reply]
    job = client.post(
        "/v1/search/jobs", json={"query": "klystron", "mode": "agent"}
    ).json()
    path, wait = f"/v1/search/jobs/{job['job_id']}", {"wait_ms": 20_000}
    ended = client.get(path, params=wait).json()

    assert ended["ended_at"] is not None, ended
    told = [
        (one["tool"], one["status"], one["results_found"])
        for one in ended["turns"][0]["tool_calls"]
    ]
    assert told == [
        (BY_POINT, "ok", 2),
        (REGISTERED, "ok", 3),
        (PINNED, "ok", 1),
        (BY_POINT, "invalid", 0),
    ]
    assert names(ended["response"]) == ["ops", "pin", "words"]
    assert {"keyword", PINNED, BY_POINT, REGISTERED} <= offered.keys()
    then = offered[BY_POINT]["parameters"]["properties"]["then"]
    assert (then["type"], then["description"]) == ("string", "Then search for")
    # What it may be given is listed with the mode of agents.
    taken = {one["name"] for one in mode(client, "agent")["parameters"]}
    assert {"pinned_as", "then"} <= taken


@pytest.mark.requirement("S0-09")
def test_modules_and_pipelines_are_tools_of_mcp(system: System):
    system.start("mcp")
    port = system.environment["LOGCHORD_MCP__PORT"]

    async def ask() -> tuple[set[str], dict[str, Any]]:
        headers = {"Authorization": f"Bearer {system.key()}"}
        url = f"http://127.0.0.1:{port}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=40) as http,
            Client(streamable_http_client(url, http_client=http)) as agent,
        ):
            listed = await agent.list_tools()
            names = {one.name for one in listed.tools}
            found = await agent.call_tool("pinned_first_search", {"query": "klystron"})
            return names, found.structured_content

    def is_alive() -> bool:
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(f"http://127.0.0.1:{port}/health/live").is_success
        return False

    until(is_alive, within_seconds=60, what=lambda: system.tail("mcp"))
    tools, told = asyncio.run(ask())
    assert {"pinned_search", "pinned_first_search", "words_and_pins_search"} <= tools
    assert told["mode"] == BY_POINT
    assert told["results"][0]["found_by"] == [BY_POINT]
