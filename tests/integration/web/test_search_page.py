"""The search page and the entries that it leads to, as a browser without JavaScript."""

import json
from typing import Any

import httpx2
import pytest

from api.web.search_form import SearchForm
from tests.support.fixtures.system import System
from tests.support.read_page import Element, read_page
from tests.support.web_app import WINDOW
from tests.support.written import push_found

HTML = {"accept": "text/html"}
QUESTION = "why did gate valve 8 close with beam in the machine"
FELL = "I think it simply fell shut when air sagged."
ENTRIES: list[dict[str, Any]] = [
    {
        "external_id": "OPS-1",
        "title": "Gate valve 8 closed with beam in the machine",
        "text": "Gate valve 8 closed at 02:10 and the beam was lost. "
        f"{FELL} Compressed air was at 4.1 bar.",
        "entry_time": "2026-02-03T02:30:00Z",
        "logbooks": ["Operations"],
        "authors": ["Ingrid Solvang"],
        "kind": "incident",
    },
    {
        "external_id": "OPS-2",
        "title": "Re: Gate valve 8",
        "text": "Compressor restarted, gate valve 8 is open again.",
        "reply_to": "OPS-1",
        "entry_time": "2026-02-03T04:00:00Z",
        "logbooks": ["Operations"],
        "authors": ["Liam O'Connor"],
    },
]


def show(client: httpx2.Client, path: str, status: int = 200) -> Element:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return read_page(answer.text)


def search(client: httpx2.Client, query: str, **more: str) -> Element:
    address = httpx2.URL("/search", params={"q": query, **more})
    return show(client, str(address))


def test_an_answer_leads_to_the_sentence_that_it_cites(client: httpx2.Client) -> None:
    push_found(client, ENTRIES)

    page = search(client, QUESTION)

    answer = page.one("section", cls="answer")
    assert "fell shut when air sagged" in answer.one(cls="said").text
    cites = [*answer.every(cls="cite")]
    (cite,) = [one for one in cites if one.one(cls="quote").text.startswith(FELL)]
    address = cite.one("a")["href"]
    path, _, anchor = address.partition("#")
    assert path == "/e/api/OPS-1@1"
    assert show(client, path).one(id=anchor).text == FELL
    # Without a hover the quotes stand in a list.
    quotes = [one.text for one in answer.one("details", cls="sources").every("q")]
    assert FELL in quotes
    for place in (cite.one(cls="quote"), answer.one("details", cls="sources")):
        assert "03 Feb 2026" in place.text


def test_a_hit_leads_to_its_entry_with_what_was_asked_for_marked(client) -> None:
    push_found(client, ENTRIES)

    page = search(client, "compressor")

    hit = page.one("li", cls="hit")
    assert "Compressor" in [one.text for one in hit.every("mark")]
    entry = show(client, hit.one("a", cls="open")["href"])
    assert [one.text for one in entry.one(id="text").every("mark")] == ["Compressor"]
    tree = entry.one(id="thread").one("ol", cls="tree")
    assert [one.one("a")["href"] for one in tree.every("li")] == [
        "/e/api/OPS-1",
        "/e/api/OPS-2",
    ]
    assert entry.link("← results for “compressor”") == "/search?q=compressor"


def test_what_a_question_was_read_as_is_taken_away_by_a_link(client) -> None:
    push_found(client, ENTRIES)

    page = search(client, "gate valve in February 2026")

    readings = [one for one in page.every(cls="reading") if "written" in one.text]
    assert readings[0].text.startswith("written in February 2026: from 01")
    drop = readings[0].one("a", cls="drop")
    assert drop["href"] == "/search?q=gate+valve"


def test_a_time_that_is_clicked_stands_in_place_of_the_words_for_one(client) -> None:
    push_found(client, ENTRIES)

    page = search(client, "gate valve in February 2026")
    shifting = page.one("p", cls="shift-window")
    bar = page.one("section", cls="when").one("tbody").one("a")["href"]
    narrowed = show(client, bar)

    assert shifting.one("a")["href"].startswith("/search?q=gate+valve&from=2026-0")
    assert shifting.link("all") == "/search?q=gate+valve"
    assert page.link("last 7 d").startswith("/search?q=gate+valve&from=")
    assert bar.startswith("/search?q=gate+valve&from=2026-02-03")
    (written,) = [one for one in narrowed.every(cls="reading") if "written" in one.text]
    assert written.text.startswith("written from 03 Feb 2026")
    assert written.one("a", cls="drop")["href"] == "/search?q=gate+valve"


