"""Every method of the client sends what a route takes, and every route has one."""

import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx2
import jsonschema
import pytest

from api.app import create_app
from api.client import Client, Job
from api.client.asynchronous.link import KEYED, READING
from shared.settings.settings import Settings

OPENAPI = create_app(Settings()).openapi()
COMPONENTS = {"components": OPENAPI["components"]}
# The same routes in camel case, for callers of another system.
OTHERS, ALIASES = "/v1/advisory-ai", "/v1/advisory-ai/search/"
ID = "00000000-0000-0000-0000-000000000007"
ENTRY = {"text": "RF trip"}
# Where a route tells several things: what it tells one who asks as the client does.
TOLD = {"POST /v1/entries": "PushedEntries", "dry_run": "PlannedOut"}
# What each method is asked with, and what of it is more than it needs.
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "activate_model": (("m",), {"force": True}),
    "analytics": (([{"type": "click", "job_id": ID}],), {}),
    "approve_term": (("GV",), {"expansions": ["gate valve"]}),
    "ask": (("why?",), {}),
    "attach": ((ID, "a.txt", b"x"), {}),
    "attachment": ((ID,), {}),
    "attachments": ((ID,), {}),
    "audit": ((), {"who": "anna", "action": "export"}),
    "cancel_maintenance": ((ID,), {}),
    "cancel_run": ((ID,), {}),
    "capabilities": ((), {}),
    "change": ((ID, {"title": "x"}), {"revision": 2}),
    "changes": ((), {"after": "x", "wait_ms": 5}),
    "check_source": (("ops",), {}),
    "classify": (("rf trips",), {}),
    "create_key": (("display",), {"scopes": ["read"], "expires_in_days": 7}),
    "delete": ((ID,), {"reason": "x"}),
    "digest": ((), {"since": "2026-03-01T00:00:00Z"}),
    "discard_quarantined": ((ID, "x"), {}),
    "embed_models": ((), {}),
    "entries": ((), {"author": "Ruiz", "limit": 10}),
    "entry": ((ID,), {"revision": 1}),
    "evaluate_suggestions": ((["why?"],), {}),
    "export": (("rf",), {}),
    "feedback": ((ID, "good"), {}),
    "filter_options": (("author",), {"prefix": "j"}),
    "glossary": ((), {"state": "approved"}),
    "health": ((), {}),
    "is_alive": ((), {}),
    "is_ready": ((), {}),
    "jobs": ((), {"limit": 5}),
    "keys": ((), {}),
    "lag": ((), {}),
    "maintenance": ((ID,), {}),
    "me": ((), {}),
    "metrics": ((), {}),
    "named_entry": (("ops", "1/2"), {}),
    "nudge_source": (("ops", b"{}", "v1=x"), {}),
    "pause_source": (("ops",), {}),
    "plain_search": (("rf",), {"limit": 3}),
    "plan": (("rf",), {"mode": "keyword"}),
    "propose_term": (("GV", ["gate valve"]), {}),
    "push": ((ENTRY,), {"wait_for": "index", "wait_ms": 5}),
    "put_named_entry": (("ops", "1/2", ENTRY), {"wait_for": "index"}),
    "quality_alerts": ((24,), {}),
    "quality_metrics": ((24,), {}),
    "quarantine": ((), {"stage": "index"}),
    "quarantined": ((ID,), {}),
    "rebuild_derived": ((), {}),
    "rebuild_index": ((), {}),
    "reembed": (("m",), {"dry_run": True}),
    "reject_term": (("GV",), {"expansions": ["gate valve"]}),
    "reload_sources": ((), {"confirm_identity": True}),
    "replace": ((ID, ENTRY), {"revision": 2}),
    "resume_source": (("ops",), {}),
    "retry_quarantine": ((), {"stage": "index"}),
    "retry_quarantined": ((ID,), {}),
    "revisions": ((ID,), {}),
    "revoke_key": (("a1b2c3d4e5f6",), {}),
    "run": ((ID,), {}),
    "runs": ((), {"source": "ops"}),
    "alerts": ((ID,), {}),
    "preview_alerts": ((ID, 7), {}),
    "remove_saved_search": ((ID,), {}),
    "replace_saved_search": ((ID, "RF trips", {"query": "rf"}), {"semantic": False}),
    "save_search": (("RF trips", {"query": "rf"}), {"semantic": False}),
    "saved_search": ((ID,), {}),
    "saved_searches": ((), {}),
    "search": (("rf",), {"limit": 3, "mode": "keyword"}),
    "similar": ((ID,), {"days": 7}),
    "source": (("ops",), {}),
    "sources": ((), {}),
    "status": ((), {}),
    "submit": (("rf",), {"mode": "agent"}),
    "synthesize": ((), {"job_id": ID}),
    "thread": ((ID,), {}),
    "thread_by_id": ((ID,), {}),
    "thumbnail": ((ID,), {}),
    "trigger_source": (("ops",), {"kind": "backfill"}),
}
OF_JOBS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "cancel": ((), {}),
    "events": (("3",), {}),
    "export": (("csv",), {}),
    "replay": ((), {}),
    "results": ((), {"limit": 5}),
    "state": ((5,), {}),
    "wait": ((), {}),
    "why_not": ((ID,), {}),
}
# What a POST to these begins or changes is not asked for again by itself.
WRITING = {
    "/v1/search/jobs",
    "/v1/search/jobs/{job_id}/replay",
    "/v1/search/synthesize",
    "/v1/search/export",
    "/v1/search/analytics",
    "/v1/search/feedback",
    "/v1/search/index/rebuild",
    "/v1/glossary/{term}",
    "/v1/glossary/{term}/approve",
    "/v1/glossary/{term}/reject",
    "/v1/keys",
    "/v1/saved-searches",
    "/v1/saved-searches/{saved_id}/preview",
    "/v1/sources/reload",
    "/v1/sources/{source}/check",
    "/v1/sources/{source}/trigger",
    "/v1/sources/{source}/pause",
    "/v1/sources/{source}/resume",
    "/v1/sources/{source}/nudge",
    "/v1/embed-models/{model}/reembed",
    "/v1/embed-models/{model}/activate",
}
# These send nothing.
LOCAL = {"close", "job"}


