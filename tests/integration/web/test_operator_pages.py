"""Pages of whoever looks after the system, and what a reader may see of them."""

from typing import Any

import httpx2
import pytest

from api.client.event_lines import EventLines
from tests.support.read_page import Element, read_page
from tests.support.written import ok

HTML = {"accept": "text/html"}
# What is another thing a moment later.
PASSING = frozenset(
    {"as_of", "to", "watermark", "lag_seconds", "seen_at", "oldest_seconds"}
)


def show(client: httpx2.Client, path: str, status: int = 200) -> Element:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    return read_page(answer.text)


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("/", "Search the logbooks"),
        ("/live", "Live"),
        ("/digest", "Shift digest"),
        ("/jobs", "Your searches"),
        ("/sources", "Sources"),
        ("/sources/api", "api"),
        ("/status", "Status"),
        ("/quarantine", "Quarantine"),
        ("/help", "How to ask"),
        ("/login", "Log in"),
    ],
)
def test_every_page_is_there_with_one_head(operator, path, head) -> None:
    page = show(operator, path)

    assert page.one("h1").text.startswith(head)
    assert len([*page.every("h1")]) == 1
    assert page.one("main")["id"] == "main"


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/index.json", "/v1/entries?limit=30"),
        ("/live.json", "/v1/entries?limit=20"),
        ("/digest.json?since=2026-01-01", "/v1/digest?since=2026-01-01"),
        ("/jobs.json", "/v1/search/jobs"),
        ("/sources.json", "/v1/sources"),
        ("/sources/api.json", "/v1/sources/api"),
        ("/quarantine.json", "/v1/quarantine?limit=50"),
    ],
)
def test_every_page_is_the_data_of_its_route_at_the_same_address(operator, path, route):
    operator.post("/v1/entries", json={"text": "Pump 4 leaks.", "external_id": "P-4"})

    page, told = operator.get(path), operator.get(route)

    assert (page.status_code, told.status_code) == (200, 200)
    shown = {name: page.json()[name] for name in told.json()}
    assert _settled(shown) == _settled(told.json())


def _settled(told: Any) -> Any:
    """Return what is told without what changes from one moment to the next."""
    if isinstance(told, list):
        return [_settled(one) for one in told]
    if not isinstance(told, dict):
        return told
    return {name: _settled(one) for name, one in told.items() if name not in PASSING}


def test_the_quarantine_is_for_admins(caller: httpx2.Client) -> None:
    assert show(caller, "/quarantine", status=403).one("h1").text == "Not allowed"


def test_an_admin_of_some_logbooks_is_shown_no_way_to_the_quarantine(api, operator):
    rf = {"name": "rf", "scopes": ["admin"], "logbooks": ["RF"]}
    token = ok(operator.post("/v1/keys", json=rf), 201)["token"]
    with api.client(token) as of_some:
        assert "/quarantine" not in of_some.get("/status", headers=HTML).text
    assert "/quarantine" in operator.get("/status", headers=HTML).text


def test_what_is_not_there_and_what_is_anothers_are_one_page(caller, api) -> None:
    with api.client() as other:
        written = {"text": "secret", "external_id": "THEIRS-1"}
        theirs = other.post("/v1/entries", json=written).json()

        entry_id = theirs["entry_id"]
        reply = {"text": "secret too", "reply_to": "THEIRS-1"}
        answered = other.post("/v1/entries", json=reply).json()
        thread = other.get(f"/v1/entries/{answered['entry_id']}").json()["thread_id"]
        assert thread
        file = other.post(
            f"/v1/entries/{entry_id}/attachments",
            files={"file": ("secret.txt", b"secret", "text/plain")},
        ).json()["attachment_id"]
        job = other.post("/v1/search/jobs", json={"query": "secret"}).json()["job_id"]

    for path in (
        *("/e/api/none", f"/entries/{entry_id}", f"/threads/{thread}"),
        *(f"/jobs/{job}", f"/why-not?job={job}&entry={entry_id}"),
    ):
        page = show(caller, path, status=404)
        assert page.one(cls="empty-not_here").one("h1").text == "Not here"
        assert "secret" not in page.text
    assert caller.get(f"/v1/attachments/{file}", headers=HTML).status_code == 404


def test_where_nothing_was_written_yet_it_says_what_to_do(caller) -> None:
    page = show(caller, "/")

    assert page.one("section", cls="empty").one("h2").text == "No entries yet"
    assert page.link("Look at the sources") == "/sources"


def test_an_id_leads_to_the_address_that_a_rebuild_keeps(caller: httpx2.Client) -> None:
    made = caller.post("/v1/entries", json={"text": "x", "external_id": "A/1"}).json()

    answer = caller.get(f"/entries/{made['entry_id']}?revision=1", headers=HTML)

    assert answer.status_code == 303
    assert answer.headers["location"] == "/e/api/A%2F1@1"
    twin = caller.get(f"/entries/{made['entry_id']}.json?revision=1")
    assert (twin.status_code, twin.headers["location"]) == (
        303,
        f"{answer.headers['location']}.json",
    )
    told = caller.get(twin.headers["location"]).json()
    assert (told["entry_id"], told["revision"]) == (made["entry_id"], 1)


