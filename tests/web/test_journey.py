"""An operator's way through the page: by keys alone, and without JavaScript."""

import json
import re
from collections.abc import Callable
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.support.axe import QUESTION
from tests.support.fixtures.browser import WIDE, Tab
from tests.support.fixtures.system import System
from tests.support.waiting import until

MOST_KEYS = 14


def test_search_third_hit_thread_back_why_copy_take_few_keys(logbook, open_tab) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    page = tab.show("/")
    pressed: list[str] = []

    def press(*keys: str) -> None:
        for key in keys:
            pressed.append(key)
            page.keyboard.press(key)

    press("/")
    page.keyboard.type("gate valve 8 closed")
    press("Enter")
    page.wait_for_selector("li.hit")
    # The script begins once all of the page is there, its counts too.
    page.wait_for_load_state("load")
    # Options that are left as usual are not in it.
    assert page.url == f"{tab.url}/search?q=gate+valve+8+closed&mode=auto"
    press("j", "j", "j")
    third = page.locator("li.hit").nth(2).locator("a.open")
    assert third.evaluate("one => one === document.activeElement")
    cited = f"{tab.url}{third.get_attribute('data-cite')}"
    press("Enter")
    page.wait_for_selector("#pane .entry")
    assert f"open={quote(third.get_attribute('data-open') or '', safe='')}" in page.url
    assert page.locator("#pane mark").count() > 0
    press("t")
    assert page.evaluate("document.activeElement.closest('#thread') !== null")
    press("c")
    expect(page.locator("#said")).to_have_text("copied")
    quoted = page.evaluate("navigator.clipboard.readText()")
    press("Escape")
    page.wait_for_selector("#pane .entry", state="detached")
    assert third.evaluate("one => one === document.activeElement")
    press("w")
    whys = page.locator("li.hit details.why")
    opened = [whys.nth(n).get_attribute("open") for n in range(whys.count())]
    assert [n for n, one in enumerate(opened) if one is not None] == [2]
    press("c")
    until(
        lambda: page.evaluate("navigator.clipboard.readText()") != quoted,
        within_seconds=5,
        what="the link of the hit",
    )

    # What is cited is a revision, which stays what it was.
    assert quoted.startswith("> ")
    assert quoted.endswith(f"]({cited})\n")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"]({cited})")
    assert re.search(r"/e/api/OPS-\d+@\d+$", cited)
    assert len(pressed) <= MOST_KEYS, pressed
    assert tab.complaints == []


def test_keys_are_dead_in_a_field_and_when_they_are_off(logbook, open_tab) -> None:
    page = open_tab().show("/search?q=gate")
    page.focus("#q")
    page.keyboard.type("jk?")
    assert page.input_value("#q") == "jk?gate"
    page.keyboard.press("Escape")

    page.click("text=Keys: on")
    page.wait_for_selector("text=Keys: off")
    page.keyboard.press("?")
    page.keyboard.press("j")

    assert "/search?q=gate" in page.url
    assert page.evaluate("document.activeElement === document.body")


def test_a_link_from_another_site_is_followed_by_whoever_is_logged_in(
    logbook: httpx2.Client, running: System, tenant: str, chromium: Browser
) -> None:
    shared = f"{running.url}/e/api/OPS-1@2#s2"
    elsewhere = running.url.replace("127.0.0.1", "localhost") + "/help"
    follow = f"location.href = {json.dumps(shared)}"
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(elsewhere)
        page.evaluate(follow)
        page.wait_for_url("**/login?next=*")
        page.fill("#key", running.key(tenant=tenant))
        page.keyboard.press("Enter")
        page.wait_for_url("**/e/api/OPS-1@2*")

        page.goto(elsewhere)
        page.evaluate(follow)
        page.wait_for_selector(".entry")
        assert page.url == shared
        assert page.locator(".s:target").count() == 1
    finally:
        context.close()


