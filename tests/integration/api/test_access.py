"""Every route by every identity, and what two tenants and two readers may see."""

import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest

from shared.access import keys
from tests.support.fixtures.system import System
from tests.support.waiting import until
from tests.support.written import push_found

OPEN, ANY = "open", "any"
ABSENT = str(uuid4())
# Each route: the scope it needs, a request, and what an identity that may gets.
ROUTES: dict[str, tuple[str, dict[str, Any], int]] = {
    "GET /health/live": (OPEN, {}, 200),
    "GET /health/ready": (OPEN, {}, 200),
    "GET /health": (OPEN, {}, 200),
    "GET /metrics": (OPEN, {}, 200),
    "GET /v1/me": (ANY, {}, 200),
    "GET /v1/keys": ("admin", {}, 200),
    "POST /v1/keys": ("admin", {"json": {"name": ""}}, 422),
    "DELETE /v1/keys/{key_id}": ("admin", {}, 404),
    "GET /v1/audit": ("admin", {}, 200),
    "GET /v1/status": ("read", {}, 200),
    "GET /v1/lag": ("read", {}, 200),
    "GET /v1/quarantine": ("admin", {}, 200),
    "GET /v1/quarantine/{quarantine_id}": ("admin", {}, 404),
    "POST /v1/quarantine/retry": ("admin", {"json": {}}, 202),
    "POST /v1/quarantine/{quarantine_id}/retry": ("admin", {}, 404),
    "DELETE /v1/quarantine/{quarantine_id}": (
        "admin",
        {"params": {"reason": "x"}},
        404,
    ),
    "POST /v1/entries": ("ingest", {"json": {"text": "x", "external_id": "1"}}, 0),
    "GET /v1/entries": ("read", {}, 200),
    "GET /v1/entries/{entry_id}": ("read", {}, 404),
    "DELETE /v1/entries/{entry_id}": ("ingest", {}, 404),
    "PUT /v1/entries/{entry_id}": ("ingest", {"json": {"text": "x"}}, 404),
    "PATCH /v1/entries/{entry_id}": ("ingest", {"json": {"text": "x"}}, 404),
    "GET /v1/entries/{entry_id}/revisions": ("read", {}, 404),
    "GET /v1/entries/{entry_id}/thread": ("read", {}, 404),
    "GET /v1/entries/{entry_id}/similar": ("search", {"params": {"days": 9}}, 404),
    "GET /v1/threads/{thread_id}": ("read", {}, 404),
    "GET /v1/digest": ("search", {}, 200),
    "GET /v1/entries/{entry_id}/attachments": ("read", {}, 404),
    "POST /v1/entries/{entry_id}/attachments": (
        "ingest",
        {"files": {"file": ("a.txt", b"x")}},
        404,
    ),
    "GET /v1/attachments/{attachment_id}": ("read", {}, 404),
    "GET /v1/attachments/{attachment_id}/thumbnail": ("read", {}, 404),
    "GET /e/{source}/{external_id}": ("read", {}, 404),
    # No source is called that.
    "PUT /e/{source}/{external_id}": ("ingest", {"json": {"text": "x"}}, 422),
    "GET /v1/changes": ("read", {}, 200),
    "GET /v1/sources": ("read", {}, 200),
    "GET /v1/sources/{source}": ("read", {}, 404),
    "POST /v1/sources/reload": ("admin", {}, 200),
    "POST /v1/sources/{source}/check": ("admin", {}, 404),
    "POST /v1/sources/{source}/trigger": ("admin", {"json": {}}, 404),
    "POST /v1/sources/{source}/pause": ("admin", {}, 404),
    "POST /v1/sources/{source}/resume": ("admin", {}, 404),
    # Whoever has signed it: nobody here.
    "POST /v1/sources/{source}/nudge": (OPEN, {}, 401),
    "GET /v1/runs": ("read", {}, 200),
    "GET /v1/runs/{run_id}": ("read", {}, 404),
    "DELETE /v1/runs/{run_id}": ("admin", {}, 404),
    "POST /search": ("search", {"json": {"query": "x", "limit": 0}}, 422),
    "POST /v1/search/query": ("search", {"json": {"limit": 0}}, 422),
    "POST /v1/search/export": ("search", {"json": {"limit": 0}}, 422),
    "POST /v1/search/plan": ("search", {"json": {"limit": 0}}, 422),
    "POST /v1/search/jobs": ("search", {"json": {"limit": 0}}, 422),
    "GET /v1/capabilities": ("search", {}, 200),
    "POST /v1/classify": ("search", {"json": {"query": "x"}}, 200),
    "GET /v1/glossary": ("search", {}, 200),
    "POST /v1/glossary/{term}": ("search", {"json": {"expansions": []}}, 422),
    "POST /v1/glossary/{term}/approve": ("admin", {}, 404),
    "POST /v1/glossary/{term}/reject": ("admin", {}, 404),
    "GET /v1/saved-searches": ("search", {}, 200),
    "POST /v1/saved-searches": ("search", {"json": {"name": ""}}, 422),
    "GET /v1/saved-searches/{saved_id}": ("search", {}, 404),
    "PUT /v1/saved-searches/{saved_id}": ("search", {"json": {"name": ""}}, 422),
    "DELETE /v1/saved-searches/{saved_id}": ("search", {}, 404),
    "POST /v1/saved-searches/{saved_id}/preview": ("search", {"json": {}}, 404),
    "GET /v1/saved-searches/{saved_id}/alerts": ("search", {}, 404),
    "GET /v1/filter-options/{field}": ("search", {}, 422),
    "GET /v1/search/quality/alerts": ("admin", {}, 200),
    "GET /v1/search/quality/metrics": ("admin", {}, 200),
    "GET /v1/advisory-ai/search/quality/alerts": ("admin", {}, 200),
    "GET /v1/advisory-ai/search/quality/metrics": ("admin", {}, 200),
    "POST /v1/advisory-ai/search/query": ("search", {"json": {"x": 1}}, 422),
    "POST /v1/advisory-ai/search/suggestions/evaluate": (
        "search",
        {"json": {"x": 1}},
        422,
    ),
    "POST /v1/advisory-ai/search/synthesize": ("search", {"json": {"x": 1}}, 422),
    "POST /v1/search/analytics": ("search", {"json": {"x": 1}}, 422),
    "POST /v1/search/feedback": ("search", {"json": {"x": 1}}, 422),
    "POST /v1/search/suggestions/evaluate": ("search", {"json": {"x": 1}}, 422),
    "POST /v1/search/synthesize": ("search", {"json": {"x": 1}}, 422),
    "GET /v1/search/jobs": ("search", {}, 200),
    "GET /v1/search/jobs/{job_id}": ("search", {}, 404),
    "GET /v1/search/jobs/{job_id}/results": ("search", {}, 404),
    "GET /v1/search/jobs/{job_id}/export": ("search", {}, 404),
    "GET /v1/search/jobs/{job_id}/events": ("search", {}, 404),
    "DELETE /v1/search/jobs/{job_id}": ("search", {}, 404),
    "GET /v1/search/jobs/{job_id}/why-not": ("search", {"params": {"entry": "x"}}, 404),
    "POST /v1/search/jobs/{job_id}/replay": ("search", {}, 404),
    # Nobody's here: only a key of every facility may.
    "GET /v1/maintenance/{maintenance_id}": ("admin:*", {}, 404),
    "DELETE /v1/maintenance/{maintenance_id}": ("admin:*", {}, 404),
    "POST /v1/search/index/rebuild": ("admin:*", {"json": {"full": "?"}}, 422),
    "POST /v1/advisory-ai/index/rebuild": ("admin:*", {"json": {"full": "?"}}, 422),
    "GET /v1/embed-models": ("admin:*", {}, 200),
    "POST /v1/embed-models/{model}/reembed": ("admin:*", {"json": {"batch": 0}}, 422),
    "POST /v1/embed-models/{model}/activate": ("admin:*", {"json": {"batch": 0}}, 422),
}
SCOPES: dict[str, tuple[str, ...]] = {
    "none": (),
    "garbage": (),
    "wrong secret": (),
    "expired": (),
    "revoked": (),
    "reader": ("read",),
    "searcher": ("search",),
    "writer": ("ingest",),
    "admin": ("read", "search", "ingest", "admin"),
}


