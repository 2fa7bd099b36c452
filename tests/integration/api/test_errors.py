"""One shape for every error on every route; and never a secret in any of them."""

import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from api.app import create_app
from local.server import free_port
from shared.access import keys
from shared.errors import CODES
from shared.settings.settings import Settings
from tests.support.fixtures.system import System

DESCRIBED = create_app(Settings.load({"LOGCHORD_HOME": "/nonexistent"})).openapi()
OPERATIONS = [
    (method.upper(), path)
    for path, methods in DESCRIBED["paths"].items()
    for method in methods
]
KEYS = {"id", "code", "category", "severity", "retriable", "message", "request_id"}
REQUEST_ID = "test.request-1"
# An address that no schema can take, and a body that no route can.
WRONG: dict[str, dict[str, Any]] = {
    "unknown parameter": {"params": {"nonsense": "1"}},
    "bad path": {},
    "bad body": {"content": b"{", "headers": {"Content-Type": "application/json"}},
    "bad media type": {"content": b"x", "headers": {"Content-Type": "text/plain"}},
    "large headers": {"headers": {"X-Odd": "x" * 20_000}},
}
ALONE = frozenset({"error"})


@pytest.fixture(scope="module")
def caller(api: System, lasting_tenant: str) -> Iterator[httpx2.Client]:
    """One caller for all: whoever is refused changes nothing for the next one."""
    # A refusal may end the connection.
    none_kept = httpx2.Limits(max_keepalive_connections=0)
    key = api.key(tenant=lasting_tenant)
    with api.client(key, limits=none_kept) as caller:
        yield caller


def check_shape(answer: httpx2.Response, *, told: frozenset[str] = ALONE) -> None:
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Request-ID"] == REQUEST_ID
    assert set(answer.json()) == told
    error = answer.json()["error"]
    assert set(error) - {"details"} == KEYS
    UUID(error["id"])
    row = CODES[error["code"]]
    assert answer.status_code == row.status
    assert error["category"] == row.category
    assert error["request_id"] == REQUEST_ID
    assert error["severity"] in {"RETRIABLE", "CRITICAL"}
    assert error["message"].endswith((".", "`", ")")), error["message"]
    if answer.status_code in {429, 503} and error["severity"] == "RETRIABLE":
        assert int(answer.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_error_of_every_route_has_the_one_shape(caller, method, path, wrong):
    options = dict(WRONG[wrong])
    headers = {"X-Request-ID": REQUEST_ID, **options.pop("headers", {})}

    answer = caller.request(
        method, re.sub(r"\{\w+\}", "no-id", path), headers=headers, **options
    )

    if answer.is_error and "{" not in answer.text[:1]:
        pytest.fail(answer.text)
    if answer.is_error:
        # Clients of the plain search read `detail`, from where its route is known on.
        is_plain = path == "/search" and answer.status_code not in {405, 431}
        check_shape(answer, told=ALONE | {"detail"} if is_plain else ALONE)
        if answer.status_code != 405:
            assert str(answer.status_code) in described(method, path)


def described(method: str, path: str) -> set[str]:
    responses = DESCRIBED["paths"][path][method.lower()]["responses"]
    # Not of the route: who asks for what is no route gets these two as well.
    return {*responses, "404", "422", "431"}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_method_that_a_route_has_not_is_405_and_names_those_it_has(
    caller: httpx2.Client, method: str, path: str
):
    address = re.sub(r"\{\w+\}", str(UUID(int=0)), path)

    answer = caller.request("TRACE", address, headers={"X-Request-ID": REQUEST_ID})

    assert answer.status_code == 405
    check_shape(answer)
    assert method in answer.headers["Allow"].split(", ")


@pytest.mark.parametrize("path", ["/", "/nothing", "/v1", "/v1/nothing", "/docs/x"])
def test_an_address_that_is_none_is_told_in_the_same_shape(caller, path):
    answer = caller.post(path, headers={"X-Request-ID": REQUEST_ID})

    assert answer.status_code in {404, 405}
    check_shape(answer)


# Whoever nudges is told that it was heard, and nothing of the source.
NOTHING_TO_SAY = ("/v1/sources/{source}/nudge", "202")


SIGNED = frozenset({"/v1/sources/{source}/nudge"})


def test_every_described_route_has_summary_errors_and_a_body():
    for path, methods in DESCRIBED["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert operation["tags"], (method, path)
            if path.startswith("/v1/"):
                statuses = set(operation["responses"])
                assert {"400", "401", "403", "422", "429", "500", "503"} <= statuses
                # Who is known by a signature needs no key, and says so.
                assert operation["security"] or path in SIGNED
            for status, answer in operation["responses"].items():
                if status not in {"204", "304"} and (path, status) != NOTHING_TO_SAY:
                    assert answer["content"], (method, path, status)


def test_every_bound_of_a_field_is_described_in_words_of_json_schema():
    def walk(part, path):
        if isinstance(part, dict):
            ours = {"ge", "le", "gt", "lt"} & part.keys()
            assert not ours or path.endswith("/properties"), (path, ours)
            for name, inner in part.items():
                walk(inner, f"{path}/{name}")
        elif isinstance(part, list):
            for inner in part:
                walk(inner, path)

    walk(DESCRIBED, "")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search/analytics", {"events": [{"type": "click", "occurred_at": 0}]}),
        (
            "/v1/search/suggestions/evaluate",
            {"queries": ["why"], "ambient": {"lastAction": {"occurredAt": 0}}},
        ),
    ],
)
def test_a_time_that_is_no_text_is_refused(caller, path, body):
    answer = caller.post(path, json=body)
    assert answer.status_code == 422
    assert "A time is needed" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [
        ("abc-1.2_3", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("a b", False),
        ("a\tb", False),
        ("", False),
    ],
)
def test_a_request_id_comes_back_or_is_made(caller, given, is_kept):
    answer = caller.get("/health/live", headers={"X-Request-ID": given})

    assert (answer.headers["X-Request-ID"] == given) is is_kept
    if not is_kept:
        UUID(answer.headers["X-Request-ID"])


