"""Every page by axe, in both themes and both widths; and how wide it is."""

import pytest

from tests.support.axe import PAGES, QUESTION, problems
from tests.support.fixtures.browser import NARROW, WIDE
from tests.web.conftest import push


@pytest.mark.timeout(400)
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_page_violates_a_rule_in_any_theme_and_width(more_pages, open_tab, width):
    tab = open_tab(width=width, scopes=("admin",))
    # A job that has ended would be loaded again meanwhile.
    tab.page.route("**/v1/search/jobs/*/events", lambda asked: asked.abort())
    found = {path: problems(tab.show(path)) for path in (*more_pages, *PAGES)}

    assert {path: told for path, told in found.items() if told} == {}
    assert tab.complaints == []


# As long as a channel's name, an address or a number may be, without a place to break.
UNBROKEN = "x" * 180
LONG = {
    "external_id": "LONG",
    "title": f"Wideband {UNBROKEN}",
    "text": f"Wideband reads {UNBROKEN}.",
    "authors": [UNBROKEN[:90]],
    "logbooks": [UNBROKEN[:90]],
    "tags": [UNBROKEN[:90]],
}
NAMED_LONG = (
    "/search?q=wideband",
    f"/search?q=wideband&tag={UNBROKEN[:90]}",
    f"/search?q={UNBROKEN}",
    f"/saved?q={UNBROKEN}",
    "/e/api/LONG",
    "/",
)


def test_nothing_is_wider_than_a_narrow_screen(logbook, open_tab) -> None:
    push(logbook, [LONG])
    tab = open_tab(width=320, scopes=("admin",))
    wide = [
        path
        for path in (*PAGES, *NAMED_LONG)
        if tab.show(path).evaluate("document.documentElement.scrollWidth") > 320
    ]

    assert wide == []


@pytest.mark.parametrize("width", [320, 800, WIDE])
def test_what_a_sentence_cites_is_shown_within_the_screen(logbook, open_tab, width):
    page = open_tab(width=width).show(QUESTION)
    for mark in page.locator(".cite > a").all():
        mark.focus()
        quote = mark.locator("xpath=../*[@role='tooltip']").bounding_box()

        assert quote is not None
        assert quote["x"] >= 0
        assert quote["x"] + quote["width"] <= width
