"""Who may call without a key, and as what their requests count and are audited."""

import asyncio
import re
from typing import Any

import pytest
from starlette.requests import Request

from api import app
from api.access.callers import Callers
from api.strict_route import StrictRoute
from api.web import pages
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.settings import Settings

# Neither is asked: no key is looked up, nothing is counted.
NOBODY: Any = None


GATEWAY = """{header: X-Forwarded-User, groups_header: X-Forwarded-Groups,
    groups: {operators: {}, rf: {scopes: [ingest], logbooks: [RF]}}}"""


def find(
    host: str = "localhost:8006",
    peer: str = "127.0.0.1",
    method: str = "GET",
    **headers: str,
) -> str:
    given = {"host": host, **{k.replace("_", "-"): v for k, v in headers.items()}}
    settings = Settings.load({"LOGCHORD_ANONYMOUS_LOOPBACK": "true"})
    lines = [(k.encode(), v.encode()) for k, v in given.items()]
    return find_caller(settings, peer, method, lines).subject


def find_caller(
    settings: Settings, peer: str, method: str, headers: list[tuple[bytes, bytes]]
) -> Scope:
    callers = Callers(settings, NOBODY, NOBODY, lambda _: None, NOBODY)
    asked = {"type": "http", "method": method, "client": (peer, 40_000)}
    return asyncio.run(callers.find(Request({**asked, "headers": headers})))


def find_person(
    *headers: tuple[str, bytes],
    peer: str = "10.1.0.7",
    method: str = "GET",
    **people: str,
) -> Scope:
    """Ask as oauth2-proxy does, with `--pass-user-headers`, its default."""
    told = {"LOGCHORD_PEOPLE": GATEWAY, "LOGCHORD_TRUSTED_PROXIES": "10.1.0.0/24 ::1"}
    named = {f"LOGCHORD_PEOPLE__{k.upper()}": v for k, v in people.items()}
    lines = [(k.lower().encode(), v) for k, v in (("Host", b"logs.example"), *headers)]
    return find_caller(Settings.load({**told, **named}), peer, method, lines)


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


USER, GROUPS = "X-Forwarded-User", "X-Forwarded-Groups"


@pytest.mark.requirement("U22", "SEC1")
@pytest.mark.parametrize("peer", ["10.1.0.7", "::ffff:10.1.0.7", "::1"])
def test_a_person_is_whom_the_gateway_names(peer: str) -> None:
    found = find_person((USER, b"anna"), (GROUPS, b"cryo, operators"), peer=peer)

    assert (found.subject, found.groups) == ("anna", ("cryo", "operators"))
    assert found.allowed == {"read", "search"}
    assert found.logbooks is None
    assert (found.tenant, found.caller) == ("default", "person:anna")


@pytest.mark.requirement("U22", "SEC1")
@pytest.mark.parametrize("peer", ["10.1.1.7", "::ffff:10.1.1.7", "127.0.0.1", ""])
@pytest.mark.parametrize("header", [USER, GROUPS])
@pytest.mark.parametrize("more", [(), (("X-API-Key", b"lk_any"),)])
def test_a_person_is_nobody_whom_another_peer_names(
    peer: str, header: str, more: tuple[tuple[str, bytes], ...]
) -> None:
    with pytest.raises(AccessError) as caught:
        find_person((header, b"operators"), *more, peer=peer)
    assert (caught.value.error_code, caught.value.status) == ("origin_refused", 403)
    assert header in caught.value.message


@pytest.mark.requirement("U22", "SEC1")
@pytest.mark.parametrize(
    "headers",
    [
        [(USER, b"anna"), (USER, b"ben"), (GROUPS, b"operators")],
        [(USER, b"anna"), (GROUPS, b"cryo"), (GROUPS, b"operators")],
        [(USER, b"a" * 256), (GROUPS, b"operators")],
        [(USER, b"anna"), (GROUPS, b"operators," + b"a" * 256)],
        [(USER, "an\u200bna".encode()), (GROUPS, b"operators")],
        [(USER, b"anna\tb"), (GROUPS, b"operators")],
    ],
    ids=["person twice", "groups twice", "long", "long group", "unseen", "a tab"],
)
def test_a_header_that_no_gateway_sets_is_refused(
    headers: list[tuple[str, bytes]],
) -> None:
    with pytest.raises(AccessError) as caught:
        find_person(*headers)
    assert caught.value.error_code == "origin_refused"


@pytest.mark.requirement("U22")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Jürgen".encode(), "Jürgen"),
        ("Jürgen".encode("latin-1"), "Jürgen"),
        ("山田".encode(), "山田"),
        (b" a b@EXAMPLE.ORG ", "a b@EXAMPLE.ORG"),
        # No gateway encodes so; read as such, a name would be somebody else's.
        (b"UTF-8''anna", "UTF-8''anna"),
    ],
)
def test_a_name_is_read_as_gateways_write_it(written: bytes, read: str) -> None:
    assert find_person((USER, written), (GROUPS, b"operators")).subject == read