def test_every_view_is_json_at_the_same_address(client: httpx2.Client) -> None:
    push_found(client, ENTRIES)

    found = client.get(
        "/search.json", params={"q": "compressor", "mode": "keyword"}
    ).json()
    entry = client.get("/e/api/OPS-2@1.json").json()

    assert [one["external_id"] for one in found["results"]] == ["OPS-2"]
    assert found["facets"]["logbook"]["values"] == [{"value": "Operations", "count": 1}]
    assert (entry["external_id"], entry["revision"]) == ("OPS-2", 1)
    page = show(client, "/e/api/OPS-2@1?q=pump")
    linked = client.get(page.link("this page as JSON"), headers=HTML).json()
    assert (linked["external_id"], linked["revision"]) == ("OPS-2", 1)
    # A program that says nothing of HTML is given JSON where it always was.
    assert client.get("/e/api/OPS-2").json()["external_id"] == "OPS-2"


def test_what_is_counted_stands_behind_the_hits_as_links(client: httpx2.Client) -> None:
    push_found(client, ENTRIES)

    page = search(client, "gate valve")

    aside = page.one("aside", cls="counts")
    narrowed = aside.link("incident")
    assert narrowed == "/search?q=gate+valve&kind=incident"
    assert [one["id"] for one in show(client, narrowed).every("li", cls="hit")] == [
        "hit1"
    ]
    bars = [one["href"] for one in aside.one("svg").every("a")]
    assert bars
    assert "from=2026-02-03" in bars[0]
    rows = aside.one("table").one("tbody").every("tr")
    counts = [int([*row.every("td")][1].text) for row in rows]
    assert sum(counts) == len(ENTRIES)


@pytest.mark.parametrize("words", ["gate valve", "gate valve giraffe", "giraffe"])
def test_what_is_counted_is_what_a_search_by_the_same_words_counts(client, words):
    push_found(client, ENTRIES)
    asked = SearchForm(q=words).counts_request()

    shown = client.get("/search.json", params={"q": words}).json()["facets"]

    told = client.post(
        "/v1/search/query", json=asked.model_dump(mode="json", exclude_none=True)
    )
    assert shown == told.json()["facets"]
    # Both entries, by the words that they have; and none by a word of no entry.
    kinds = [one["count"] for one in shown["kind"]["values"]]
    assert sum(kinds) == (0 if words == "giraffe" else len(ENTRIES))


@pytest.mark.requirement("U20")
def test_a_list_by_time_is_paged_by_links(client: httpx2.Client) -> None:
    push_found(
        client,
        [
            {
                "external_id": f"P-{n:02}",
                "title": f"Pump {n}",
                "text": "Pump checked.",
                "entry_time": f"2026-01-{n + 1:02}T08:00:00Z",
            }
            for n in range(12)
        ],
    )

    page = search(client, "pump checked", sort="newest")
    further = show(client, page.link("Next 10"))

    titles = [
        one.one("h3").text
        for one in (*page.every("li", cls="hit"), *further.every("li", cls="hit"))
    ]
    assert titles == [f"Pump {n}" for n in reversed(range(12))]


@pytest.mark.requirement("U20")
def test_a_list_by_time_says_where_it_ends_and_goes_on(client: httpx2.Client) -> None:
    push_found(
        client,
        [
            {
                "external_id": f"P-{n:03}",
                "title": f"Pump {n}",
                "text": "Pump checked.",
                "entry_time": f"2026-01-{n // 8 + 1:02}T{n % 8:02}:00:00Z",
            }
            for n in range(103)
        ],
    )

    page = search(client, "pump checked", sort="newest", page="10")

    assert "Only the first 100 are listed here" in page.one("p", cls="cut").text
    older = show(client, page.link("go on with what is older"))
    titles = [one.one("h3").text for one in older.every("li", cls="hit")]
    assert titles == ["Pump 3", "Pump 2", "Pump 1", "Pump 0"]


def test_a_misspelt_question_is_offered_as_entries_spell_it(client) -> None:
    push_found(client, ENTRIES)

    page = search(client, "comprssor restarted", mode="keyword")

    meant = page.one("p", cls="meant").one("a")
    assert meant["href"] == "/search?q=compressor+restarted&mode=keyword&via=meant"
    spelt = show(client, meant["href"])
    assert [*spelt.every("li", cls="hit")]
    assert not [*spelt.every("p", cls="meant")]


def test_an_entry_of_others_is_not_opened_beside_the_list(client, running) -> None:
    push_found(client, ENTRIES)
    with running.client() as other:
        written = {"text": "secret", "external_id": "THEIRS-1"}
        assert other.post("/v1/entries", json=written).is_success

    page = search(client, "valve", open="api/THEIRS-1")

    assert [*page.one("section", id="pane").every()] == []
    assert "secret" not in page.one("main").text