def test_an_entry_whose_number_ends_like_a_twin_has_a_page(caller) -> None:
    for number in ("run.json", "run2"):
        caller.post("/v1/entries", json={"text": number, "external_id": number})

    page = show(caller, "/e/api/run.json")

    assert page.one(id="text").text == "run.json"
    twin = page.link("this page as JSON")
    assert twin == "/e/api/run.json.json"
    for address, number in ((twin, "run.json"), ("/e/api/run2.json", "run2")):
        assert caller.get(address, headers=HTML).json()["external_id"] == number
    assert caller.get("/e/api/none.json", headers=HTML).status_code == 404


def test_revisions_show_what_changed(caller: httpx2.Client) -> None:
    for text in ("valve closed", "valve open"):
        caller.post("/v1/entries", json={"text": text, "external_id": "R-1"})

    page = show(caller, "/e/api/R-1@1")

    assert page.one(id="text").text == "valve closed"
    assert "revision 1 of 2" in page.one(cls="late").text
    diff = page.one("pre", cls="diff")
    assert [one.text for one in diff.every("ins")][-1] == "+valve open"
    assert show(caller, "/e/api/R-1").one(id="text").text == "valve open"


def test_each_revision_is_a_link_however_many_there_are(caller: httpx2.Client) -> None:
    for number in range(1, 14):
        entry = {"external_id": "R-2", "text": f"{number} bunches"}
        assert caller.post("/v1/entries", json=entry).is_success

    page = show(caller, "/e/api/R-2").one("section", **{"aria-label": "Revisions"})

    told = [one["href"] for one in page.every("a")]
    assert told == [f"/e/api/R-2@{number}" for number in range(13, 0, -1)]


def test_a_digest_tells_what_was_written_since_in_sections(caller) -> None:
    caller.post(
        "/v1/entries",
        json={
            "entries": [
                {"text": "Quiet night.", "title": "Summary", "kind": "shift_summary"},
                {"text": "RF2 tripped at 02:10.", "title": "Trip", "kind": "incident"},
                {"text": "LOTO-2026-0117 applied to PS3.", "title": "Lock"},
                {"text": "Visitors came.", "title": "Tour"},
                {
                    "text": "Before.",
                    "title": "Old",
                    "entry_time": "2020-01-01T00:00:00Z",
                },
            ]
        },
    )

    told = caller.get("/v1/digest").json()
    page = show(caller, "/digest")

    found = {
        name: [one["title"] for one in items]
        for name, items in told["sections"].items()
        if name != "devices"
    }
    assert found == {
        "handover": ["Summary"],
        "open": ["Trip"],
        "resolved": [],
        "locks": ["Lock"],
        "new": ["Tour"],
    }
    heads = [one.one("h2").text for one in page.every("section", cls="shift")]
    assert heads[:2] == ["Handed over 1", "Open 1"]
    assert "Old" not in page.text


def test_a_list_shows_what_an_entry_says_and_not_how_it_was_marked_up(caller) -> None:
    first = "<style>p {color: red}</style>" * 20 + "<p>Pump <b>P-7</b> is hot.</p>"
    answered = {"text": "<p>Cooled <i>down</i>.</p>", "reply_to": "M-1"}
    entries = [{"external_id": "M-1", "text": first}, answered]
    pushed = [{**one, "text_format": "html"} for one in entries]
    caller.post("/v1/entries", json={"entries": pushed})
    thread = caller.get("/e/api/M-1").json()["thread_id"]

    pages = {
        path: show(caller, path).one("main").text
        for path in ("/", "/live", "/digest", f"/threads/{thread}")
    }
    digest = caller.get("/v1/digest").json()["sections"]["new"]

    for path, text in pages.items():
        assert "Pump P-7 is hot." in text, path
        assert "Cooled down." in text, path
        assert "(no title)" not in text, path
        assert "<" not in text, path
    assert {one["text"] for one in digest} == {"Pump P-7 is hot.", "Cooled down."}


def test_live_sends_its_rows_and_a_beat_to_whoever_has_them(caller) -> None:
    caller.post("/v1/entries", json={"text": "beam is back", "title": "Beam"})

    def first(**headers: str) -> tuple[str, str]:
        with caller.stream("GET", "/live/events", headers=headers) as stream:
            lines = EventLines()
            heard = map(lines.hear, stream.iter_lines())
            event = next(one for one in heard if one is not None)
            return event.id, event.name

    number, name = first()
    assert name == "rows"
    assert first(**{"last-event-id": number}) == (number, "beat")


def test_a_status_that_names_what_is_missing_does_not_say_that_nothing_is_wrong(
    operator: httpx2.Client,
) -> None:
    page = show(operator, "/status")
    # Nobody works here, and no search index is wanted.
    assert "Nobody works on" in page.text
    assert "Nothing is wrong" not in page.text
    told = [one.text for one in page.every("li") if "opensearch" in one.text]
    assert [one.split()[0] for one in told] == ["off"]
