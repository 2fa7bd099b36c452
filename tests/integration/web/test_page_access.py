"""Every page by every scope: whoever lacks its scope is told so by a page."""

from uuid import uuid4

import pytest
from fastapi.routing import APIRoute

from api.web.pages import ROUTERS
from tests.support.fixtures.system import System

HTML = {"accept": "text/html"}
SCOPES = ("read", "search", "ingest", "admin")
ABSENT = uuid4()
# Each page, with an address that is refused behind its door where it would search,
# and the scope that it needs; None: anybody may look.
PAGES = {
    "/": ("/", "read"),
    "/search": ("/search?page=0&q=x", "search"),
    "/e/{source}/{external_id:path}": ("/e/api/none", "read"),
    "/entries/{entry_id}": (f"/entries/{ABSENT}", "read"),
    "/threads/{thread_id}": (f"/threads/{ABSENT}", "read"),
    "/live": ("/live", "read"),
    "/digest": ("/digest", "search"),
    "/jobs": ("/jobs", "search"),
    "/saved": ("/saved", "search"),
    "/jobs/{job_id}": (f"/jobs/{ABSENT}", "search"),
    "/why-not": (f"/why-not?job={ABSENT}&entry=x", "search"),
    "/sources": ("/sources", "read"),
    "/sources/{source}": ("/sources/api", "read"),
    "/status": ("/status", "read"),
    "/quarantine": ("/quarantine", "admin"),
    "/help": ("/help", None),
    "/login": ("/login", None),
}
# No pages: a stream of rows, a choice that is kept, files.
OTHERS = {"/live/events", "/set", "/static/{name}"}


def test_every_page_stands_in_the_table() -> None:
    routes = [
        one
        for router in ROUTERS
        for one in router.routes
        if isinstance(one, APIRoute) and "GET" in (one.methods or ())
    ]
    paths = {one.path for one in routes if not one.path.endswith(".json")}

    assert paths - OTHERS == PAGES.keys()


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("scope", SCOPES)
def test_a_page_is_shown_to_whoever_has_its_scope(api, tenant, scope) -> None:
    shown = {}
    with api.client(api.key(tenant=tenant, scopes=(scope,))) as caller:
        for name, (address, _) in PAGES.items():
            answer = caller.get(address, headers=HTML)
            assert answer.headers["content-type"].startswith("text/html"), address
            shown[name] = answer.status_code

    refused = {name for name, status in shown.items() if status == 403}
    assert refused == {
        name
        for name, (_, needed) in PAGES.items()
        if needed is not None and scope not in {needed, "admin"}
    }
    assert all(status < 500 for status in shown.values()), shown


def test_an_address_of_nothing_is_a_page_to_browsers_alone(running: System) -> None:
    with running.client("") as nobody:
        shown = nobody.get("/serach?q=x", headers=HTML)
        told = nobody.get("/serach?q=x")
        data = nobody.get("/v1/serach", headers=HTML)
    assert shown.status_code == told.status_code == data.status_code == 404
    assert shown.headers["content-type"].startswith("text/html")
    assert "Not here" in shown.text
    assert [one.json()["error"]["code"] for one in (told, data)] == ["not_found"] * 2
