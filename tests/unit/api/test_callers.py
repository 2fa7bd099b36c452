"""Who may call without a key, and against which limit their requests count."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from api import app
from api.access.callers import Callers
from api.strict_route import StrictRoute
from shared.errors import AccessError
from shared.settings.settings import Settings

# Neither is asked: no key is looked up, nothing is counted.
NOBODY: Any = None


def find(
    host: str = "localhost:8006",
    peer: str = "127.0.0.1",
    method: str = "GET",
    **headers: str,
) -> str:
    given = {"host": host, **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "client": (peer, 40_000),
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
    }
    settings = Settings.load({"LOGCHORD_ANONYMOUS_LOOPBACK": "true"})
    callers = Callers(settings, NOBODY, NOBODY, NOBODY, NOBODY)
    return asyncio.run(callers.find(Request(scope))).subject


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("host", ["localhost", "localhost:8006", "[::1]:8006"])
def test_this_machine_itself_needs_no_key_where_that_is_allowed(host: str) -> None:
    assert find(host) == "anonymous"


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    "header",
    [
        *("forwarded", "via", "x_forwarded_for", "x_forwarded_host", "x_real_ip"),
        *("x_forwarded_proto", "x_forwarded_port", "x_forwarded_server"),
        *("x_forwarded_prefix", "x_client_ip", "cf_connecting_ip"),
    ],
)
def test_whoever_comes_through_a_proxy_needs_a_key(header: str) -> None:
    with pytest.raises(AccessError):
        find(**{header: "https"})


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "::1"])
def test_another_name_for_this_machine_needs_a_key(host: str) -> None:
    with pytest.raises(AccessError):
        find(host)


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "testclient", ""])
def test_another_machine_needs_a_key(peer: str) -> None:
    with pytest.raises(AccessError):
        find(peer=peer)


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:9000", "http://localhost"],
)
def test_a_page_of_somebody_else_writes_nothing_without_a_key(method, origin) -> None:
    with pytest.raises(AccessError) as caught:
        find(method=method, origin=origin)
    assert (caught.value.error_code, caught.value.status) == ("origin_refused", 403)


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {}),
        ("POST", {"origin": "http://localhost:8006"}),
        ("GET", {"origin": "http://evil.example"}),
        ("HEAD", {"origin": "http://evil.example"}),
    ],
)
def test_the_page_of_this_machine_and_programs_write(method, headers) -> None:
    assert find(method=method, **headers) == "anonymous"


def test_a_request_counts_as_what_its_route_needs() -> None:
    routes = [one for module in app._ROUTES for one in module.router.routes]
    found: dict[str, set[str]] = {}
    for route in routes:
        assert isinstance(route, StrictRoute)
        named = {f"{method} {route.path}" for method in route.methods or ()}
        found.setdefault(route.counts_as, set()).update(named)

    assert found["search"] == {
        "POST /search",
        "POST /v1/classify",
        "POST /v1/search/query",
        "POST /v1/search/suggestions/evaluate",
        "POST /v1/advisory-ai/search/query",
        "POST /v1/advisory-ai/search/suggestions/evaluate",
        "POST /v1/advisory-ai/search/synthesize",
        "POST /v1/search/export",
        "POST /v1/search/plan",
        "POST /v1/search/jobs",
        "POST /v1/search/synthesize",
        "GET /v1/search/jobs",
        "GET /v1/search/jobs/{job_id}",
        "DELETE /v1/search/jobs/{job_id}",
        "GET /v1/search/jobs/{job_id}/results",
        "GET /v1/search/jobs/{job_id}/export",
        "GET /v1/search/jobs/{job_id}/events",
        "GET /v1/search/jobs/{job_id}/why-not",
        "POST /v1/search/jobs/{job_id}/replay",
        "GET /v1/filter-options/{field}",
        "GET /v1/entries/{entry_id}/similar",
        "GET /v1/digest",
        "GET /v1/glossary",
        "POST /v1/glossary/{term:path}",
        "GET /v1/saved-searches",
        "POST /v1/saved-searches",
        "GET /v1/saved-searches/{saved_id}",
        "PUT /v1/saved-searches/{saved_id}",
        "DELETE /v1/saved-searches/{saved_id}",
        "POST /v1/saved-searches/{saved_id}/preview",
        "GET /v1/saved-searches/{saved_id}/alerts",
    }
    assert found["ingest"] == {
        "POST /v1/entries",
        "PUT /v1/entries/{entry_id}",
        "PATCH /v1/entries/{entry_id}",
        "DELETE /v1/entries/{entry_id}",
        "POST /v1/entries/{entry_id}/attachments",
        "PUT /e/{source}/{external_id:path}",
    }
    assert set(found) == {"search", "ingest", "default"}
