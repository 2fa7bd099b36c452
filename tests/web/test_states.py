"""States of the system and chosen themes by axe; and what axe cannot see."""

from collections.abc import Callable

import httpx2
import pytest

from tests.support.axe import QUESTION, THEMES, problems
from tests.support.fixtures.browser import NARROW, WIDE, Tab
from tests.support.fixtures.system import System

STATES = {
    "degraded": "branch=semantic;error=embedding_unavailable",
    "error": "branch=*;error=search_failed",
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_state_of_the_system_violates_a_rule(
    logbook: httpx2.Client, open_tab: Callable[..., Tab], running: System, width: int
) -> None:
    tab = open_tab(width=width, scopes=("admin",))
    found = {}
    for name, fault in STATES.items():
        tab.page.set_extra_http_headers({**tab.headers, "X-Logchord-Fault": fault})
        found[name] = problems(tab.show("/search?q=gate+valve+8&mode=hybrid"))
    nobody = open_tab(width=width, scopes=("read",))
    found["not allowed"] = problems(nobody.show("/search?q=x"))
    empty = {"Authorization": f"Bearer {running.key(tenant=f'empty{width}')}"}
    found["empty"] = problems(open_tab(width=width, headers=empty).show("/"))

    assert {name: told for name, told in found.items() if told} == {}
    assert tab.complaints == []


def test_no_chosen_theme_violates_a_rule_of_colours(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab()
    found = {}
    for theme in THEMES:
        # Chosen by the reader, against what their system says.
        choice = {"name": "theme", "value": theme, "url": tab.url}
        tab.page.context.add_cookies([choice])  # type: ignore[list-item]
        for path in ("/", QUESTION, "/live"):
            found[f"{path} {theme}"] = problems(tab.show(path), colours_only=True)

    assert {shown: told for shown, told in found.items() if told} == {}
    assert tab.complaints == []


def test_a_quote_is_shown_on_focus_and_can_be_dismissed(logbook, open_tab) -> None:
    page = open_tab().show(QUESTION)
    quote = page.locator(".cite .quote").first
    assert not quote.is_visible()

    page.locator(".cite > a").first.focus()
    assert quote.is_visible()
    quote.hover()
    assert quote.is_visible()
    page.keyboard.press("Escape")
    assert not quote.is_visible()


@pytest.mark.requirement("U28")
def test_what_is_printed_is_the_entry_the_thread_and_the_digest_alone(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab()
    tab.page.emulate_media(media="print")
    for path, wanted in (
        ("/e/api/OPS-1@2", "#text"),
        ("/e/api/OPS-1@2", "#thread"),
        ("/digest?since=2026-01-01", ".shift"),
    ):
        page = tab.show(path)
        assert page.locator(wanted).first.is_visible()
        for left_out in (".bar", ".foot", ".actions", ".quick"):
            assert not page.locator(left_out).first.is_visible(), left_out


def test_whoever_skips_lands_on_the_content(logbook, open_tab) -> None:
    page = open_tab().show("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"