def test_the_same_way_is_there_without_javascript(logbook, open_tab) -> None:
    page = open_tab(java_script_enabled=False).show("/")
    page.fill("#q", "gate valve 8 closed")
    page.press("#q", "Enter")
    third = page.locator("li.hit").nth(2)
    cited = third.locator("a.open").get_attribute("data-cite")
    third.locator("a.open").click()
    page.wait_for_selector(".entry")
    # Without a script the link is copied from the page.
    assert page.locator("a.permalink").get_attribute("href") == cited
    page.locator("#thread .tree a").last.click()
    assert page.locator(".entry h1").inner_text() != ""
    page.go_back()
    page.go_back()
    third.locator("details.why summary").click()
    assert third.locator("details.why[open]").count() == 1
    page.goto(page.url.partition("/search")[0] + QUESTION)
    page.locator(".cite > a").first.click()

    assert page.locator(".s:target").count() == 1


@pytest.mark.parametrize("width", [360, 1280])
def test_back_leads_to_the_place_in_the_list(logbook, open_tab, width) -> None:
    page = open_tab(width=width).show("/search?q=gate+valve")
    sixth = page.locator("li.hit a.open").nth(5)
    sixth.scroll_into_view_if_needed()
    at = page.evaluate("scrollY")
    sixth.click()
    page.wait_for_selector(".entry")
    if width == WIDE:
        # Beside the list, which stays where it is; back closes it, forth opens it.
        assert page.evaluate("scrollY") == at
        page.go_back()
        page.wait_for_selector("#pane .entry", state="detached")
        page.go_forward()
        page.wait_for_selector("#pane .entry mark")
    page.go_back()
    until(
        lambda: (
            page.locator("li.hit").count() > 0
            and abs(page.evaluate("scrollY") - at) < 50
        ),
        within_seconds=10,
        what="the place in the list",
    )