def test_nothing_found_and_nothing_allowed_are_different_pages(client, running, tenant):
    push_found(client, ENTRIES)

    nothing = search(client, "zyzzyva", mode="keyword")
    assert nothing.one(cls="empty-nothing").one("h2").text == "No results"
    assert not [*nothing.every("li", cls="hit")]
    with running.client(running.key(tenant=tenant, scopes=("read",))) as reader:
        refused = show(reader, "/search?q=valve", status=403)
    assert refused.one(cls="empty-not_allowed").one("h1").text == "Not allowed"


def test_a_search_that_fails_says_so_on_a_page_of_its_own(running, tenant) -> None:
    fault = {**HTML, "X-Logchord-Fault": "branch=*;error=search_failed"}
    with running.client(running.key(tenant=tenant, scopes=("admin",))) as admin:
        answer = admin.get("/search?q=valve", headers=fault)

    assert answer.status_code == 503
    page = read_page(answer.text)
    assert page.one(cls="empty-down").one("h1").text == "Search is down"
    assert page.link("How the system is") == "/status"


def test_a_browser_shows_the_box_while_it_is_searched(running, tenant) -> None:
    late = {**WINDOW, "X-Logchord-Fault": "branch=*;delay_ms=1000"}
    with (
        running.client(running.key(tenant=tenant, scopes=("admin",))) as admin,
        admin.stream("GET", "/search?q=valve", headers=late) as answer,
    ):
        chunks, box = answer.iter_text(), ""
        while "</form>" not in box:
            box += next(chunks)
        rest = "".join(chunks)

    assert "<h1" not in box
    page = read_page(box + rest)
    assert page.one("input", id="q")["value"] == "valve"
    assert [one.text for one in page.every("h1")] == ["Results for valve"]
    assert page.one("aside", cls="counts")["aria-label"] == "Narrow the search"


def test_a_search_of_which_a_part_fails_says_which(running, client, tenant) -> None:
    push_found(client, ENTRIES)
    fault = {**HTML, "X-Logchord-Fault": "branch=semantic;error=embedding_unavailable"}
    with running.client(running.key(tenant=tenant, scopes=("admin",))) as admin:
        answer = admin.get("/search?q=valve&mode=hybrid", headers=fault)

    page = read_page(answer.text)
    assert "semantic: embedding_unavailable" in page.one(cls="late").text
    strip = page.one(cls="strip").text
    assert "semantic error (embedding unavailable)" in strip
    assert "os_bm25 ok" in strip
    assert [*page.every("li", cls="hit")]


def test_a_text_that_is_html_is_shown_and_never_run(client: httpx2.Client) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)> valve"
    push_found(client, [{"external_id": "X<1>", "title": hostile, "text": hostile}])

    page = search(client, "valve")
    entry = show(client, page.one("a", cls="open")["href"])

    for shown in (page, entry):
        scripts = [one.attributes for one in shown.every("script")]
        assert [one["type"] for one in scripts] == ["module"]
        assert all("onerror" not in one.attributes for one in shown.every("img"))
    assert entry.one(id="text").text == hostile
    linked = client.get(entry.link("this page as JSON"), headers=HTML).json()
    assert linked["external_id"] == "X<1>"


@pytest.mark.requirement("U28")
def test_the_first_page_lists_the_newest_entries_by_shift(client) -> None:
    push_found(
        client, [{**ENTRIES[0], "shift": "owl"}, {**ENTRIES[1], "shift": "early"}]
    )

    page = show(client, "/")

    shifts = [one.one("h2").text for one in page.every("section", cls="shift")]
    assert shifts == [
        "Tuesday 03 February 2026, early shift",
        "Tuesday 03 February 2026, owl shift",
    ]
    assert json.loads(client.get("/index.json").text)["total"] == 2


def test_whoever_is_unknown_is_led_to_the_login_and_back(running: System) -> None:
    with running.client("") as stranger:
        answer = stranger.get("/search?q=a+b", headers=HTML)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fsearch%3Fq%3Da%2Bb"


def test_whoever_is_led_by_another_site_comes_again_with_what_the_browser_kept(running):
    led = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    with running.client("") as stranger:
        stranger.headers.update(led)
        again = show(stranger, "/search?q=a+b", 401).link("Go on")
        led_back = stranger.get(again)
    assert led_back.headers["location"] == "/search?q=a+b"
