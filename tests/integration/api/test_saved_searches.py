"""Saved searches over REST, the command line and the page: one's own alone."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.support.fixtures.system import System
from tests.support.read_page import read_page
from tests.support.typed import typist

PATH = "/v1/saved-searches"
HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def hooked(make_api: Callable[..., System]) -> System:
    return make_api(LOGCHORD_WEBHOOK_ALLOWED_HOSTS="hooks.example")


@pytest.fixture
def colleague(api: System, tenant: str) -> Iterator[httpx2.Client]:
    with api.client(api.key(tenant=tenant, subject="colleague")) as client:
        yield client


def body(name: str = "RF trips", query: str = "cavity", **more: Any) -> dict[str, Any]:
    return {"name": name, "request": {"query": query}, **more}


def good(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


@pytest.mark.requirement("I08")
def test_a_saved_search_is_its_owners_alone(caller, colleague) -> None:
    made = caller.post(PATH, json=body())
    one = good(made, 201)
    where = f"{PATH}/{one['id']}"
    assert made.headers["location"] == where
    assert one["request"] == {"query": "cavity", "filters": {}}
    assert (one["alert"]["enabled"], one["alert"]["since"]) == (False, None)

    assert good(caller.get(where)) == one
    assert [each["id"] for each in good(caller.get(PATH))["items"]] == [one["id"]]
    assert good(colleague.get(PATH))["items"] == []
    for answer in (
        colleague.get(where),
        colleague.put(where, json=body()),
        colleague.delete(where),
        colleague.post(f"{where}/preview", json={}),
        colleague.get(f"{where}/alerts"),
    ):
        assert answer.status_code == 404

    assert good(caller.post(f"{where}/preview"))["would_have_fired"] == 0
    assert (
        good(caller.post(f"{where}/preview", json={"days": 312.0}))["would_have_fired"]
        == 0
    )

    quiet = {"from": "22:00", "until": "06:00"}
    alert = {"enabled": True, "quiet_hours": quiet, "digest": "day"}
    other = good(caller.put(where, json=body("Trips", "trip", alert=alert)))
    assert (other["name"], other["id"]) == ("Trips", one["id"])
    assert other["alert"]["quiet_hours"] == quiet
    since = other["alert"]["since"]
    renamed = good(caller.put(where, json=body("Renamed", "trip", alert=alert)))
    assert renamed["alert"]["since"] == since, "a name changes nothing of what is told"
    assert good(caller.get(f"{where}/alerts")) == {"items": [], "next_cursor": None}

    assert caller.delete(where).status_code == 204
    assert caller.get(where).status_code == 404


def test_a_list_goes_on_behind_its_cursor(caller: httpx2.Client) -> None:
    made = [good(caller.post(PATH, json=body(f"{n}")), 201)["id"] for n in range(3)]

    first = good(caller.get(PATH, params={"limit": 2}))
    rest = {"limit": 2, "cursor": first["next_cursor"]}
    second = good(caller.get(PATH, params=rest))

    found = [one["id"] for one in (*first["items"], *second["items"])]
    assert (found, second["next_cursor"]) == (made[::-1], None)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (body(query=""), "request"),
        (body(query="trips last night"), "request"),
        ({"name": "x", "request": {"query": "x", "limit": 5}}, "request.limit"),
        (
            {
                "name": "x",
                "request": {"query": "x", "filters": {"start_date": "2026-01-01"}},
            },
            "request",
        ),
        (body(alert={"webhook_url": "https://hooks.example/x"}), "alert.webhook_url"),
        (body(alert={"webhook_url": "mailto:a@hooks.example"}), "alert.webhook_url"),
        (
            body(alert={"quiet_hours": {"from": "22:00", "until": "22:00"}}),
            "alert.quiet_hours",
        ),
        (body(name=""), "name"),
    ],
)
def test_what_nobody_could_be_told_by_is_refused_by_name(caller, given, field) -> None:
    answer = caller.post(PATH, json=given)

    assert answer.status_code == 422
    [told] = answer.json()["error"]["details"]["fields"]
    assert told["path"] == field


def test_a_webhook_is_of_a_host_that_an_admin_named(hooked: System) -> None:
    given = body(alert={"enabled": True, "webhook_url": "https://hooks.example/x"})
    with hooked.client(hooked.key()) as client:
        one = good(client.post(PATH, json=given), 201)
    assert one["alert"]["webhook_url"] == "https://hooks.example/x"
    assert len(one["alert"]["signing_secret"]) == 64


def test_the_command_line_adds_lists_and_removes(api, tenant, tmp_path) -> None:
    logchord = typist(api, tmp_path, api.key(tenant=tenant))

    added = logchord("saved", "add", "RF trips", "cavity", "--words-only")
    assert added.returncode == 0, added.stderr
    saved_id, *_ = added.stdout.split()
    assert "alerts: listed" in added.stdout
    assert logchord("saved", "list").stdout == added.stdout
    tried = logchord("saved", "preview", saved_id, "--days", "3")
    assert tried.stdout == "0 alerts in 3 days\n"
    assert logchord("saved", "remove", saved_id).returncode == 0
    assert "You have none" in logchord("saved", "list").stderr


def test_the_page_adds_one_from_a_search_and_removes_it(api, tenant) -> None:
    key = api.key(tenant=tenant)
    with httpx2.Client(base_url=api.url, headers=HTML) as browser:
        origin = {"origin": str(browser.base_url)}

        def csrf(path: str) -> str:
            page = read_page(browser.get(path).text)
            return str(page.one("input", name="csrf")["value"])

        login = {"csrf": csrf("/login"), "key": key, "next": "/"}
        browser.post("/login", data=login, headers=origin)
        page = read_page(browser.get("/saved?q=cavity&logbook=ops").text)
        fields = {
            name: page.one("input", name=name)["value"]
            for name in ("csrf", "q", "name", "logbook")
        }
        assert fields["q"] == fields["name"] == "cavity"
        form = {**fields, "action": "add"}

        forged = {**form, "csrf": "x"}
        assert browser.post("/saved", data=forged, headers=origin).status_code == 403
        assert browser.post("/saved", data=form, headers=origin).status_code == 303
        [one] = browser.get("/saved.json").json()["items"]
        assert one["request"] == {"query": "cavity", "filters": {"logbook": "ops"}}
        assert (one["alert"]["enabled"], one["semantic"]) == (True, False)
        listed = read_page(browser.get("/saved").text)
        assert listed.link(one["name"]) == "/search?q=cavity&logbook=ops"

        shown = browser.get(f"/saved?preview={one['id']}").text
        assert "0 alerts in the last 30 days" in shown
        assert "No alerts yet." in browser.get(f"/saved?alerts={one['id']}").text
        gone = {"csrf": csrf("/saved"), "id": one["id"], "action": "remove"}
        browser.post("/saved", data=gone, headers=origin)
        assert browser.get("/saved.json").json()["items"] == []