def test_keys_open_the_first_page_s_rows_their_originals_and_the_list_of_keys(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    page = open_tab().show("/")
    rows = page.locator(".row-title a")
    for key in ("k", "j", "k", "k"):
        page.keyboard.press(key)
    # There is none before the first.
    assert rows.first.evaluate("one => one === document.activeElement")
    first = rows.first.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_selector(".entry")
    assert page.url.endswith(first or "?")
    page.goto(f"{page.url.partition('/e/')[0]}/e/api/OPS-1")
    page.evaluate(
        "document.querySelector('a.original').addEventListener('click', (event) => {"
        "event.preventDefault(); document.title = 'original'; })"
    )
    page.keyboard.press("o")
    assert page.title() == "original"
    page.keyboard.press("?")
    page.wait_for_url("**/help#keys")


def test_a_gallery_is_walked_by_arrows_and_an_answer_copied_with_its_links(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    page = tab.show("/e/api/OPS-1")
    pictures = page.locator(".gallery .picture")
    assert pictures.count() == 2
    pictures.first.focus()
    for key, place in (("ArrowRight", 1), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert pictures.nth(place).evaluate("one => one === document.activeElement")
    page = tab.show(QUESTION)
    page.click(".answer button.copy")
    expect(page.locator("#said")).to_have_text("copied")

    copied = page.evaluate("navigator.clipboard.readText()")
    assert "fell shut when air sagged" in copied
    assert f"[1]: {tab.url}/e/api/OPS-" in copied
    assert page.locator(".quote").first.inner_text() not in copied


def test_what_is_copied_is_copied_without_encryption_too_and_twice(logbook, open_tab):
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    # As at an address without https, where scripts have no clipboard.
    tab.page.add_init_script(
        "window.clipboard = navigator.clipboard;"
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
    )
    page = tab.show("/e/api/OPS-1")
    button = page.locator("button.copy")
    button.click()
    button.click()

    expect(button).to_have_text("copied")
    expect(button).to_have_text("Copy as quote")
    assert "/e/api/OPS-1@2)" in page.evaluate("clipboard.readText()")
    assert tab.complaints == []


def test_the_last_hit_that_was_clicked_is_shown_and_what_fails_is_seen(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab()
    page = tab.show("/search?q=gate+valve&mode=keyword")
    links = page.locator("li.hit a.open")
    first, second = (links.nth(n).get_attribute("data-open") for n in (0, 1))
    held: list[Route] = []

    def hold(asked: Route) -> None:
        held.append(asked)

    page.route(f"**/e/{first}?*part=pane*", hold)
    links.nth(0).click()
    links.nth(1).click()
    permalink = page.locator("#pane a.permalink")
    expect(permalink).to_have_attribute("href", re.compile(f"^/e/{second}@"))
    with page.expect_response(f"**/e/{first}?*part=pane*") as answered:
        held[0].continue_()
    answered.value.finished()
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(permalink).to_have_attribute("href", re.compile(f"^/e/{second}@"))

    page.unroute_all()
    page.context.set_offline(True)
    third = f"{tab.url}{links.nth(2).get_attribute('href')}"
    with page.expect_event(
        "requestfailed", lambda asked: asked.is_navigation_request()
    ) as failed:
        links.nth(2).click()
    assert failed.value.url == third


def test_live_that_was_opened_paused_stays_so(own_logbook, open_tab) -> None:
    page = open_tab().show("/live?paused=1")
    expect(page.locator("#connection")).to_contain_text("paused")
    assert own_logbook.post(
        "/v1/entries", json={"title": "Quench", "text": "now"}
    ).is_success
    expect(page.locator("#new-count")).to_contain_text("something new")
    assert page.locator("text=Quench").count() == 0
    page.click("#pause")
    page.wait_for_selector("text=Quench")


@pytest.mark.requirement("U28")
def test_live_follows_until_it_is_paused(own_logbook, open_tab) -> None:
    def write(title: str) -> None:
        answer = own_logbook.post("/v1/entries", json={"title": title, "text": "now"})
        assert answer.status_code == 201

    tab = open_tab()
    page = tab.show("/live")
    write("Quench of D2")
    page.wait_for_selector("li.fresh >> text=Quench of D2")
    page.click("#pause")
    write("Quench of D3")
    expect(page.locator("#new-count")).to_contain_text("something new")
    assert page.locator("text=Quench of D3").count() == 0
    page.click("#pause")
    page.wait_for_selector("text=Quench of D3")
    assert tab.complaints == []


def test_a_search_that_is_cut_off_can_be_asked_again(
    logbook, running, tenant, chromium, make_proxy
) -> None:
    proxy = make_proxy(running.url)
    key = running.key(tenant=tenant, scopes=("admin",))
    given = {"Authorization": f"Bearer {key}"}
    late = {**given, "X-Logchord-Fault": "branch=*;delay_ms=3000"}
    context = chromium.new_context(extra_http_headers=late)
    try:
        page = context.new_page()
        page.goto(f"{proxy.url}/search?q=gate+valve", wait_until="commit")
        waits = page.locator(".waits")
        expect(waits).to_be_visible()
        with page.expect_event("requestfailed"):
            proxy.cut(mended=True)
        expect(waits).to_be_visible()

        context.set_extra_http_headers(given)
        waits.locator("a").click()
        expect(page.locator("li.hit")).to_have_count(10)
        expect(waits).to_be_hidden()
    finally:
        context.close()


def test_live_says_when_nobody_answers_and_goes_on_by_itself(
    own_logbook, running, chromium, make_proxy
) -> None:
    proxy = make_proxy(running.url)
    key = own_logbook.headers["authorization"]
    context = chromium.new_context(extra_http_headers={"Authorization": key})
    try:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{proxy.url}/live")
        expect(page.locator("#connection")).to_have_text(re.compile("as of"))
        proxy.refuse(on=True)
        proxy.cut()
        page.clock.fast_forward(30_000)
        expect(page.locator("#connection.dead")).to_contain_text("no connection for")

        proxy.reset()
        entry = {"title": "Quench of D4", "text": "now"}
        assert own_logbook.post("/v1/entries", json=entry).is_success
        expect(page.locator("li.fresh >> text=Quench of D4")).to_have_count(
            1, timeout=20_000
        )
        expect(page.locator("#connection")).to_have_text(re.compile("as of"))
        assert page.locator("#connection.dead").count() == 0
    finally:
        context.close()
