"""The parts of pages: cards, threads, pictures, values, tombstones, ways to go on."""

import re
from collections.abc import Iterator

import httpx2
import pytest

from tests.integration.web.test_search_page import HTML, search, show
from tests.support.attached import attach_picture
from tests.support.fixtures.system import System
from tests.support.read_page import Element
from tests.support.waiting import until
from tests.support.written import push_found

THREAD = [
    {
        "external_id": "T-1",
        "title": "HCM03 tripped",
        "text": "HCM03 tripped on overtemperature. Beam lost.",
        "entry_time": "2026-02-03T02:00:00Z",
        "kind": "incident",
    },
    {
        "external_id": "T-2",
        "text": "The cause was a broken fan.",
        "reply_to": "T-1",
        "entry_time": "2026-02-03T04:00:00Z",
    },
    {
        "external_id": "T-3",
        "text": "Fan replaced.",
        "reply_to": "T-1",
        "entry_time": "2026-02-03T07:00:00Z",
    },
    {
        "external_id": "T-4",
        "text": "HCM03 is back, beam is back.",
        "reply_to": "T-1",
        "entry_time": "2026-02-03T08:00:00Z",
    },
]
VALUES = [
    {
        "external_id": "V-1",
        "text": "QF1 current set to 3.2 A",
        "entry_time": "2026-01-02T05:00:00Z",
    },
    {
        "external_id": "V-2",
        "text": "QF-01 current is 3500 mA after the ramp",
        "entry_time": "2026-01-04T05:00:00Z",
    },
]


@pytest.fixture(scope="module")
def logbook(running: System, lasting_tenant: str) -> Iterator[httpx2.Client]:
    """Its reader; all of this file's entries are in the index, one with two files."""
    with running.client(running.key(tenant=lasting_tenant)) as client:
        push_found(client, [*THREAD, *VALUES])
        entry = client.get("/e/api/T-1").json()
        for name in ("scope.png", "trend.png"):
            attach_picture(client, entry, name)
        until(
            lambda: [*search(client, "HCM03 has:picture").every("li", cls="hit")],
            within_seconds=60,
            what="the entry with its files",
        )
        yield client


@pytest.mark.requirement("S4-28")
def test_each_line_of_a_card_leads_to_the_sentence_that_says_so(logbook) -> None:
    page = search(logbook, "HCM03 tripped")

    card = page.one("section", cls="thing", **{"aria-label": "HCM03"})
    assert card.one(cls="state").text == "resolved"
    lines = [*card.one("dl").every("a")]
    assert "HCM03 tripped on overtemperature." in [one.text for one in lines]
    for one in lines:
        path, _, anchor = one["href"].partition("#")
        assert re.fullmatch(r"/e/api/T-\d@1", path)
        told = show(logbook, path).one(id=anchor).text
        assert one.text in told or told in one.text


def test_a_thread_is_a_tree_and_a_course_of_events(logbook: httpx2.Client) -> None:
    entry = logbook.get("/e/api/T-1").json()

    page = show(logbook, f"/threads/{entry['thread_id']}")

    assert page.one("h1").text == "HCM03 tripped"
    tree = [one.one("a")["href"] for one in page.one("ol", cls="tree").every("li")]
    assert tree == [f"/e/api/T-{n}" for n in range(1, 5)]
    steps = [*page.one("ol", cls="timeline").every("li")]
    named = [one.one(cls="step").text for one in steps]
    assert [*dict.fromkeys(named)] == ["trip", "cause", "action", "restored"]
    assert "+2 h" in steps[named.index("cause")].text
    twin = logbook.get(f"/threads/{entry['thread_id']}.json").json()
    assert twin == logbook.get(f"/v1/threads/{entry['thread_id']}").json()


