"""An operator's way through the page: by keys alone, and without JavaScript."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.fixtures.browser import Tab
from tests.support.waiting import until
from tests.web.test_accessible import QUESTION

MOST_KEYS = 14


def test_search_third_hit_thread_back_why_copy_take_few_keys(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
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
    press("j", "j", "j")
    third = page.locator("li.hit").nth(2).locator("a.open")
    assert third.evaluate("one => one === document.activeElement")
    press("k", "k", "Enter")
    page.wait_for_selector("#pane .entry")
    assert "open=" in page.url
    press("t")
    assert page.evaluate("document.activeElement.closest('#thread') !== null")
    press("Escape")
    page.wait_for_selector("#pane .entry", state="detached")
    press("w")
    assert page.locator("li.hit details.why[open]").count() == 1
    press("c")
    expect(page.locator("#said")).to_have_text("copied")
    copied = page.evaluate("navigator.clipboard.readText()")

    assert f"{tab.url}/e/api/" in copied
    assert len(pressed) <= MOST_KEYS, pressed
    assert tab.complaints == []


def test_keys_are_dead_in_a_field_and_when_they_are_off(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
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


def test_the_same_way_is_there_without_javascript(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    page = open_tab(java_script_enabled=False).show("/")
    page.fill("#q", "gate valve 8 closed")
    page.press("#q", "Enter")
    page.locator("li.hit a.open").nth(2).click()
    page.wait_for_selector(".entry")
    page.go_back()
    page.locator("li.hit a.open").first.click()
    page.locator("#thread .tree a").last.click()
    assert page.locator(".entry h1").inner_text() != ""
    page.go_back()
    page.go_back()
    page.locator("li.hit details.why summary").first.click()
    assert page.locator("li.hit details.why[open]").count() == 1
    page.goto(page.url.partition("/search")[0] + QUESTION)
    page.locator(".cite > a").first.click()

    assert page.locator(".s:target").count() == 1


def test_back_leads_to_the_place_in_the_list(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    page = open_tab(width=360).show("/search?q=gate+valve")
    page.evaluate("scrollTo(0, 600)")
    at = page.evaluate("scrollY")
    page.locator("li.hit a.open").nth(5).click()
    page.wait_for_selector(".entry")
    page.go_back()
    until(
        lambda: 0 < page.evaluate("scrollY") < at + 400,
        within_seconds=10,
        what="the place in the list",
    )


@pytest.mark.requirement("U28")
def test_live_follows_until_it_is_paused(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    def write(title: str) -> None:
        answer = logbook.post("/v1/entries", json={"title": title, "text": "now"})
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
