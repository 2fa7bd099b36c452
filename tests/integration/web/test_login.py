"""A session of the page: a key traded for a cookie, and what the cookie can do."""

from collections.abc import Iterator
from urllib.parse import parse_qs

import httpx2
import psycopg
import pytest

from api.access import page_sessions
from tests.support.fixtures.system import System
from tests.support.read_page import read_page
from tests.support.waiting import until

HTML = {"accept": "text/html"}


@pytest.fixture
def browser(api: System) -> Iterator[httpx2.Client]:
    """Whoever has no key in their headers, and keeps cookies."""
    with httpx2.Client(base_url=api.url, headers=HTML) as client:
        yield client


def csrf_of(browser: httpx2.Client, path: str = "/login") -> str:
    page = read_page(browser.get(path).text)
    return page.one("input", name="csrf")["value"]


def log_in(browser: httpx2.Client, key: str, **more: str) -> httpx2.Response:
    form = {"csrf": csrf_of(browser), "key": key, "next": "/status", **more}
    return browser.post("/login", data=form, headers={"origin": str(browser.base_url)})


@pytest.mark.requirement("SEC1")
def test_a_key_is_traded_for_a_cookie_that_reads(api, tenant, browser) -> None:
    key = api.key(tenant=tenant)

    answer = log_in(browser, key)

    assert (answer.status_code, answer.headers["location"]) == (303, "/status")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    # It holds no secret of the key; a secret may have underscores of its own.
    _, _, secret = key.split("_", 2)
    assert secret not in cookie
    assert browser.get("/v1/me").json()["tenant"] == tenant
    assert browser.get("/status").status_code == 200


@pytest.mark.requirement("SEC1")
def test_a_session_writes_by_no_route_of_programs(api, tenant, browser) -> None:
    log_in(browser, api.key(tenant=tenant))

    answer = browser.post("/v1/entries", json={"text": "forged"})

    assert answer.status_code == 401


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    ("origin", "token"),
    [("http://evil.example", None), ("", None), (None, "0" * 64), (None, "")],
)
def test_a_form_from_elsewhere_is_refused(api, tenant, browser, origin, token) -> None:
    form = {
        "csrf": csrf_of(browser) if token is None else token,
        "key": api.key(tenant=tenant),
    }
    headers = {"origin": str(browser.base_url) if origin is None else origin}

    answer = browser.post("/login", data=form, headers=headers)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert read_page(answer.text).one("h1").text == "Not allowed"


def make_session(system: System, key: str) -> str:
    """Return the cookie that a login with this key brings."""
    with psycopg.connect(system.database) as conn:
        secret = conn.execute("SELECT cursor_secret FROM installation").fetchone()
    assert secret is not None
    return page_sessions.make_session(bytes(secret[0]), key.split("_")[1])


@pytest.fixture
def is_over(api: System, tenant: str, browser: httpx2.Client) -> None:
    """Give the browser the session of a key that is revoked."""
    key = api.key(tenant=tenant)
    # Before it was ever looked up here: what is known is known for two seconds.
    with psycopg.connect(api.database) as conn:
        conn.execute(
            "UPDATE api_key SET revoked_at = now() WHERE key_id = %s",
            (key.split("_")[1],),
        )
    session = make_session(api, key)
    browser.cookies.set(page_sessions.COOKIE, session, domain="127.0.0.1")


@pytest.mark.requirement("SEC1")
@pytest.mark.usefixtures("is_over")
def test_a_key_that_is_revoked_ends_its_session(browser: httpx2.Client) -> None:
    answer = browser.get("/status")

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?")
    assert page_sessions.COOKIE not in browser.cookies


@pytest.mark.requirement("SEC1")
@pytest.mark.usefixtures("is_over")
def test_whose_key_is_revoked_logs_in_with_another_at_once(api, tenant, browser):
    answer = log_in(browser, api.key(tenant=tenant))

    assert (answer.status_code, answer.headers["location"]) == (303, "/status")
    assert browser.get("/v1/me").json()["tenant"] == tenant


@pytest.mark.requirement("SEC1")
def test_a_wrong_key_ends_no_session_and_the_form_can_be_sent_again(
    api: System, tenant: str, browser: httpx2.Client
) -> None:
    key = api.key(tenant=tenant)
    log_in(browser, key)
    origin = {"origin": str(browser.base_url)}
    form = {"csrf": csrf_of(browser), "next": "/status"}

    wrong = browser.post("/login", data={**form, "key": "lk_x_y"}, headers=origin)

    assert wrong.status_code == 403
    assert browser.get("/v1/me").status_code == 200
    shown = read_page(wrong.text).one("input", name="csrf")["value"]
    again = {**form, "csrf": shown, "key": key}
    assert browser.post("/login", data=again, headers=origin).status_code == 303