@pytest.mark.requirement("U22")
@pytest.mark.parametrize(
    ("separator", "written", "groups"),
    [
        (",", b"a;b,operators,,", ("a;b", "operators")),
        # As Shibboleth writes them.
        (";", rb"a\;operators;operators", ("a;operators", "operators")),
        ("|", b"a|operators", ("a", "operators")),
    ],
)
def test_groups_are_separated_as_the_gateway_does(
    separator: str, written: bytes, groups: tuple[str, ...]
) -> None:
    headers = (USER, b"anna"), (GROUPS, written)
    assert find_person(*headers, groups_separator=separator).groups == groups


@pytest.mark.requirement("U22")
@pytest.mark.parametrize("groups", [b"", b"cryo", b"Operators", b"operators;rf"])
def test_a_person_of_no_group_that_may_is_told_so(groups: bytes) -> None:
    headers = (USER, b"anna"), (GROUPS, groups)
    with pytest.raises(AccessError, match="anna is in none of the groups") as caught:
        find_person(*headers)
    assert (caught.value.error_code, caught.value.status) == ("scope_missing", 403)

    assert find_person(*headers, default="{scopes: [read]}").allowed == {"read"}


@pytest.mark.requirement("U22")
def test_whom_the_gateway_does_not_name_needs_a_key() -> None:
    for headers in ((), ((USER, b""),), ((GROUPS, b"operators"),)):
        with pytest.raises(AccessError) as caught:
            find_person(*headers)
        assert caught.value.error_code == "auth_required"


@pytest.mark.requirement("U22")
@pytest.mark.parametrize("kept", [b"Basic YTpi", b"Negotiate YII", b"Bearer eyJh.e.s"])
def test_what_a_gateway_was_logged_in_with_is_no_key(kept: bytes) -> None:
    named = (USER, b"anna"), (GROUPS, b"operators")
    assert find_person(*named, ("Authorization", kept)).subject == "anna"
    with pytest.raises(AccessError):
        find_person(*named, ("Authorization", b"Bearer lk_wrong"))


@pytest.mark.requirement("U22", "SEC1")
@pytest.mark.parametrize("origin", [b"https://evil.example", b"null"])
def test_a_page_of_somebody_else_writes_nothing_as_whom_the_gateway_names(
    origin: bytes,
) -> None:
    named = (USER, b"anna"), (GROUPS, b"operators")
    with pytest.raises(AccessError) as caught:
        find_person(*named, ("Origin", origin), method="POST")
    assert caught.value.error_code == "origin_refused"
    ours = ("Origin", b"https://logs.example")
    assert find_person(*named, ours, method="POST").subject == "anna"


def test_nobody_is_named_where_no_gateway_is_set() -> None:
    with pytest.raises(AccessError) as caught:
        find(peer="10.1.0.7", **{USER: "anna"})
    assert caught.value.error_code == "auth_required"


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


# As what the audit keeps requests, but for what admins alone change: that, always.
AUDITED = {
    "read": """
        GET /v1/entries  GET /v1/entries/{entry_id}  GET /v1/entries/{entry_id}/thread
        GET /v1/entries/{entry_id}/revisions  GET /v1/threads/{thread_id}
        GET /v1/attachments/{attachment_id}  GET /v1/changes  GET /v1/digest
        GET /v1/attachments/{attachment_id}/thumbnail  GET /v1/audit
        GET /e/{source}/{external_id:path}  GET /threads/{thread_id}  GET /live
        GET /threads/{thread_id}.json  GET /live.json  GET /live/events
        GET /digest  GET /digest.json""",
    "search": """
        POST /search  POST /v1/search/query  POST /v1/search/jobs  GET /search
        POST /v1/search/jobs/{job_id}/replay  POST /v1/search/synthesize
        GET /v1/entries/{entry_id}/similar  POST /v1/saved-searches/{saved_id}/preview
        POST /v1/advisory-ai/search/query  POST /v1/advisory-ai/search/synthesize
        GET /search.json  POST /search/words""",
    "export": "POST /v1/search/export  GET /v1/search/jobs/{job_id}/export",
    "administer": "DELETE /v1/entries/{entry_id}",
}


@pytest.mark.requirement("U30")
def test_whatever_shows_entries_or_is_for_admins_to_change_is_audited() -> None:
    wanted = {
        name: kind
        for kind, told in AUDITED.items()
        for name in re.findall(r"[A-Z]+ \S+", told)
    }
    found = {}
    routers = [*(module.router for module in app._ROUTES), *pages.ROUTERS]
    for route in (one for router in routers for one in router.routes):
        assert isinstance(route, StrictRoute)
        methods = route.methods or set()
        name = f"{min(methods)} {route.path}"
        if route.needed == "admin" and "GET" not in methods:
            assert route.action == "administer"
        elif route.action is not None:
            found[name] = route.action
    assert found == wanted