@pytest.fixture(scope="module")
def tokens(api: System) -> dict[str, str]:
    tenant = f"t{secrets.token_hex(4)}"
    with psycopg.connect(api.database) as conn:

        def make(*scopes: str, **fields: Any) -> str:
            made = keys.create_key(
                conn,
                tenant=tenant,
                name="x",
                scopes=scopes,
                rate_per_minute=0,
                **fields,
            )
            return made.token

        now = datetime.now(UTC)
        revoked = make("admin")
        keys.revoke(conn, tenant, revoked.split("_")[1])
        valid = make("admin")
        return {
            "none": "",
            "garbage": "lk_x",
            "wrong secret": valid[:-3] + "AAA",
            "expired": make("admin", expires_at=now - timedelta(seconds=1)),
            "revoked": revoked,
            "reader": make("read"),
            "searcher": make("search"),
            "writer": make("ingest"),
            "admin": valid,
        }


def test_the_matrix_names_every_route_that_is_described(api: System):
    document = httpx2.get(f"{api.url}/openapi.json").json()

    described = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    }

    assert described == set(ROUTES)


@pytest.mark.requirement("SEC1", "P10")
@pytest.mark.parametrize("who", SCOPES)
@pytest.mark.parametrize("route", ROUTES)
def test_a_route_answers_whom_it_may(api, tokens, route, who):
    with api.client(tokens[who]) as client:
        check_route(client, route, who)