@pytest.mark.requirement("SEC1")
def test_a_session_that_somebody_made_up_is_none(api, tenant, browser) -> None:
    key_id = api.key(tenant=tenant).split("_")[1]
    forged = page_sessions.make_session(b"guessed", key_id)
    browser.cookies.set(page_sessions.COOKIE, forged)

    assert browser.get("/v1/me").status_code == 401


@pytest.mark.requirement("SEC1")
def test_logging_out_ends_the_session_also_for_a_copy_of_its_cookie(
    api, tenant, browser
) -> None:
    key = api.key(tenant=tenant)
    log_in(browser, key)
    form = {"csrf": csrf_of(browser)}
    copied = browser.cookies[page_sessions.COOKIE]
    # Of whoever logs in with the same key in the same second.
    another = make_session(api, key)

    answer = browser.post(
        "/logout", data=form, headers={"origin": str(browser.base_url)}
    )

    assert answer.status_code == 303
    assert browser.get("/v1/me").status_code == 401
    browser.cookies.set(page_sessions.COOKIE, copied)
    assert browser.get("/v1/me").status_code == 401
    browser.cookies.set(page_sessions.COOKIE, another)
    assert browser.get("/v1/me").status_code == 200


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    ("path", "name", "sent"),
    [
        ("/search", "q", {"q": "Warum schloß der Schieber?" * 300}),
        ("/saved", "q", {"q": "RF trip", "name": "Ours", "tag": "rf"}),
        ("/saved", "name", {"name": "Ours & theirs", "q": "RF trip"}),
        ("/saved", "tag", {"tag": "rf", "q": "RF trip"}),
    ],
)
def test_what_was_typed_is_there_again_behind_the_login(
    api, tenant, browser, path: str, name: str, sent: dict[str, str]
) -> None:
    if path == "/search":
        refused = browser.get(path, params=sent)
    else:
        form = {**sent, "csrf": csrf_of(browser), "action": "add"}
        origin = {"origin": str(browser.base_url)}
        refused = browser.post(path, data=form, headers=origin)
    if refused.has_redirect_location:
        refused = browser.get(refused.headers["location"])
    place = read_page(refused.text).one("input", name="next")["value"]

    assert parse_qs(place.partition("?")[2])[name] == [sent[name]]
    if path == "/saved":
        with api.client(api.key(tenant=tenant, scopes=("search",))) as known:
            page = read_page(known.get(place, headers=HTML).text)
        assert page.one("input", name=name)["value"] == sent[name]


def test_nobody_is_led_elsewhere_after_a_login(api, tenant, browser) -> None:
    answer = log_in(browser, api.key(tenant=tenant), next="//evil.example")

    assert answer.headers["location"] == "/"


def test_what_was_chosen_is_kept_in_the_browser(browser: httpx2.Client) -> None:
    answer = browser.get("/set", params={"theme": "dark", "next": "/help"})

    assert answer.headers["location"] == "/help"
    shown = read_page(browser.get("/help").text)
    assert shown.one("html")["data-theme"] == "dark"
    assert shown.one("body")["data-keys"] == "on"


@pytest.mark.requirement("U30")
def test_the_audit_tells_a_login_and_what_is_read_in_its_session(
    api, tenant, browser
) -> None:
    key = api.key(tenant=tenant)
    log_in(browser, key)
    browser.get("/digest")
    log_in(browser, key[:-3] + "xyz")

    statement = (
        "SELECT tenant, action, outcome, way_in, request FROM audit_record"
        " WHERE key_id = %s ORDER BY at"
    )
    with psycopg.connect(api.database, autocommit=True) as conn:
        named = (key.split("_")[1],)
        until(
            lambda: len(conn.execute(statement, named).fetchall()) == 3,
            within_seconds=5,
            what="the rows",
        )
        found = conn.execute(statement, named).fetchall()
    # A key that is refused is nobody's: only the installation's admin is told.
    assert found == [
        (tenant, "login", "done", "login", "POST /login"),
        (tenant, "read", "done", "login", "GET /digest"),
        ("*", "login", "refused", "login", "POST /login"),
    ]