def routes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in OPENAPI["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def route_of(request: httpx2.Request) -> tuple[str, dict[str, Any]]:
    """Return the route that a request asks, and its description."""
    sent = request.url.raw_path.decode().partition("?")[0]
    # A route without parameters goes before one that would take its name for one.
    for method, path, operation in sorted(routes(), key=lambda one: one[1].count("{")):
        pattern = re.sub(r"{\w+}", "[^/]+", path)
        if method == request.method and re.fullmatch(pattern, sent):
            return f"{method} {path}", operation
    message = f"There is no route {request.method} {sent}."
    raise AssertionError(message)


def check_request(request: httpx2.Request, operation: dict[str, Any]) -> None:
    """Hold a request to the parameters and the body that its route takes."""
    taken = {one["name"]: one for one in operation.get("parameters", ())}
    asked = set(request.url.params)
    named = {name for name, one in taken.items() if one["in"] == "query"}
    assert asked <= named, asked - named
    needed = {name for name in named if taken[name].get("required")}
    assert needed <= asked, needed - asked
    content = operation.get("requestBody", {}).get("content", {})
    kind = request.headers.get("Content-Type", "").partition(";")[0]
    if not content:
        return
    assert kind in content, kind
    if kind == "application/json":
        schema = {**content[kind]["schema"], **COMPONENTS}
        body = json.loads(request.content)
        jsonschema.Draft202012Validator(schema).validate(body)


def least(schema: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return least_of(schema["$ref"].rpartition("/")[2])
    for kinds in (schema[one] for one in ("anyOf", "oneOf", "allOf") if one in schema):
        return None if {"type": "null"} in kinds else least(kinds[0])
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    texts = {"uuid": ID, "date-time": "2026-03-01T00:00:00Z"}
    made = {
        "object": {
            one: least(schema["properties"][one]) for one in schema.get("required", ())
        },
        "array": [],
        "string": texts.get(schema.get("format", ""), "x"),
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "boolean": False,
    }
    return made.get(schema.get("type", "null"))


def least_of(name: str) -> Any:
    """Return the least that a model of the description allows."""
    return least(OPENAPI["components"]["schemas"][name])


def answer_of(
    request: httpx2.Request, route: str, operation: dict[str, Any]
) -> httpx2.Response:
    """Answer with the least that a route may tell."""
    if request.headers["Accept"] == "text/event-stream":
        return httpx2.Response(200, text="id: 4\nevent: done\ndata: {}\n\n")
    if request.headers["Accept"] == "application/x-ndjson":
        return httpx2.Response(200, text='{"text": "x"}\n{"complete": true}\n')
    if request.headers["Accept"] == "*/*":
        return httpx2.Response(200, content=b"x")
    status, answer = next(
        (int(status), answer)
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    )
    if "content" not in answer:
        return httpx2.Response(status)
    told = TOLD.get("dry_run" if b"dry_run" in request.content else route)
    if told is not None:
        return httpx2.Response(200, json=least_of(told))
    body = least(answer["content"]["application/json"]["schema"])
    if route == "GET /v1/search/jobs/{job_id}":
        # Else it would be waited for.
        body["response"] = least_of("SearchResponse")
    return httpx2.Response(status, json=body)


@cache
def carry_out(name: str, *, of_job: bool) -> tuple[str, ...]:
    """Call a method, use up what it gives, and return the routes that it asked."""
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        route, operation = route_of(request)
        check_request(request, operation)
        asked.append(route)
        return answer_of(request, route, operation)

    transport = httpx2.MockTransport(answer)
    with Client("http://there", "key", transport=transport) as client:
        on = client.job(ID) if of_job else client
        given, named = (OF_JOBS if of_job else CALLS)[name]
        found = getattr(on, name)(*given, **named)
        if isinstance(found, Iterator):
            list(found)
    return tuple(asked)


def public(kind: type) -> set[str]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")}


def test_every_method_is_called_here():
    assert public(Client) - LOCAL == set(CALLS)
    assert public(Job) == set(OF_JOBS)


@pytest.mark.parametrize("name", CALLS)
def test_a_method_sends_what_its_route_takes_and_reads_what_it_answers(name: str):
    assert carry_out(name, of_job=False)


@pytest.mark.parametrize("name", OF_JOBS)
def test_a_method_of_a_job_does_so_too(name: str):
    assert carry_out(name, of_job=True)


def test_the_client_reaches_every_route():
    offered = {f"{method} {path}" for method, path, _ in routes()}
    asked = {route for name in CALLS for route in carry_out(name, of_job=False)}
    asked |= {route for name in OF_JOBS for route in carry_out(name, of_job=True)}
    twins = {
        route: route.replace(OTHERS, "/v1") if ALIASES in route else route
        for route in offered
    }
    missing = sorted(route for route, twin in twins.items() if twin not in asked)
    assert missing == [], "add to api/client/asynchronous/, then `make docs`"


def test_every_post_is_known_to_read_to_be_kept_once_or_to_write() -> None:
    posted = {
        path
        for method, path, _ in routes()
        if method == "POST" and not path.startswith((OTHERS, *KEYED))
    }
    assert posted - READING == WRITING
    assert posted >= READING