@pytest.mark.requirement("U32")
def test_below_a_base_path_every_route_answers_whom_it_may(api, tokens, make_api):
    below = make_api(database=api.database, LOGCHORD_BASE_PATH="/logchord")

    for who in ("none", "reader", "admin"):
        with below.client(tokens[who]) as client:
            for route in ROUTES:
                check_route(client, route, who, below="/logchord")
                method, path = route.split(" ")
                assert client.request(method, path).status_code == 404


def check_route(client: httpx2.Client, route: str, who: str, below: str = "") -> None:
    needed, options, status = ROUTES[route]
    method, path = route.split(" ")
    path = re.sub(r"\{\w+\}", ABSENT, path)

    answer = client.request(method, below + path, **options)

    if needed == OPEN:
        assert answer.status_code == status
    elif not SCOPES[who]:
        code = "auth_required" if who == "none" else "auth_invalid"
        assert (answer.status_code, code_of(answer)) == (401, code)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    elif needed != ANY and needed not in SCOPES[who]:
        assert (answer.status_code, code_of(answer)) == (403, "scope_missing")
        assert answer.json()["error"]["details"] == {"needed": needed}
    else:
        assert answer.status_code in ({status} if status else {200, 201}), answer.text


@pytest.mark.requirement("U22", "SEC1")
def test_the_key_of_a_shared_console_writes_no_entry_and_runs_nothing(
    api: System, tenant: str
):
    answers = {}
    with api.client(api.key(tenant=tenant, scopes=("read", "search"))) as kiosk:
        for route, (needed, options, _) in ROUTES.items():
            method, path = route.split(" ")
            asked = re.sub(r"\{\w+\}", ABSENT, path)
            if needed not in {OPEN, ANY, "read", "search"}:
                answer = kiosk.request(method, asked, **options)
                answers[route] = (answer.status_code, code_of(answer))

    assert {*answers.values()} == {(403, "scope_missing")}
    assert "POST /v1/entries" in answers


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    "path",
    [
        *("//v1/entries", "/v1/entries/", "/v1/entries/..;/admin", "/V1/entries"),
        *("/v1//entries", "/v1/entries/%2e%2e", "/v1/./entries", "/v1/entries%00"),
    ],
)
def test_an_odd_spelling_of_an_address_opens_nothing(api: System, path: str):
    with httpx2.Client(base_url=api.url) as client:
        request = client.build_request("GET", "/")
        request.url = request.url.copy_with(raw_path=path.encode())
        request.headers["X-Original-URL"] = "/v1/entries"
        answer = client.send(request)

    assert answer.status_code in {401, 404, 422}
    assert "error" in answer.json()


