"""A model's words on the page: after the whole answer, sentence by sentence."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.axe import problems
from tests.support.fixtures.system import Factory
from tests.support.model_world import (
    CAUSE,
    QUESTION,
    World,
    mark_of_cause,
    model_world,
    words_it,
)
from tests.support.read_page import read_page
from tests.support.stub_servers.chat_server import (
    begin_stream,
    goes_on,
    part,
    send_part,
)
from tests.support.waiting import until


@pytest.fixture(scope="module")
def world(make_lasting_system: Factory) -> Iterator[World]:
    with model_world(make_lasting_system) as made:
        yield made


@pytest.fixture(autouse=True)
def _heeds_its_prompt(world: World) -> None:
    world.server.replies = [words_it]
    world.server.hung_up.clear()


@pytest.mark.requirement("S4-30", "S4-34")
def test_the_page_has_a_model_word_its_answer_without_javascript(world: World) -> None:
    html = {"accept": "text/html", "origin": world.system.url}
    asked = httpx2.URL("/search", params={"q": QUESTION})
    page = read_page(world.client.get(asked, headers=html).text)
    # It waits for no model: its sentences are those of the entries.
    assert page.one(cls="said").text.startswith(CAUSE.rstrip("."))
    form = page.one("form", cls="words")
    csrf = {"csrf": form.one("input", name="csrf")["value"]}

    sent = world.client.post(form["action"], data=csrf, headers=html)

    assert sent.status_code == 303, sent.text
    place = sent.headers["location"]
    until(
        lambda: world.client.get(f"{place}?part=answer").status_code == 200,
        within_seconds=10,
        what="the model's answer",
    )
    job = read_page(world.client.get(place, headers=html).text)
    answer = job.one("section", cls="answer")
    assert answer.one(cls="said").text.startswith("Valve 8 closed because")
    assert "worded by a model, 100 %" in answer.one("h2").text
    assert answer.one(cls="cite").one("a")["href"].startswith("/e/api/OPS-2@1#s")
    # Words are looked up, no question: nothing is to be worded.
    words = world.client.get("/search?q=gate+valve+8", headers=html).text
    assert not [*read_page(words).every("form", cls="words")]
    no_token = world.client.post(form["action"], data={"csrf": "x"}, headers=html)
    assert no_token.status_code == 403


@pytest.mark.requirement("S4-59")
def test_an_answer_that_is_cut_off_goes_on_in_the_browser(world, chromium, make_proxy):
    def pauses(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        mark = mark_of_cause(body)
        begin_stream(handler)
        said = f"The compressed air had sagged to 3 bar [{mark}]. Pump 9 had stopped "
        for word in said.split(" "):
            send_part(handler, part(f"{word} "))
            # What comes all at once is handed on at once, with what comes next.
            world.server.released.wait(0.06)
        world.server.released.wait(20)
        send_part(handler, part(f"at 40 bar [{mark}]."))
        send_part(handler, part(finish="stop"))

    world.server.replies = [pauses]
    world.server.released.clear()
    proxy = make_proxy(world.system.url)
    key = world.client.headers["authorization"]
    context = chromium.new_context(extra_http_headers={"Authorization": key})
    page = context.new_page()
    try:
        page.goto(f"{proxy.url}/search?q={quote(QUESTION)}")
        # The whole answer stands before any word of a model.
        expect(page.locator(".answer > .said").first).to_contain_text("sagged to 3 bar")
        # What grows is no live region; one line tells of it once it is whole.
        growing = page.locator(".worded")
        expect(growing).to_have_attribute("aria-busy", "true")
        assert growing.locator("[aria-live], [role=status]").count() == 0
        assert page.locator(":is([aria-live], [role=status]) .worded").count() == 0
        sentence = "The compressed air had sagged to 3 bar."
        expect(page.locator(".worded .holds")).to_have_text(sentence)
        expect(page.locator(".worded .said")).to_contain_text("Pump 9 had stopped")

        with page.expect_request(lambda one: one.url.endswith("/events")) as again:
            proxy.cut(mended=True)
        assert int(again.value.all_headers()["last-event-id"]) > 2
        world.server.released.set()

        title = page.locator(".answer h2")
        expect(title).to_contain_text("worded by a model, 50 %", timeout=10_000)
        assert problems(page) == []
        expect(page.locator(".answer .said")).to_have_count(1)
        expect(page.locator(".answer .said")).to_contain_text(sentence[:-1])
        assert "40 bar" not in page.locator(".answer").inner_text()
        expect(page.locator("#said")).to_contain_text("answer ready, grounded, grade D")
        calls = len(world.server.asked)
        page.reload()
        expect(title).to_contain_text("worded by a model")
        # Loaded again, it shows what was said: the model is not asked twice.
        assert len(world.server.asked) == calls
    finally:
        world.server.released.clear()
        context.close()


def test_whoever_stops_an_answer_on_the_page_stops_the_model(world, chromium) -> None:
    world.server.replies = [goes_on(world.server.released)]
    key = world.client.headers["authorization"]
    context = chromium.new_context(extra_http_headers={"Authorization": key})
    page = context.new_page()
    try:
        page.goto(f"{world.system.url}/search?q={quote(QUESTION)}")
        expect(page.locator(".worded .said")).to_contain_text("on on")
        page.click(".worded button")

        assert world.server.hung_up.wait(5)
        expect(page.locator(".answer .said").first).to_contain_text("sagged to 3 bar")
        expect(page.locator(".worded .said")).to_have_count(0)
        # Whatever came of it, nothing says that it is still busy.
        assert page.locator("[aria-busy=true]").count() == 0
    finally:
        context.close()
