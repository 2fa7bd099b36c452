"""Every page by axe, in both themes and widths; how wide it is, how large a target."""

import pytest
from playwright.sync_api import Page

from tests.support.axe import PAGES, QUESTION, problems
from tests.support.fixtures.browser import NARROW, WIDE
from tests.support.written import push_found

NARROWEST = 320
# 1.4.12: nothing is lost when text is set as wide as this.
SPACED = """* { line-height: 1.5 !important; letter-spacing: .12em !important;
  word-spacing: .16em !important } p { margin-bottom: 2em !important }"""
# Texts of which a part cannot be seen nor scrolled to.
CUT = """() => [...document.querySelectorAll('a, button, p, h1, h2, h3, li, dd, td')]
  .filter(one => one.offsetParent !== null && !one.closest('.visually-hidden, .facet'))
  .filter(one => {
    const style = getComputedStyle(one);
    const hides = [style.overflowX, style.overflowY].some(how => how === 'hidden');
    return hides && (one.scrollWidth > one.clientWidth + 1
      || one.scrollHeight > one.clientHeight + 1);
  }).map(one => one.outerHTML.slice(0, 120))"""
# 2.5.8: links within a sentence may be small.
SMALL = """() => [...document.querySelectorAll('a, button, summary, input, select')]
  .filter(one => one.type !== 'hidden' && one.offsetParent !== null
    && !one.closest('svg, .skip, .visually-hidden'))
  .filter(one => !(getComputedStyle(one).display === 'inline'
    && [...one.parentElement.childNodes].some(
      node => node.nodeType === 3 && node.textContent.trim().length > 1)))
  .map(one => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.height < 24 || box.width < 24)
  .map(([one, box]) => `${one.outerHTML.slice(0, 100)} ${box.width}x${box.height}`)"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_page_violates_a_rule_in_any_theme_and_width(more_pages, open_tab, width):
    tab = open_tab(width=width, scopes=("admin",))
    # A job that has ended would be loaded again meanwhile.
    tab.page.route("**/v1/search/jobs/*/events", lambda asked: asked.abort())
    found: dict[str, list[str]] = {}
    for path in (*more_pages, *PAGES):
        page = tab.show(path)
        found[path] = [*page.evaluate(SMALL), *problems(page)]
        if width == NARROW:
            found[path] += [*too_wide(page), *lost_when_spaced(page)]

    assert {path: told for path, told in found.items() if told} == {}
    assert tab.complaints == []


def too_wide(page: Page) -> list[str]:
    """Return whether a page is wider than the narrowest screen there is (1.4.10)."""
    page.set_viewport_size({"width": NARROWEST, "height": 800})
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": NARROW, "height": 800})
    return [f"{width} px on a screen of {NARROWEST}"] if width > NARROWEST else []


def lost_when_spaced(page: Page) -> list[str]:
    """Return what cannot be seen once a page's text is set wider, behind all else."""
    # A style of ours: the page's policy lets no other in.
    page.evaluate(
        """css => { const sheet = new CSSStyleSheet(); sheet.replaceSync(css);
        document.adoptedStyleSheets = [sheet]; }""",
        SPACED,
    )
    wide = page.evaluate("document.documentElement.scrollWidth") > NARROW
    return [*page.evaluate(CUT), *(["wider than the screen"] if wide else [])]


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


def test_what_has_no_place_to_break_is_no_wider_than_a_narrow_screen(
    own_logbook, open_tab
) -> None:
    push_found(own_logbook, [LONG])
    tab = open_tab(width=NARROWEST, scopes=("admin",))
    wide = {path: too_wide(tab.show(path)) for path in NAMED_LONG}

    assert {path: told for path, told in wide.items() if told} == {}


def test_what_a_sentence_cites_is_shown_within_the_screen(logbook, open_tab) -> None:
    for width in (320, 800, WIDE):
        page = open_tab(width=width).show(QUESTION)
        for mark in page.locator(".cite > a").all():
            mark.focus()
            quote = mark.locator("xpath=../*[@role='tooltip']").bounding_box()

            assert quote is not None
            assert quote["x"] >= 0
            assert quote["x"] + quote["width"] <= width