@pytest.mark.requirement("SEC1")
def test_every_wrong_key_gets_the_same_answer(api: System, tokens: dict[str, str]):
    bodies = []
    for who in ("garbage", "wrong secret", "expired", "revoked"):
        with api.client(tokens[who]) as client:
            error = client.get("/v1/me").json()["error"]
        bodies.append({k: error[k] for k in error if k not in {"id", "request_id"}})

    assert all(body == bodies[0] for body in bodies)


def test_a_revoked_key_stops_within_two_seconds(api: System, tenant: str):
    token = api.key(tenant=tenant)
    with api.client(token) as client:
        assert client.get("/v1/me").status_code == 200
        with psycopg.connect(api.database) as conn:
            assert keys.revoke(conn, tenant, token.split("_")[1])
        until(
            lambda: client.get("/v1/me").status_code == 401,
            within_seconds=2.5,
            what="the revoked key",
        )


def test_a_key_may_come_in_either_header(api: System, tenant: str):
    token = api.key(tenant=tenant)

    me = httpx2.get(f"{api.url}/v1/me", headers={"X-API-Key": token}).json()

    assert me["tenant"] == tenant
    assert me["scopes"] == ["ingest", "read", "search"]
    assert me["logbooks"] is None
    assert token not in str(me)


@pytest.mark.requirement("SEC2", "P10")
def test_what_is_anothers_answers_like_what_is_absent(api: System, caller, tenant):
    pushed = caller.post("/v1/entries", json={"text": "ours"}).json()
    cursor_of_ours = caller.get("/v1/entries?limit=1")
    assert cursor_of_ours.json()["total"] == 1

    with api.client(api.key(tenant=f"{tenant}-b", scopes=("admin",))) as theirs:
        for method in ("GET", "DELETE"):
            here = theirs.request(method, f"/v1/entries/{pushed['entry_id']}")
            absent = theirs.request(method, f"/v1/entries/{ABSENT}")
            assert here.status_code == absent.status_code == 404
            assert stripped(here) == stripped(absent)
        assert theirs.get("/v1/entries").json()["total"] == 0
        assert theirs.get("/v1/entries?include_deleted=true").json()["total"] == 0
        assert theirs.get("/v1/status").json()["entries"] == 0
    assert caller.get(f"/v1/entries/{pushed['entry_id']}").status_code == 200


@pytest.mark.requirement("SEC2")
def test_readers_close_an_entry_to_everybody_else_also_in_counts(api, caller, tenant):
    for name, readers in (("open", None), ("ours", ["tester"]), ("theirs", ["rf"])):
        body = {"text": name, "external_id": name, "readers": readers}
        assert caller.post("/v1/entries", json=body).status_code == 201
    nobody = {"text": "x", "external_id": "nobody", "readers": []}
    caller.post("/v1/entries", json=nobody)

    page = caller.get("/v1/entries").json()

    assert sorted(one["external_id"] for one in page["items"]) == ["open", "ours"]
    assert page["total"] == 2


@pytest.mark.requirement("SEC2")
def test_a_key_of_some_logbooks_neither_sees_nor_touches_the_others(
    api: System, caller, tenant
):
    for book in ("RF", "Vacuum"):
        body = {"text": "x", "external_id": book, "logbook": book}
        caller.post("/v1/entries", json=body)
    with psycopg.connect(api.database) as conn:
        made = keys.create_key(
            conn, tenant=tenant, name="rf", scopes=["read", "ingest"], logbooks=["RF"]
        )

    with api.client(made.token) as narrow:
        page = narrow.get("/v1/entries").json()
        assert [one["external_id"] for one in page["items"]] == ["RF"]
        into_others = narrow.post(
            "/v1/entries", json={"text": "x", "logbook": "Vacuum"}
        )
        into_none = narrow.post("/v1/entries", json={"text": "x"})
        over_others = narrow.post(
            "/v1/entries",
            json={"text": "mine now", "external_id": "Vacuum", "logbook": "RF"},
        )
        many = narrow.post(
            "/v1/entries",
            json={
                "entries": [
                    {"text": "y", "external_id": "RF", "logbook": "RF"},
                    {"text": "y", "external_id": "Vacuum", "logbook": "RF"},
                ]
            },
        )

    assert (into_others.status_code, code_of(into_others)) == (403, "scope_missing")
    assert (into_none.status_code, code_of(into_none)) == (403, "scope_missing")
    assert (over_others.status_code, code_of(over_others)) == (404, "not_found")
    statuses = [one["status"] for one in many.json()["items"]]
    assert statuses == ["updated", "rejected"]
    kept = caller.get("/v1/entries?external_id=Vacuum").json()["items"]
    assert (kept[0]["text"], kept[0]["revision"]) == ("x", 1)