def test_pictures_stand_in_rows_and_in_a_gallery(logbook: httpx2.Client) -> None:
    page = search(logbook, "HCM03 overtemperature")
    hit = next(one for one in page.every("li", cls="hit") if [*one.every("img")])
    assert len([*hit.every("img")]) == 1

    entry = show(logbook, hit.one("a", cls="open")["href"])

    pictures = [*entry.one(cls="gallery").every("a", cls="picture")]
    assert [one.one("img")["alt"] for one in pictures] == ["scope.png", "trend.png"]
    for one in pictures:
        small = logbook.get(one.one("img")["src"])
        assert small.headers["content-type"].startswith("image/")
    narrowed = page.one("aside", cls="counts").link("with pictures")
    assert "has%3Apicture" in narrowed
    found = [one["href"] for one in show(logbook, narrowed).every("a", cls="open")]
    assert [one.partition("?")[0] for one in found] == ["/e/api/T-1"]


@pytest.mark.requirement("I19")
def test_a_value_that_was_changed_since_says_what_it_is_now(logbook) -> None:
    def warnings() -> list[Element]:
        page = search(logbook, "current", mode="keyword")
        return [one for one in page.every("p", cls="warn") if "since" in one.text]

    # Where it cannot be looked up in time, a page goes without it.
    (warned,) = until(warnings, within_seconds=30, what="the newer value")
    assert warned.text.startswith("current of qf 1: 3.2 A is 3.5 A since")
    assert warned.one("a")["href"] == "/e/api/V-2"


def test_rows_may_be_short_and_each_says_which_branch_found_it_where(logbook) -> None:
    page = search(logbook, "HCM03", mode="keyword")
    tags = [one.text for one in page.one("li", cls="hit").every(cls="tag")]
    assert "os_bm25 1" in tags
    assert page.one("h2", id="results").text.startswith("Results 1")

    short = show(logbook, page.link("condensed"))

    assert short.one("ol", cls="hits").has(cls="condensed")
    assert not [*short.every("p", cls="passage")]
    file = logbook.get(short.link("export"))
    assert "HCM03 tripped" in file.text


def test_a_hit_without_a_title_is_called_by_its_words(logbook: httpx2.Client) -> None:
    page = search(logbook, "broken fan", rows="condensed")

    assert "The cause was a broken fan." in [
        one.text for one in page.every("a", cls="open")
    ]


def test_what_is_at_other_times_is_told_beside_the_hits(logbook) -> None:
    page = search(logbook, "HCM03 tripped in March 2026")

    assert page.one("h2", id="beside").text.startswith("At other times")
    beside = [one["href"] for one in page.one("ul", cls="condensed").every("a")]
    assert any(one.startswith("/e/api/T-1?") for one in beside)


@pytest.mark.parametrize("asked", ["V-1", "link"])
def test_why_not_takes_a_number_and_a_pasted_link(logbook, asked) -> None:
    page = search(logbook, "HCM03", mode="keyword")
    form = page.one("form", cls="why-not")
    job = form.one("input", name="job")["value"]
    named = f"{logbook.base_url}/e/api/V-1@1#s1" if asked == "link" else asked

    told = show(
        logbook, str(httpx2.URL(form["action"], params={"job": job, "entry": named}))
    )

    said = logbook.get(f"/v1/search/jobs/{job}/why-not", params={"entry": "V-1"}).json()
    assert said["returned"] is False
    assert said["explanation"] in told.text


def test_why_not_says_numbers_as_people_do(logbook: httpx2.Client) -> None:
    asked = {"mode": "semantic", "p.similarity_threshold": "0.99"}
    form = search(logbook, "broken fan", **asked).one("form", cls="why-not")
    job = form.one("input", name="job")["value"]

    told = show(logbook, f"/why-not?job={job}&entry=V-1").text

    assert re.search(r"gate: below similarity, 0\.\d{1,4}, 0\.99 needed", told), told