def test_a_traceparent_comes_back_if_it_is_one(caller):
    whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    kept = caller.get("/health/live", headers={"traceparent": whole})
    odd = caller.get("/health/live", headers={"traceparent": "<script>"})

    assert kept.headers["traceparent"] == whole
    assert "traceparent" not in odd.headers


PLANTED = {
    "database": "planted-database-word",
    "broker": "planted-broker-word",
    "engine": "planted-engine-word",
}


@pytest.fixture(scope="module")
def broken(make_api: Callable[..., System]) -> System:
    """An API none of whose backends answers; each address holds a password."""
    return make_api(
        database=f"postgresql://u:{PLANTED['database']}@127.0.0.1:{free_port()}/x",
        opensearch=f"http://u:{PLANTED['engine']}@127.0.0.1:{free_port()}",
        BROKER_URL=f"redis://:{PLANTED['broker']}@127.0.0.1:{free_port()}/0",
        LOGCHORD_LOG_LEVEL="debug",
    )


@pytest.mark.requirement("SEC14", "C17")
def test_no_secret_gets_into_an_answer_or_a_log_when_every_backend_is_away(broken):
    token = f"lk_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"
    with broken.client(token) as client:

        def ask(operation: tuple[str, str]) -> str:
            method, path = operation
            filled = re.sub(r"\{\w+\}", "x", path)
            answer = client.request(method, filled, json={"text": "x"})
            return answer.text + str(answer.headers)

        # Each waits for a database that does not come.
        with ThreadPoolExecutor(40) as pool:
            bodies = list(pool.map(ask, OPERATIONS))
        me = client.get("/v1/me", headers={"X-Request-ID": REQUEST_ID})
        health = client.get("/health")

    assert me.json()["error"]["code"] == "database_unavailable"
    check_shape(me)
    assert "details" not in me.json()["error"]
    assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
    assert client_sees_nothing(bodies, token)
    log = (broken.logs / "api.log").read_text(encoding="utf-8")
    assert "database_unavailable" in log
    assert me.json()["error"]["id"] in log
    assert not found_in(log, token, *PLANTED.values())


@pytest.fixture
def strangers(api: System, tenant: str) -> Iterator[dict[str, httpx2.Client]]:
    clients = {
        "nobody": api.client(""),
        "garbage": api.client("lk_000000000000_" + "s" * 43),
        "reader": api.client(api.key(tenant=tenant, scopes=("read",))),
        "admin": api.client(api.key(tenant=tenant, scopes=("admin",))),
    }
    yield clients
    for client in clients.values():
        client.close()


@pytest.mark.requirement("SEC14")
def test_every_class_of_error_keeps_keys_and_passwords_to_itself(
    api: System, strangers: dict[str, httpx2.Client], tenant: str
):
    with psycopg.connect(api.database) as conn:
        spent = keys.create_key(
            conn, tenant=tenant, name="x", scopes=["read"], rate_per_minute=1
        ).token
    password = httpx2.URL(api.database).password
    broker_password = httpx2.URL(api.environment["BROKER_URL"]).password
    admin, reader = strangers["admin"], strangers["reader"]
    secret_text = "entry-text-nobody-logs"
    pushed = admin.post("/v1/entries", json={"text": secret_text, "external_id": "1"})
    address = f"/v1/entries/{pushed.json()['entry_id']}"
    headers = {"Idempotency-Key": "k"}
    admin.post("/v1/entries", json={"text": secret_text}, headers=headers)
    answers = [
        admin.post("/v1/entries", json={"text": "other"}, headers=headers),
        admin.post("/v1/entries", content=b"{", headers={"Content-Type": "x/y"}),
        admin.post("/v1/entries", json={"text": secret_text, "links": [{}]}),
        admin.post("/v1/entries", json={"text": secret_text + "\0"}),
        admin.post("/v1/entries", content=b"x" * 17_000_000),
        admin.get("/v1/entries?cursor=x"),
        admin.get("/v1/me", headers={"X-Odd": "x" * 20_000}),
        admin.delete(address, headers={"If-Match": '"r9"'}),
        admin.delete(address),
        admin.get(address),
        admin.put("/v1/me"),
        reader.delete(address),
        reader.get("/v1/entries/x"),
        strangers["nobody"].get("/v1/me"),
        strangers["garbage"].get("/v1/me"),
    ]
    for _ in range(3):
        with api.client(spent) as client:
            answers.append(client.get("/v1/me"))

    statuses = {one.status_code for one in answers}
    expected = {400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 422, 429, 431}
    assert expected - {400, 404} <= statuses
    log = (api.logs / "api.log").read_text(encoding="utf-8")
    tokens = [str(c.headers.get("Authorization"))[7:] for c in strangers.values()]
    hidden = [one for one in (*tokens, spent, password, broker_password) if one]
    for one in answers:
        assert not found_in(one.text, *hidden)
    assert not found_in(log, *hidden, secret_text)


def client_sees_nothing(bodies: list[str], token: str) -> bool:
    return not any(found_in(body, token, *PLANTED.values()) for body in bodies)


def found_in(text: str, *planted: str) -> list[str]:
    return [one for one in planted if one in text]