@pytest.mark.requirement("SEC2", "P10")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_no_search_finds_what_another_tenant_reader_or_logbook_owns(
    running: System, tenant: str, mode: str
):
    word = f"klystron{secrets.token_hex(3)}"
    with running.client(running.key(tenant=f"{tenant}-b")) as theirs:
        push_found(theirs, [{"text": f"{word} of B", "external_id": "theirs"}])
        with running.client(running.key(tenant=tenant)) as ours:
            entries: list[dict[str, Any]] = [
                {"text": f"{word} open", "external_id": "open"},
                {"text": f"{word} closed", "external_id": "closed", "readers": ["x"]},
                {
                    "text": f"{word} later",
                    "external_id": "later",
                    "visible_from": "2199-01-01T00:00:00Z",
                },
                {"text": f"{word} gone", "external_id": "gone"},
            ]
            items = push_found(ours, entries)
            ours.delete(f"/v1/entries/{items[3]['entry_id']}")

            found = ours.post("/v1/search/query", json={"query": word, "mode": mode})
            elsewhere = theirs.post(
                "/v1/search/query", json={"query": word, "mode": mode}
            )
            job_id = found.json()["job_id"]
            assert theirs.get(f"/v1/search/jobs/{job_id}").status_code == 404

    names = [hit["external_id"] for hit in found.json()["results"]]
    assert names == ["open"], found.text
    names = [hit["external_id"] for hit in elsewhere.json()["results"]]
    assert names == ["theirs"], elsewhere.text


@pytest.fixture(scope="module")
def open_to_loopback(make_api: Callable[..., System]) -> System:
    return make_api(LOGCHORD_ANONYMOUS_LOOPBACK="true")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8006"}, 200),
        ({"Host": "evil.example"}, 401),
        ({"Host": "127.0.0.1.evil.example"}, 401),
        ({"X-Forwarded-For": "127.0.0.1"}, 401),
        ({"Forwarded": "for=127.0.0.1"}, 401),
        ({"X-Real-IP": "127.0.0.1"}, 401),
        ({"Authorization": "Bearer nonsense"}, 401),
        ({"X-API-Key": ""}, 401),
    ],
)
def test_this_machine_needs_no_key_unless_a_proxy_or_a_page_speaks_for_it(
    open_to_loopback: System, headers: dict[str, str], status: int
):
    answer = httpx2.get(f"{open_to_loopback.url}/v1/me", headers=headers)

    assert answer.status_code == status
    if status == 200:
        assert answer.json()["tenant"] == "default"
        assert answer.json()["scopes"] == ["ingest", "read", "search"]


def test_a_page_of_somebody_else_has_a_browser_here_send_no_file(open_to_loopback):
    """A form with a file is sent by browsers without asking first."""
    url = open_to_loopback.url
    with httpx2.Client(base_url=url, trust_env=False) as browser:
        said = {"text": "see file", "logbook": "A"}
        entry = browser.post("/v1/entries", json=said).json()["entry_id"]
        address = f"/v1/entries/{entry}/attachments"

        def send(origin: str) -> httpx2.Response:
            form = {"file": ("a.txt", b"log", "text/plain")}
            return browser.post(address, files=form, headers={"Origin": origin})

        refused = send("http://evil.example")
        assert (refused.status_code, code_of(refused)) == (403, "origin_refused")
        assert browser.get(address).json()["items"] == []
        assert send(url).status_code == 201


def code_of(answer: httpx2.Response) -> str:
    code: str = answer.json()["error"]["code"]
    return code


def stripped(answer: httpx2.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    return {name: error[name] for name in error if name not in {"id", "request_id"}}