def test_a_job_is_asked_again_and_stopped_by_forms(
    logbook: httpx2.Client, lasting_admin: httpx2.Client, running: System
) -> None:
    body = {"query": "HCM03", "mode": "keyword"}
    job = logbook.post("/v1/search/jobs", json=body).json()["job_id"]
    logbook.get(f"/v1/search/jobs/{job}", params={"wait_ms": 20_000})
    page = show(logbook, f"/jobs/{job}")
    assert "os_bm25" in [one.text for one in page.one("dl", id="plan").every("dd")]
    form = page.one("form", cls="act")
    given = {"csrf": form.one("input")["value"], "action": form.one("button")["value"]}
    headers = {**HTML, "origin": str(logbook.base_url).rstrip("/")}

    sent = logbook.post(form["action"], data=given, headers=headers)

    assert sent.status_code == 303, sent.text
    again = sent.headers["location"]
    logbook.get(f"/v1/search{again}", params={"wait_ms": 20_000})
    assert "The same came out." in show(logbook, again).text
    stopped = logbook.post(again, data={**given, "action": "stop"}, headers=headers)
    assert (stopped.status_code, stopped.headers["location"]) == (303, again)
    refused = logbook.post(again, data={**given, "action": "x"}, headers=headers)
    assert refused.status_code == 422
    flower = f":{running.environment['FLOWER_PORT']}"
    assert show(lasting_admin, "/status").link("Flower").endswith(flower)


def test_an_answer_marks_what_it_cites_and_was_removed_since(client) -> None:
    texts = ("Valve 8 closed since air was low.", "Valve 8 is open again, air is back.")
    push_found(
        client, [{"external_id": f"R-{n}", "text": t} for n, t in enumerate(texts, 1)]
    )
    asked = {"query": "why did valve 8 close", "mode": "keyword", "synthesize": True}
    job = client.post("/v1/search/jobs", json=asked).json()["job_id"]
    client.get(f"/v1/search/jobs/{job}", params={"wait_ms": 20_000})
    (cited, *_) = show(client, f"/jobs/{job}").one(cls="sources").every("li")
    assert "removed" not in cited.text
    entry = client.get("/e/api/R-1").json()
    client.delete(f"/v1/entries/{entry['entry_id']}")

    (cited, *_) = show(client, f"/jobs/{job}").one(cls="sources").every("li")

    assert "removed" in cited.one("span", cls="warn").text


def test_what_was_deleted_says_when_and_why(client: httpx2.Client) -> None:
    push_found(client, [{"external_id": "D-1", "text": "Written in the wrong book."}])
    entry = client.get("/e/api/D-1").json()
    reason = {"reason": "wrong <b>book</b>"}
    gone = client.delete(f"/v1/entries/{entry['entry_id']}", params=reason)
    assert gone.status_code == 204, gone.text

    page = show(client, "/e/api/D-1", status=410)

    assert page.one("h1").text == "Deleted"
    told = page.one("p", cls="tombstone")
    assert "wrong <b>book</b>" in told.text
    error = client.get("/e/api/D-1").json()["error"]
    assert error["details"]["reason"] == reason["reason"]
    assert error["details"]["deleted_at"][:16] == told.one("time")["datetime"][:16]


@pytest.mark.requirement("S4-39")
def test_chips_of_the_first_page_are_questions_with_answers(logbook) -> None:
    chips = [
        *show(logbook, "/").one("p", cls="worth").every("a", cls="chip"),
    ]

    assert chips
    asked = {"queries": [one.text for one in chips]}
    told = logbook.post("/v1/search/suggestions/evaluate", json=asked).json()
    assert [one["viable"] for one in told["items"]] == [True] * len(chips)
    for one in chips:
        answer = show(logbook, one["href"]).one("section", cls="answer")
        assert answer.has(cls="answer-grounded")


def test_a_mode_has_controls_for_what_it_takes(logbook: httpx2.Client) -> None:
    page = search(logbook, "HCM03", mode="semantic")

    control = page.one("input", name="p.similarity_threshold")
    assert (control["type"], control["min"], control["max"]) == ("number", "0.0", "1.0")
    strict = search(
        logbook, "HCM03", mode="semantic", **{"p.similarity_threshold": "1"}
    )
    assert strict.one("input", name="p.similarity_threshold")["value"] == "1.0"
    assert len([*strict.every("li", cls="hit")]) < len([*page.every("li", cls="hit")])
    refused = {"mode": "semantic", "p.similarity_threshold": "much", "q": "HCM03"}
    assert logbook.get("/search", params=refused, headers=HTML).status_code == 422
